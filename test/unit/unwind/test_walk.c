// SPDX-License-Identifier: MIT
/*
 * Walks of stopped threads, frame by frame against libdwfl's walk of the same threads. Each scene
 * is a child that has got itself into some place and waits there; both walkers must see the same
 * addresses, and ours must say that it has reached the entry of the program or thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "unit/unwind/process.h"

#define HERE() __asm__ volatile("" ::: "memory") /* also: no tail call before it */
#define NOINLINE __attribute__((noinline))

static volatile int zero;

static NOINLINE void rest(void)
{
	do {
		pause();
		HERE();
	} while (!zero);
}

static NOINLINE int deep(int n, char *above)
{
	char here[64 + (n & 7) * 16];
	int got = 0;

	memset(here, n, sizeof(here));
	if (!n)
		rest();
	else
		got = deep(n - 1, here);
	HERE();
	return got + here[5] + (above ? *above : 0);
}

static void scene_nested(void)
{
	(void)deep(40, NULL);
}

/* The stack is aligned, so the CFA is read from it. */
static NOINLINE int aligned(int n)
{
	char wide[256] __attribute__((aligned(64)));
	char *more = __builtin_alloca((size_t)n * 16 + 16);
	int got = 0;

	memset(wide, n, sizeof(wide));
	__asm__ volatile("" ::"r"(wide), "r"(more) : "memory");
	if (!n)
		rest();
	else
		got = aligned(n - 1) + wide[3];
	HERE();
	return got;
}

static void scene_aligned(void)
{
	(void)aligned(5);
}

static int compare_rest(const void *a, const void *b)
{
	if (*(const int *)a == 7)
		rest();
	HERE();
	return *(const int *)a - *(const int *)b;
}

static void scene_qsort(void)
{
	int v[32];

	for (int i = 0; i < 32; i++)
		v[i] = (i * 11) % 32;
	qsort(v, 32, sizeof(v[0]), compare_rest);
	HERE();
}

static void scene_tsearch(void)
{
	static int keys[] = {1, 2, 7};
	void *root = NULL;

	for (int i = 0; i < 3; i++)
		tsearch(&keys[i], &root, compare_rest);
	tfind(&keys[2], &root, compare_rest);
	HERE();
}

static int phdr_rest(struct dl_phdr_info *info, size_t size, void *data)
{
	rest();
	HERE();
	return 0;
}

static void scene_phdr(void)
{
	dl_iterate_phdr(phdr_rest, NULL);
	HERE();
}

static void scene_nanosleep(void)
{
	struct timespec t = {.tv_sec = 1000};

	nanosleep(&t, NULL);
	HERE();
}

static void scene_read(void)
{
	int p[2];
	char c;

	if (!pipe(p) && read(p[0], &c, 1) < 0)
		rest();
	HERE();
}

static void scene_poll(void)
{
	poll(NULL, 0, 1000000);
	HERE();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *wait_for_cond(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!zero)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *wait_for_mutex(void *arg)
{
	pthread_mutex_lock(arg);
	HERE();
	return NULL;
}

static void scene_threads(void)
{
	static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
	pthread_t t[2];

	pthread_mutex_lock(&held);
	pthread_create(&t[0], NULL, wait_for_cond, NULL);
	pthread_create(&t[1], NULL, wait_for_mutex, &held);
	pthread_join(t[0], NULL);
	HERE();
}

static void handler(int sig)
{
	rest();
	HERE();
}

static void on_signal(int flags)
{
	static char other[1 << 16];
	stack_t st = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags};

	if (flags & SA_ONSTACK)
		sigaltstack(&st, NULL);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGILL, &act, NULL);
}

static void scene_signal_in_libc(void)
{
	on_signal(0);
	raise(SIGUSR1);
	HERE();
}

/* A fault: the interrupted frame is where the thread was, not after a call. */
static NOINLINE void fault(void)
{
	__asm__ volatile("ud2");
}

static void scene_fault(void)
{
	on_signal(0);
	fault();
	HERE();
}

static void scene_fault_on_other_stack(void)
{
	on_signal(SA_ONSTACK);
	fault();
	HERE();
}

static void twice(int sig)
{
	struct sigaction act = {.sa_handler = handler};

	sigaction(SIGILL, &act, NULL);
	fault();
	HERE();
}

static void scene_signal_in_signal(void)
{
	struct sigaction act = {.sa_handler = twice};

	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	HERE();
}

static void scene_exit(void)
{
	atexit(rest);
	exit(0);
}

/* libdwfl's walk. */

struct theirs {
	uint64_t ips[FRAMES_MAX];
	size_t n;
};

