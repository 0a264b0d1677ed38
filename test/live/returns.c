// SPDX-License-Identifier: MIT
/*
 * What code without a file returns to: returns PID SECONDS stops the process, which must have one
 * thread, every few milliseconds. If it is in such code, breakpoints are put wherever a word of its
 * stack points into code of a file, and it goes on until it comes to one of them above where it
 * was: that is its caller. A line for each:
 *
 *   BEGIN END PC MODULE+0xOFFSET     times (CLOCK_MONOTONIC), where it was, the caller
 *
 * From BEGIN to END its stack had this caller. The offset is of the call's last byte in the file,
 * as in stacks of thaw. Code that is left in other ways than by returning (longjmp) gives wrong
 * lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAPS_MAX 512
#define BREAKS_MAX 2048
#define LOOK_BYTES 16384
#define HELD_US 1000 /* long enough for a wait that has a stack */

static struct code {
	uint64_t start, end, offset;
	char path[256]; /* empty: no file */
} maps[MAPS_MAX];
static size_t n_maps;

static struct {
	uint64_t at;
	uint8_t old;
} breaks[BREAKS_MAX];
static size_t n_breaks;
static pid_t pid;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void maps_read(void)
{
	char path[64], line[512], may[8];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	if (!f)
		fail(path);
	n_maps = 0;
	while (n_maps < MAPS_MAX && fgets(line, sizeof(line), f)) {
		struct code *c = &maps[n_maps];

		c->path[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &c->start,
			   &c->end, may, &c->offset, c->path) >= 4 &&
		    may[2] == 'x')
			n_maps++;
	}
	fclose(f);
}

static const struct code *code_at(uint64_t pc)
{
	for (size_t i = 0; i < n_maps; i++)
		if (pc >= maps[i].start && pc < maps[i].end)
			return &maps[i];
	return NULL;
}

/* The signal that it stopped with; what thaw's neighbours send it is not expected here. */
static int wait_stop(void)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		exit(0); /* it has ended */
	return WSTOPSIG(status);
}

static struct user_regs_struct regs_get(void)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &r))
		fail("PTRACE_GETREGS");
	return r;
}

static bool peek(uint64_t at, uint64_t *ret)
{
	errno = 0;
	*ret = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)at, NULL);
	return !errno;
}

static uint8_t put_byte(uint64_t at, uint8_t byte)
{
	uint64_t word;

	if (!peek(at, &word) ||
	    ptrace(PTRACE_POKEDATA, pid, (void *)at, (void *)((word & ~0xffull) | byte)))
		fail("PTRACE_POKEDATA");
	return (uint8_t)word;
}

static bool is_break(uint64_t at)
{
	for (size_t i = 0; i < n_breaks; i++)
		if (breaks[i].at == at)
			return true;
	return false;
}

static void breaks_set(uint64_t sp)
{
	uint64_t word;

	n_breaks = 0;
	for (uint64_t at = sp & ~7ull; at < sp + LOOK_BYTES && peek(at, &word); at += 8) {
		const struct code *c = code_at(word);

		if (c && c->path[0] == '/' && n_breaks < BREAKS_MAX && !is_break(word))
			breaks[n_breaks++].at = word;
	}
	for (size_t i = 0; i < n_breaks; i++)
		breaks[i].old = put_byte(breaks[i].at, 0xcc);
}

static void breaks_clear(void)
{
	for (size_t i = 0; i < n_breaks; i++)
		put_byte(breaks[i].at, breaks[i].old);
}

static void step_over(struct user_regs_struct *r)
{
	size_t i = 0;

	r->rip--;
	while (breaks[i].at != r->rip)
		i++;
	put_byte(r->rip, breaks[i].old);
	if (ptrace(PTRACE_SETREGS, pid, NULL, r) || ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		fail("PTRACE_SINGLESTEP");
	wait_stop();
	put_byte(breaks[i].at, 0xcc);
}

/* Goes on to the caller; false if something else happened on the way. */
static bool run_to_caller(uint64_t sp, struct user_regs_struct *ret)
{
	for (;;) {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		if (wait_stop() != SIGTRAP)
			return false;
		*ret = regs_get();
		if (!is_break(ret->rip - 1))
			return false;
		if (ret->rsp > sp)
			return true;
		step_over(ret); /* in what the code has called */
	}
}

static void look(uint64_t begin)
{
	struct user_regs_struct at = regs_get(), to;
	const struct code *c;

	maps_read();
	c = code_at(at.rip);
	if (!c || c->path[0])
		return;
	breaks_set(at.rsp);
	usleep(HELD_US);
	if (!run_to_caller(at.rsp, &to)) {
		fprintf(stderr, "returns: neither a return nor a call at 0x%llx\n", to.rip);
		exit(1);
	}
	breaks_clear();
	to.rip--;
	if (ptrace(PTRACE_SETREGS, pid, NULL, &to))
		fail("PTRACE_SETREGS");
	c = code_at(to.rip);
	printf("%" PRIu64 " %" PRIu64 " %llx %s+0x%llx\n", begin, now_ns(), at.rip,
	       strrchr(c->path, '/') + 1, to.rip - 1 - c->start + c->offset);
}

int main(int argc, char **argv)
{
	uint64_t until;

	if (argc != 3) {
		fprintf(stderr, "usage: returns PID SECONDS\n");
		return 2;
	}
	pid = atoi(argv[1]);
	until = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		fail("PTRACE_SEIZE");
	for (useconds_t gap = 3000; now_ns() < until; gap = 3000 + gap * 7 % 4001) {
		uint64_t begin;

		usleep(gap);
		begin = now_ns();
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
			return 0;
		if (wait_stop() == SIGTRAP)
			look(begin);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	return 0;
}
