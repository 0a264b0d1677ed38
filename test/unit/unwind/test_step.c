// SPDX-License-Identifier: MIT
/*
 * Walks at every instruction. A child sorts, prints, allocates and asks for the time while its
 * parent steps it, instruction by instruction, and keeps a stack of its own: a call pushes the
 * address after it, a return pops. At each stop the walk must give exactly that stack, down to the
 * program's entry: in the middle of prologues and epilogues, in the PLT, in the vDSO.
 *
 * Once bound lazily (the dynamic linker's resolver keeps its CFA in rbx, which the tables cannot
 * say: walks from within it end there, as RULE, and must still be right up to it), and once with
 * everything bound before: there every walk must be exact, bar one in a thousand. And once a whole
 * program, from the first instruction of the dynamic linker.
 *
 * With arguments, steps that program to its end and prints what it counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "unit/unwind/process.h"

#define STEPS 60000
#define NOINLINE __attribute__((noinline))

struct tally {
	uint64_t steps, exact, prefix, wrong;
	uint64_t stops[UNWIND_STOPS];
	uint64_t calls, deepest;
};

static volatile double sink;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static NOINLINE double aligned_sum(const double *v, int n)
{
	double wide[8] __attribute__((aligned(64))) = {0};

	for (int i = 0; i < n; i++)
		wide[i & 7] += v[i];
	__asm__ volatile("" ::"r"(wide) : "memory");
	return wide[0] + wide[7] + strtod("2.5e3", NULL);
}

static NOINLINE void work(int round)
{
	struct timespec now;
	double v[40];
	char text[200], *copy;

	for (int i = 0; i < 40; i++)
		v[i] = (i * 7919 + round) % 101 / 3.0;
	qsort(v, 40, sizeof(v[0]), by_value);
	snprintf(text, sizeof(text), "%d %s %.6g %#lx", round, "words", v[20], 0xabcdeful);
	copy = strdup(text);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += aligned_sum(v, 40) + (double)strlen(copy) + (double)now.tv_nsec;
	free(copy);
}

static void child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (int round = 0;; round++)
		work(round);
}

enum flow { FLOW_OTHER, FLOW_CALL, FLOW_RET };

static enum flow flow_of(const uint8_t *p)
{
	while (*p == 0x66 || *p == 0xf2 || *p == 0xf3 || *p == 0x3e || (*p & 0xf0) == 0x40)
		p++;
	if (*p == 0xe8 || (*p == 0xff && (p[1] >> 3 & 7) == 2))
		return FLOW_CALL;
	return *p == 0xc3 || *p == 0xc2 ? FLOW_RET : FLOW_OTHER;
}

static struct user_regs_struct registers(pid_t pid)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	return regs;
}

static void note(struct tally *t, const uint64_t *ips, size_t n, enum unwind_stop stop,
		 const uint64_t *shadow, size_t depth)
{
	size_t same = 0;
	Dl_info info = {0};

	t->steps++;
	t->stops[stop]++;
	/* The shadow's top is the innermost return address. */
	while (same + 1 < n && same < depth && ips[same + 1] == shadow[depth - 1 - same])
		same++;
	if (same == depth && n == depth + 1 && stop == UNWIND_STOP_END) {
		t->exact++;
		return;
	}
	if (same + 1 == n && stop == UNWIND_STOP_RULE)
		t->prefix++;
	else
		t->wrong++;
	if (t->prefix + t->wrong > 8)
		return;
	dladdr((void *)ips[n - 1], &info);
	print_message("at %#lx: %zu frames of %zu, stop %u, last in %s (%s)\n", ips[0], n,
		      depth + 1, stop, info.dli_sname ? info.dli_sname : "?",
		      info.dli_fname ? info.dli_fname : "?");
}

/* One instruction. False: the child has ended. */
static bool step(pid_t pid, struct user_regs_struct *regs)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return false;
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	*regs = registers(pid);
	return true;
}

/* Steps a stopped child and compares. What it maps meanwhile is looked up again when missed. */
static struct tally step_through(pid_t pid, uint64_t limit)
{
	static struct process process;
	static uint64_t ips[FRAMES_MAX], shadow[4096];
	struct user_regs_struct regs = registers(pid);
	struct tally t = {0};
	enum unwind_stop stop;
	size_t depth, n;

	process_open(&process, pid);
	n = process_walk(&process, &regs, ips, &stop);
	assert_int_equal(stop, UNWIND_STOP_END);
	for (depth = 0; depth + 1 < n; depth++)
		shadow[depth] = ips[n - 1 - depth];
	while (t.steps < limit) {
		uint8_t code[16] = {0};
		enum flow flow;

		(void)process_copy(pid, regs.rip, code, sizeof(code));
		flow = flow_of(code);
		if (!step(pid, &regs))
			break;
		if (flow == FLOW_CALL) {
			assert_int_equal(process_copy(pid, regs.rsp, &shadow[depth++], 8), 8);
			t.calls++;
		} else if (flow == FLOW_RET) {
			assert_true(depth > 0);
			depth--;
		}
		t.deepest = depth > t.deepest ? depth : t.deepest;
		n = process_walk(&process, &regs, ips, &stop);
		if (stop == UNWIND_STOP_NO_MAP) {
			process_close(&process);
			process_open(&process, pid);
			n = process_walk(&process, &regs, ips, &stop);
		}
		note(&t, ips, n, stop, shadow, depth);
	}
	process_close(&process);
	print_message(
		"%lu stops, %lu calls, up to %lu deep: %lu exact (%.3f%%), %lu right up to an "
		"unknown rule, %lu wrong\n",
		t.steps, t.calls, t.deepest, t.exact, 100.0 * (double)t.exact / (double)t.steps,
		t.prefix, t.wrong);
	return t;
}

static void expect_stopped(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

static struct tally step_child(void)
{
	struct tally t;
	pid_t pid;

	if (!ptrace_allowed())
		skip();
	pid = fork();
	if (!pid)
		child();
	expect_stopped(pid);
	t = step_through(pid, STEPS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return t;
}

/* From the first instruction of the dynamic linker. */
static struct tally step_program(char **argv, uint64_t limit)
{
	struct tally t;
	pid_t pid;

	if (!ptrace_allowed())
		skip();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_BIND_NOW", "1", 1);
		unsetenv("LD_PRELOAD");
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(1);
	}
	expect_stopped(pid);
	t = step_through(pid, limit);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return t;
}

static void test_lazy(void **state)
{
	struct tally t = step_child();

	assert_int_equal(t.wrong, 0);
	assert_true(t.exact * 2 > t.steps);
}

static void test_bound(void **state)
{
	struct tally t;

	work(0); /* binds what the child will call */
	t = step_child();
	assert_int_equal(t.wrong, 0);
	assert_true(t.exact * 1000 >= t.steps * 999);
	assert_true(t.calls > 100);
}

static void test_program(void **state)
{
	char *argv[] = {"/bin/true", NULL};
	struct tally t = step_program(argv, 2 * STEPS);

	assert_int_equal(t.wrong, 0);
	assert_true(t.exact * 1000 >= t.steps * 999);
	assert_true(t.calls > 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_program),
	};

	if (argc > 1)
		return step_program(argv + 1, UINT64_MAX).wrong != 0;

	return cmocka_run_group_tests(tests, NULL, NULL);
}