static int their_frame(Dwfl_Frame *frame, void *arg)
{
	struct theirs *t = arg;
	Dwarf_Addr pc;

	if (t->n < FRAMES_MAX && dwfl_frame_pc(frame, &pc, NULL))
		t->ips[t->n++] = pc;
	return DWARF_CB_OK;
}

static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

static Dwfl *their_open(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	Dwfl *d = dwfl_begin(&callbacks);

	assert_non_null(d);
	assert_int_equal(dwfl_linux_proc_report(d, pid), 0);
	assert_int_equal(dwfl_report_end(d, NULL, NULL), 0);
	assert_int_equal(dwfl_linux_proc_attach(d, pid, true), 0);
	return d;
}

/* The children. */

static size_t threads_of(pid_t pid, pid_t *tids, size_t room)
{
	char path[64];
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) && n < room)
		if (d->d_name[0] != '.')
			tids[n++] = atoi(d->d_name);
	if (dir)
		closedir(dir);
	return n;
}

static bool asleep(pid_t pid, pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* Until there are `n` threads and all of them have been asleep for a while. */
static void settle(pid_t pid, size_t n)
{
	pid_t tids[16];
	int calm = 0;

	for (int i = 0; i < 1000 && calm < 5; i++) {
		size_t have = threads_of(pid, tids, 16), sleeping = 0;

		for (size_t t = 0; t < have; t++)
			sleeping += asleep(pid, tids[t]);
		calm = have == n && sleeping == n ? calm + 1 : 0;
		usleep(5000);
	}
	assert_int_equal(calm, 5);
}

static void compare_thread(struct process *p, Dwfl *dwfl, pid_t tid, size_t at_least)
{
	static struct theirs theirs;
	static uint64_t ips[FRAMES_MAX];
	struct user_regs_struct regs;
	enum unwind_stop stop;
	size_t n;

	theirs.n = 0;
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &regs), 0);
	n = process_walk(p, &regs, ips, &stop);
	(void)dwfl_getthread_frames(dwfl, tid, their_frame, &theirs);
	for (size_t i = 0; i < n && i < theirs.n; i++)
		if (ips[i] != theirs.ips[i])
			fail_msg("frame %zu of %zu: %#lx, libdwfl says %#lx", i, n, ips[i],
				 theirs.ips[i]);
	assert_int_equal(n, theirs.n);
	assert_int_equal(stop, UNWIND_STOP_END);
	assert_true(n >= at_least);
}

static void play(void (*scene)(void), size_t threads, size_t at_least)
{
	static struct process process;
	pid_t pid, tids[16];
	Dwfl *dwfl;
	int status;

	if (!ptrace_allowed())
		skip();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		scene();
		_exit(1);
	}
	settle(pid, threads);
	assert_int_equal(threads_of(pid, tids, 16), threads);
	for (size_t i = 0; i < threads; i++) {
		assert_int_equal(ptrace(PTRACE_SEIZE, tids[i], NULL, NULL), 0);
		assert_int_equal(ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL), 0);
		assert_int_equal(waitpid(tids[i], &status, __WALL), tids[i]);
	}
	process_open(&process, pid);
	dwfl = their_open(pid);
	for (size_t i = 0; i < threads; i++)
		compare_thread(&process, dwfl, tids[i], tids[i] == pid ? at_least : 5);
	dwfl_end(dwfl);
	process_close(&process);
	kill(pid, SIGKILL);
	/* The first thread is gone only when the others have been waited for. */
	for (size_t i = 0; i < threads; i++)
		if (tids[i] != pid)
			waitpid(tids[i], &status, __WALL);
	waitpid(pid, &status, __WALL);
}

#define SCENE(name, threads, at_least)                                                             \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		play(scene_##name, threads, at_least);                                             \
	}
SCENE(nested, 1, 48)
SCENE(aligned, 1, 13)
SCENE(qsort, 1, 10)
SCENE(tsearch, 1, 9)
SCENE(phdr, 1, 9)
SCENE(nanosleep, 1, 7)
SCENE(read, 1, 7)
SCENE(poll, 1, 7)
SCENE(threads, 3, 7)
SCENE(signal_in_libc, 1, 11)
SCENE(fault, 1, 10)
SCENE(fault_on_other_stack, 1, 10)
SCENE(signal_in_signal, 1, 13)
SCENE(exit, 1, 9)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_aligned),
		cmocka_unit_test(test_qsort),
		cmocka_unit_test(test_tsearch),
		cmocka_unit_test(test_phdr),
		cmocka_unit_test(test_nanosleep),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_signal_in_libc),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_fault_on_other_stack),
		cmocka_unit_test(test_signal_in_signal),
		cmocka_unit_test(test_exit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
