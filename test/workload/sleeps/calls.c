// SPDX-License-Identifier: MIT
/* Sleeps on descriptors of all kinds, in a call of the 32-bit table, and without any call. */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/party.h"
#include "sleeps/sleeps.h"

static void must(bool ok, const char *what)
{
	if (!ok)
		die("%s: %m", what);
}

/* ---- something to read ---- */

static void read_eight(struct sleeper *s)
{
	char bytes[8];

	must(read(s->fd, bytes, sizeof(bytes)) > 0, s->name);
}

static void write_eight(struct sleeper *s)
{
	uint64_t one = 1;

	must(write(s->other, &one, sizeof(one)) == sizeof(one), s->name);
}

static void open_pipe(struct sleeper *s)
{
	int fds[2];

	must(!pipe(fds), "pipe");
	s->fd = fds[0];
	s->other = fds[1];
}

/* Beyond the table that every process begins with. */
static void open_pipe_high(struct sleeper *s)
{
	open_pipe(s);
	s->fd = fcntl(s->fd, F_DUPFD, 200);
	must(s->fd >= 200, "a high descriptor");
}

static void open_socket(struct sleeper *s)
{
	int fds[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	s->fd = fds[0];
	s->other = fds[1];
}

static void recv_eight(struct sleeper *s)
{
	char bytes[8];

	must(recv(s->fd, bytes, sizeof(bytes), 0) > 0, s->name);
}

static void open_event(struct sleeper *s)
{
	s->fd = s->other = eventfd(0, 0);
	must(s->fd >= 0, "eventfd");
}

static void open_timer(struct sleeper *s)
{
	struct itimerspec each = {{0, 3000000}, {0, 3000000}};

	s->fd = timerfd_create(CLOCK_MONOTONIC, 0);
	must(s->fd >= 0 && !timerfd_settime(s->fd, 0, &each, NULL), "timerfd");
}

static void open_terminal(struct sleeper *s)
{
	struct termios raw;

	must(!openpty(&s->other, &s->fd, NULL, NULL, NULL), "openpty");
	tcgetattr(s->fd, &raw);
	cfmakeraw(&raw);
	tcsetattr(s->fd, TCSANOW, &raw);
}

/* ---- others ---- */

static void sleep_a_bit(struct sleeper *s)
{
	struct timespec t = {0, 3000000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

static void poll_pipe(struct sleeper *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};

	must(poll(&p, 1, -1) == 1, "poll");
	read_eight(s);
}

/* flock() on a file that main has locked: another file each time. */
#define FILES_MAX 64

struct locked {
	int mine[FILES_MAX], mains[FILES_MAX];
};

static void open_locked(struct sleeper *s)
{
	struct locked *l = calloc(1, sizeof(*l));

	must(l, "memory");
	s->mem = l;
	for (size_t i = 0; i < FILES_MAX; i++) {
		char path[] = "/tmp/sleeps.XXXXXX";

		l->mains[i] = mkstemp(path);
		l->mine[i] = open(path, O_RDWR);
		must(l->mains[i] >= 0 && l->mine[i] >= 0, path);
		must(!flock(l->mains[i], LOCK_EX), "flock");
		unlink(path);
	}
}

static void lock_file(struct sleeper *s)
{
	struct locked *l = s->mem;

	must(!flock(l->mine[s->slept % FILES_MAX], LOCK_EX), "flock");
}

static void unlock_file(struct sleeper *s)
{
	struct locked *l = s->mem;

	must(!flock(l->mains[s->slept % FILES_MAX], LOCK_UN), "flock");
}

#ifdef __x86_64__
#define NANOSLEEP_32 162

static void open_low(struct sleeper *s)
{
	s->mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		      -1, 0);
	must(s->mem != MAP_FAILED, "memory below 4 GiB");
}

static void sleep_32(struct sleeper *s)
{
	int32_t *t = s->mem, rc;

	t[0] = 0;
	t[1] = 3000000;
	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(NANOSLEEP_32), "b"(s->mem), "c"(0)
		     : "memory", "r8", "r9", "r10", "r11");
	if (rc)
		die("nanosleep of the 32-bit table: %s", strerror(-rc));
}
#endif

void case_calls(const struct args *a)
{
	static struct sleeper all[] = {
		{"pipe", open_pipe, read_eight, write_eight, .nr = SYS_read, .file = "pipe"},
		{"pipe-high", open_pipe_high, read_eight, write_eight, .nr = SYS_read,
		 .file = "pipe"},
		{"socket", open_socket, read_eight, write_eight, .nr = SYS_read, .file = "socket"},
		{"recv", open_socket, recv_eight, write_eight, .nr = SYS_recvfrom,
		 .file = "socket"},
		{"eventfd", open_event, read_eight, write_eight, .nr = SYS_read, .file = "anon"},
		{"timerfd", open_timer, read_eight, NULL, .nr = SYS_read, .file = "anon"},
		{"terminal", open_terminal, read_eight, write_eight, .nr = SYS_read,
		 .file = "char"},
		{"flock", open_locked, lock_file, unlock_file, .nr = SYS_flock, .file = "regular"},
		{"nanosleep", NULL, sleep_a_bit, NULL, .nr = SYS_clock_nanosleep},
		{"poll", open_pipe, poll_pipe, write_eight, .nr = SYS_poll},
#ifdef __x86_64__
		{"compat", open_low, sleep_32, NULL, .nr = NANOSLEEP_32, .compat = true},
#endif
	};

	sleepers_run(all, ARRAY_LEN(all), arg_count(a, "count"));
}
