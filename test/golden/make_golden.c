// SPDX-License-Identifier: MIT
/*
 * Writes captures whose truth is known: make_golden KIND FILE.
 *
 *   story    ten seconds of a server: two workers, a writer that syncs a disk, a pool that sleeps
 *   lost     the same, with a part of one CPU's record missing
 *   stepped  the same, giving up one thing after the other, and in the end everything
 *   torn     the same, killed before it was sealed
 *   nosyms   the same, without a name for any function
 *   locks    five seconds of another server: four workers behind a mutex that a checkpointer keeps
 *            while it syncs, an rwsem of the kernel, a condition variable
 *   deadlock two threads, each with a lock that the other one wants
 *   foreign  the same, from a machine that thaw does not know
 *   before, after  a hundred rounds of one program; afterwards a function takes 30% more, the disk
 *            half as much again, and a lock is held for half as long
 *   empty    a recording of nothing
 *   switches N  a long one, to see how fast it is read
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/writer.h"
#include "wire/loss.h"
#include "wire/step.h"

#define T0 1000000000000ull
#define MS 1000000ull

enum {
	MAIN = 100,
	WORKER1,
	WORKER2,
	WRITER,
	POOL1,
	POOL2,
	POOL3,
	EVIL,
	HELPER = 110,
	LEADER = 200,
	CALLER,
	KWORKER = 50
};

struct maker {
	struct writer *w;
	struct symtab *st;
	VEC(struct event) events;
	uint32_t app, libc, bare, kernel;
	uint32_t next_offset;
	/* stacks */
	uint32_t compute, recurse, sync_user, sync_kernel, lock_user, lock_kernel, poll_user,
		poll_kernel, unlock_user, unlock_kernel, bare_user, map_kernel, cond_user;
};

static void put(struct maker *m, double ms, unsigned cpu, struct event ev)
{
	ev.ts = T0 + (uint64_t)(ms * (double)MS + 0.5);
	ev.cpu = (uint16_t)cpu;
	vec_push(&m->events, ev);
}

/* In the order of time; those of one moment as they were put. */
static void write_events(struct maker *m)
{
	for (size_t i = 1; i < m->events.n; i++) {
		struct event ev = m->events.v[i];
		size_t j = i;

		for (; j && m->events.v[j - 1].ts > ev.ts; j--)
			m->events.v[j] = m->events.v[j - 1];
		m->events.v[j] = ev;
	}
	for (size_t i = 0; i < m->events.n; i++)
		writer_event(m->w, &m->events.v[i]);
	vec_done(&m->events);
}

#define PUT(ms, cpu, kind_, ...) put(m, ms, cpu, (struct event){.kind = kind_, __VA_ARGS__})
#define SWITCH(ms, cpu, prev, next, state) PUT(ms, cpu, EV_SWITCH, .switch_ = {prev, next, state})
#define THREAD(tid, pid, state, flags, name)                                                       \
	PUT(0, 0, EV_THREAD, .thread = {tid, pid, state, flags, name})

/* A frame with its name; "outer/inner" is inner inlined into outer. */
static struct frame frame(struct maker *m, uint32_t module, const char *name, uint32_t line)
{
	struct frame f = {module, 0x1000 + 0x10 * m->next_offset++};
	struct symbol syms[2];
	const char *slash = strchr(name, '/');
	char *outer = slash ? mem_strndup(name, (size_t)(slash - name)) : NULL;
	size_t n = 0;

	if (outer)
		syms[n++] = (struct symbol){slash + 1, "app.c", line, true};
	syms[n++] = (struct symbol){outer ? outer : name, line ? "app.c" : NULL,
				    line ? line + 1 : 0, false};
	symtab_add(m->st, module, f.offset, syms, n);
	free(outer);
	return f;
}

/* Names leaf first, separated by spaces. */
static uint32_t stack(struct maker *m, uint32_t module, const char *names)
{
	struct frame f[32];
	size_t n = 0;
	char *copy = mem_strdup(names), *save, *name;

	for (name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		bool libc =
			name[0] == '_' || !strcmp(name, "clone3") || !strcmp(name, "start_thread");
		bool plain = module != m->app || libc;

		f[n] = frame(m, plain && module == m->app ? m->libc : module, name,
			     plain ? 0 : 10 * (uint32_t)(n + 1));
		n++;
	}
	free(copy);
	return writer_stack(m->w, f, n, 1);
}

static void make_stacks(struct maker *m)
{
	struct module app = {.kind = MODULE_FILE, .path = "/srv/app"};
	struct module libc = {.kind = MODULE_FILE, .path = "/lib/libc.so.6"};
	struct module bare = {.kind = MODULE_FILE, .path = "/opt/vendor/libbare.so"};
	struct module kernel = {.kind = MODULE_KERNEL, .path = "[kernel]"};
	const char *enter = "do_syscall_64 entry_SYSCALL_64_after_hwframe";
	char text[200];

	m->app = writer_module(m->w, &app);
	m->libc = writer_module(m->w, &libc);
	m->bare = writer_module(m->w, &bare);
	m->kernel = writer_module(m->w, &kernel);
	m->compute = stack(m, m->app, "compress/match serve start_thread clone3");
	m->recurse = stack(m, m->app, "walk walk walk serve start_thread clone3");
	m->sync_user = stack(m, m->app, "__fsync flush_log writer_main start_thread clone3");
	snprintf(text, sizeof(text),
		 "__schedule schedule io_schedule folio_wait_bit "
		 "file_write_and_wait_range ext4_sync_file __x64_sys_fsync %s",
		 enter);
	m->sync_kernel = stack(m, m->kernel, text);
	m->lock_user = stack(
		m, m->app, "__lll_lock_wait __pthread_mutex_lock commit serve start_thread clone3");
	snprintf(text, sizeof(text),
		 "__schedule schedule futex_wait_queue __futex_wait futex_wait "
		 "do_futex __x64_sys_futex %s",
		 enter);
	m->lock_kernel = stack(m, m->kernel, text);
	m->poll_user = stack(m, m->app, "__epoll_wait next_request serve start_thread clone3");
	snprintf(text, sizeof(text),
		 "__schedule schedule schedule_hrtimeout_range ep_poll "
		 "do_epoll_wait __x64_sys_epoll_wait %s",
		 enter);
	m->poll_kernel = stack(m, m->kernel, text);
	m->unlock_user =
		stack(m, m->app, "__pthread_mutex_unlock release writer_main start_thread clone3");
	snprintf(text, sizeof(text),
		 "try_to_wake_up wake_up_q futex_wake do_futex __x64_sys_futex %s", enter);
	m->unlock_kernel = stack(m, m->kernel, text);
	snprintf(text, sizeof(text),
		 "__schedule schedule rwsem_down_read_slowpath down_read lock_mm_and_find_vma "
		 "do_user_addr_fault exc_page_fault asm_exc_page_fault");
	m->map_kernel = stack(m, m->kernel, text);
	m->cond_user =
		stack(m, m->app,
		      "__futex_abstimed_wait_common pthread_cond_wait feed start_thread clone3");
	m->bare_user = writer_stack(m->w, &(struct frame){m->bare, 0xbeef}, 1, 1);
}

/* What computes is code without a file, whose caller was guessed. */
static void guess(struct maker *m)
{
	uint32_t jit = writer_module(
		m->w, &(struct module){.kind = MODULE_ANON, .path = "[anon]", .pid = 100});
	uint32_t mark =
		writer_module(m->w, &(struct module){.kind = MODULE_GUESS, .path = "[guessed]"});
	struct frame f[] = {{jit, 0x7f0000001040},
			    {mark, 0},
			    frame(m, m->app, "run_kernel", 30),
			    frame(m, m->app, "main", 40)};

	m->compute = writer_stack(m->w, f, 4, 1);
}

static void threads(struct maker *m)
{
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	THREAD(KWORKER, KWORKER, STATE_UNINTERRUPTIBLE | STATE_NOLOAD, THREAD_KERNEL,
	       "kworker/0:1");
	THREAD(MAIN, MAIN, STATE_INTERRUPTIBLE, 0, "server");
	THREAD(WORKER1, MAIN, 0, 0, "worker-1");
	THREAD(WORKER2, MAIN, STATE_INTERRUPTIBLE, 0, "worker-2");
	THREAD(WRITER, MAIN, 0, 0, "writer");
	THREAD(POOL1, MAIN, STATE_INTERRUPTIBLE, 0, "pool-1");
	THREAD(POOL2, MAIN, STATE_INTERRUPTIBLE, 0, "pool-2");
	THREAD(POOL3, MAIN, STATE_INTERRUPTIBLE, 0, "pool-3");
	THREAD(EVIL, EVIL, STATE_INTERRUPTIBLE, 0, "e\033[31m;v\nil\xff\xc3\xa9");
	THREAD(LEADER, LEADER, STATE_INTERRUPTIBLE, 0, "shell");
	THREAD(CALLER, LEADER, STATE_INTERRUPTIBLE, 0, "shell-helper");
}

static void waking(struct maker *m, double ms, unsigned cpu, uint32_t wakee, uint32_t waker,
		   uint8_t ctx, uint32_t kstack, uint32_t ustack)
{
	PUT(ms, cpu, EV_WAKING, .waking = {wakee, waker, ctx, kstack, ustack});
}

/* Things that happen once, each in its second. */
static void events_of_second(struct maker *m, int s)
{
	if (s == 5)
		PUT(5300, 1, EV_RENAME, .rename = {WRITER, "wal-writer"});
	if (s == 6) { /* a thread that is not the leader runs a new program */
		waking(m, 6110, 0, CALLER, WORKER1, WAKE_TASK, 0, 0);
		SWITCH(6120, 2, 0, CALLER, 0);
		PUT(6130, 2, EV_EXEC, .exec = {LEADER, CALLER, "fresh"});
		SWITCH(6230, 2, LEADER, 0, STATE_INTERRUPTIBLE);
	}
	if (s == 7) { /* a waking that overtakes the switch */
		waking(m, 7100, 0, MAIN, WORKER1, WAKE_TASK, 0, 0);
		SWITCH(7110, 2, 0, MAIN, 0);
		waking(m, 7199.99, 0, MAIN, WORKER1, WAKE_TASK, 0, 0);
		SWITCH(7200, 2, MAIN, 0, STATE_INTERRUPTIBLE);
		SWITCH(7220, 2, 0, MAIN, 0);
		SWITCH(7300, 2, MAIN, EVIL, STATE_INTERRUPTIBLE);
		PUT(7310, 2, EV_SAMPLE, .sample = {EVIL, 0, m->bare_user});
		SWITCH(7320, 2, EVIL, 0, STATE_INTERRUPTIBLE);
	}
}

#define STEP(ms, step, cause, value, limit, note)                                                  \
	PUT(ms, 0, EV_MARK, .mark = {MARK_STEP, step, STEP_CAUSE_##cause, value, limit, note})

/* From each step on, what it gives up is not there. */
static void step_back(struct maker *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->events.n; i++) {
		const struct event *ev = &m->events.v[i];
		uint64_t ms = (ev->ts - T0) / MS;

		if ((ev->kind == EV_WAIT && ms >= 4000) || (ev->kind == EV_SAMPLE && ms >= 6000) ||
		    (ms >= 6500 && ms < 7100) || ms >= 8500)
			continue;
		m->events.v[n++] = *ev;
	}
	m->events.n = n;
	STEP(1000, STEP_NOTED, DISTRESS, 0, 0,
	     "INFO: task fsync:12 blocked for more than 120 seconds.");
	STEP(2000, STEP_RATE, SAMPLE_RATE, 50000, 100000, "");
	STEP(4000, STEP_WAIT_STACKS, OVERHEAD, 41800, 30000, "");
	STEP(6000, STEP_SAMPLES, OVERHEAD, 33000, 30000, "");
	PUT(7100, UINT16_MAX, EV_LOST, .lost = {LOSS_PAUSED, 0, 0, 600 * MS});
	STEP(7100, STEP_PAUSE, NO_ANSWER, 600 * MS, 1500 * MS, "");
	STEP(8500, STEP_DETACH, DISTRESS, 0, 0,
	     "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [app:101]");
	PUT(10000, UINT16_MAX, EV_LOST, .lost = {LOSS_DETACHED, 0, 0, 1500 * MS});
}

static void fork_and_exit(struct maker *m)
{
	PUT(3300, 0, EV_FORK, .fork = {HELPER, MAIN, WORKER1, "helper"});
	SWITCH(3310, 0, WORKER1, HELPER, STATE_PREEMPTED);
	PUT(3380, 0, EV_EXIT, .exit = {HELPER, 0});
	SWITCH(3390, 0, HELPER, WORKER1, STATE_GONE);
}

static void losses(struct maker *m)
{
	PUT(8400, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 42, 100 * MS});
	PUT(8400, 1, EV_LOST, .lost = {LOSS_STACK_READ, 0, 3, 0});
	PUT(8400, 1, EV_LOST, .lost = {LOSS_THROTTLED, EV_SAMPLE, 5, 100 * MS});
}

static void second(struct maker *m, int s, bool lose)
{
	double t = 1000.0 * s;

	for (int i = 1; i < 8; i++) {
		PUT(t + 50 * i - 1, 0, EV_SAMPLE,
		    .sample = {WORKER1, 0, i & 1 ? m->compute : m->recurse});
		PUT(t + 50 * i, 1, EV_SAMPLE, .sample = {WRITER, 0, m->unlock_user});
		if (i == 2)
			events_of_second(m, s);
		if (s == 3 && i == 6)
			fork_and_exit(m);
	}
	SWITCH(t + 400, 1, WRITER, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	if (s == 8 && lose)
		losses(m);
	waking(m, t + 650, 0, WRITER, WORKER1, WAKE_HARDIRQ, 0, 0);
	SWITCH(t + 651, 1, 0, WRITER, 0);
	PUT(t + 651.01, 1, EV_WAIT, .wait = {WRITER, m->sync_kernel, 0});
	PUT(t + 651.02, 1, EV_WAIT, .wait = {WRITER, 0, m->sync_user});
	waking(m, t + 700, 1, WORKER2, WRITER, WAKE_TASK, m->unlock_kernel, m->unlock_user);
	SWITCH(t + 701, 1, WRITER, WORKER2, STATE_PREEMPTED);
	PUT(t + 701.01, 1, EV_WAIT, .wait = {WORKER2, m->lock_kernel, m->lock_user});
	SWITCH(t + 800, 1, WORKER2, WRITER, STATE_INTERRUPTIBLE);
	SWITCH(t + 900, 0, WORKER1, 0, STATE_INTERRUPTIBLE);
	waking(m, t + 950, 0, WORKER1, 0, WAKE_SOFTIRQ, 0, 0);
	SWITCH(t + 951, 0, 0, WORKER1, 0);
	PUT(t + 951.01, 0, EV_WAIT, .wait = {WORKER1, m->poll_kernel, m->poll_user});
}

/* Who runs next, for how long and with which stacks is chance: a size that means something. */
static uint32_t chance(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

static void long_one(struct maker *m, unsigned long n)
{
	uint32_t stacks[] = {m->sync_user, m->lock_user, m->poll_user, m->cond_user, m->compute};
	uint32_t on[4] = {1, 2, 3, 4};
	double t = 0;

	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	for (uint32_t i = 1; i <= 64; i++)
		PUT(0, 0, EV_THREAD, .thread = {i, 1, i > 4, 0, "thread"});
	for (unsigned long i = 0; i < n / 2; i++) {
		unsigned cpu = chance(4);
		uint32_t next = cpu + 1 + 4 * chance(16);

		if (next == on[cpu])
			next = cpu + 1 + 4 * ((next - cpu) / 4 % 15 + 1) % 64;
		t += 0.0005 + chance(3000) * 0.000001;
		waking(m, t, cpu, next, on[cpu], WAKE_TASK, 0, stacks[chance(5)]);
		SWITCH(t + 0.0002 + chance(300) * 0.000001, cpu, on[cpu], next,
		       STATE_INTERRUPTIBLE);
		on[cpu] = next;
	}
	PUT(t + 1, 0, EV_MARK, .mark = {MARK_END});
}

/* ---- locks ---- */

enum {
	SERVER = 300,
	LW0 = 301, /* to 304 */
	CHECKPOINTER = 305,
	FEEDER = 306,
	COMMIT_LOCK = 0x4040, /* offsets in the app */
	OTHER_LOCK = 0x4080,
	QUEUE_READY = 0x40c0,
	COND_WORD = 40, /* within a condition variable of glibc: where its waiters sleep */
};
#define APP_AT 0x555555550000ull
#define MMAP_LOCK 0xffff888101234570ull
#define WAIT_PRIVATE 0x80u
#define COND_WAIT 0x189u /* FUTEX_WAIT_BITSET, private, real-time clock */

static void symbol(struct maker *m, uint32_t module, uint64_t offset, const char *name)
{
	symtab_add_data(
		m->st, module,
		&(struct data_symbol){.name = name, .begin = offset, .size = 48, .whole = true});
}

static void place(struct maker *m, uint64_t offset)
{
	PUT(0, 0, EV_PLACE, .place = {SERVER, APP_AT + offset, PLACE_MODULE, m->app, offset, 0});
}

/* Goes to sleep on a glibc mutex that `owner` has: lock, count, owner, users, kind. */
static void mutex(struct maker *m, double ms, unsigned cpu, uint32_t tid, uint64_t lock,
		  uint32_t owner)
{
	PUT(ms, cpu, EV_FUTEX, .futex = {tid, APP_AT + lock, WAIT_PRIVATE, 2, 2, 0, owner, 1, 0});
	SWITCH(ms, cpu, tid, 0, STATE_INTERRUPTIBLE);
}

static void wake(struct maker *m, double ms, unsigned cpu, uint32_t tid, uint32_t by, bool release)
{
	waking(m, ms, cpu, tid, by, WAKE_TASK | (release ? WAKE_RELEASE : 0),
	       release ? m->unlock_kernel : 0, release ? m->unlock_user : 0);
	SWITCH(ms + 0.01, cpu, 0, tid, 0);
}

static void lock_threads(struct maker *m)
{
	static const char *const names[] = {"worker-0", "worker-1", "worker-2", "worker-3"};

	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	THREAD(SERVER, SERVER, STATE_INTERRUPTIBLE, 0, "server");
	for (uint32_t i = 0; i < 4; i++)
		THREAD(LW0 + i, SERVER, 0, 0, names[i]);
	THREAD(CHECKPOINTER, SERVER, 0, 0, "checkpointer");
	THREAD(FEEDER, SERVER, 0, 0, "feeder");
	symbol(m, m->app, COMMIT_LOCK, "commit_lock");
	symbol(m, m->app, OTHER_LOCK, "table_lock");
	symbol(m, m->app, QUEUE_READY, "queue.ready");
	place(m, COMMIT_LOCK);
	place(m, OTHER_LOCK);
	place(m, QUEUE_READY + COND_WORD);
}

/* 80 ms in each second nobody can go on: CPU i belongs to worker i, 4 to the checkpointer. */
static void freeze(struct maker *m, double t)
{
	SWITCH(t + 100, 4, CHECKPOINTER, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	for (uint32_t i = 0; i < 4; i++)
		mutex(m, t + 101 + i, i, LW0 + i, COMMIT_LOCK, CHECKPOINTER);
	waking(m, t + 184, 0, CHECKPOINTER, 0, WAKE_HARDIRQ, 0, 0);
	SWITCH(t + 184.01, 4, 0, CHECKPOINTER, 0);
	PUT(t + 184.02, 4, EV_WAIT, .wait = {CHECKPOINTER, m->sync_kernel, m->sync_user});
	for (uint32_t i = 0; i < 4; i++) {
		wake(m, t + 185 + i, i, LW0 + i, i ? LW0 + i - 1 : CHECKPOINTER, true);
		PUT(t + 185.02 + i, i, EV_WAIT, .wait = {LW0 + i, m->lock_kernel, m->lock_user});
	}
}

/* A reader of the address space waits for a writer of it. */
static void map_wait(struct maker *m, double t)
{
	PUT(t + 300, 1, EV_KLOCK,
	    .klock = {LW0 + 1, MMAP_LOCK, KLOCK_READ, LW0 + 2, KLOCK_MMAP_LOCK, SERVER});
	SWITCH(t + 300, 1, LW0 + 1, 0, STATE_UNINTERRUPTIBLE);
	wake(m, t + 302, 1, LW0 + 1, LW0 + 2, false);
	PUT(t + 302.02, 1, EV_KLOCKED,
	    .klocked = {LW0 + 1, MMAP_LOCK, KLOCK_READ, LW0 + 2, KLOCK_MMAP_LOCK, SERVER,
			(uint64_t)(2.02 * MS), 0, m->map_kernel});
}

/* The feeder waits for room; nobody holds a condition variable. */
static void cond_wait(struct maker *m, double t)
{
	PUT(t + 400, 5, EV_FUTEX,
	    .futex = {FEEDER, APP_AT + QUEUE_READY + COND_WORD, COND_WAIT, 0, 0, 0, 0, 0, 0});
	SWITCH(t + 400, 5, FEEDER, 0, STATE_INTERRUPTIBLE);
	wake(m, t + 700, 5, FEEDER, LW0, true);
	PUT(t + 700.02, 5, EV_WAIT, .wait = {FEEDER, m->lock_kernel, m->cond_user});
}

static void locks_story(struct maker *m)
{
	lock_threads(m);
	for (uint32_t i = 0; i < 6; i++)
		SWITCH(0.5, i, 0, LW0 + i, 0);
	for (int s = 0; s < 5; s++) {
		for (int i = 0; i < 10; i++)
			PUT(1000.0 * s + 100 * i + 50, 0, EV_SAMPLE,
			    .sample = {LW0, 0, m->compute});
		freeze(m, 1000.0 * s);
		for (int i = 0; i < 5; i++)
			map_wait(m, 1000.0 * s + 10 * i);
		cond_wait(m, 1000.0 * s);
	}
	PUT(5000, 0, EV_MARK, .mark = {MARK_END});
}

static void deadlock(struct maker *m)
{
	lock_threads(m);
	for (uint32_t i = 0; i < 2; i++)
		SWITCH(0.5, i, 0, LW0 + i, 0);
	mutex(m, 100, 0, LW0, OTHER_LOCK, LW0 + 1);
	mutex(m, 200, 1, LW0 + 1, COMMIT_LOCK, LW0);
	PUT(2000, 0, EV_MARK, .mark = {MARK_END});
}

/* ms of a round. What is not asleep runs, and is sampled each 2 ms. */
struct round {
	double length, compress, locked, walk, disk;
};

static const struct round rounds[] = {{100, 60, 20, 20, 30}, {115, 78, 10, 20, 45}};

static void samples(struct maker *m, double from, double to, unsigned cpu, uint32_t tid,
		    uint32_t ustack)
{
	for (double t = from + 1; t < to; t += 2)
		PUT(t, cpu, EV_SAMPLE, .sample = {tid, 0, ustack});
}

/* CPU 0 is the worker's, 1 the checkpointer's, which waits for the disk 10 ms into each round. */
static void round_at(struct maker *m, double t, const struct round *r)
{
	double locked = t + r->compress, walk = locked + r->locked, rest = walk + r->walk;
	double synced = t + 10 + r->disk;

	samples(m, t, locked, 0, LW0, m->compute);
	mutex(m, locked, 0, LW0, COMMIT_LOCK, CHECKPOINTER);
	wake(m, walk, 0, LW0, CHECKPOINTER, true);
	PUT(walk + 0.02, 0, EV_WAIT, .wait = {LW0, m->lock_kernel, m->lock_user});
	samples(m, walk, rest, 0, LW0, m->recurse);
	if (rest < t + r->length) {
		SWITCH(rest, 0, LW0, 0, STATE_INTERRUPTIBLE);
		waking(m, t + r->length - 0.02, 0, LW0, 0, WAKE_SOFTIRQ, 0, 0);
		SWITCH(t + r->length - 0.01, 0, 0, LW0, 0);
		PUT(t + r->length - 0.005, 0, EV_WAIT, .wait = {LW0, m->poll_kernel, m->poll_user});
	}
	samples(m, t, t + 10, 1, CHECKPOINTER, m->unlock_user);
	SWITCH(t + 10, 1, CHECKPOINTER, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	waking(m, synced, 0, CHECKPOINTER, 0, WAKE_HARDIRQ, 0, 0);
	SWITCH(synced + 0.01, 1, 0, CHECKPOINTER, 0);
	PUT(synced + 0.02, 1, EV_WAIT, .wait = {CHECKPOINTER, m->sync_kernel, m->sync_user});
	samples(m, synced, t + r->length, 1, CHECKPOINTER, m->unlock_user);
}

static void rounds_story(struct maker *m, const struct round *r)
{
	double end = 100 * r->length;

	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	THREAD(LW0, LW0, 0, 0, "worker-0");
	THREAD(CHECKPOINTER, LW0, 0, 0, "checkpointer");
	symbol(m, m->app, COMMIT_LOCK, "commit_lock");
	PUT(0, 0, EV_PLACE,
	    .place = {LW0, APP_AT + COMMIT_LOCK, PLACE_MODULE, m->app, COMMIT_LOCK, 0});
	SWITCH(0, 0, 0, LW0, 0);
	SWITCH(0, 1, 0, CHECKPOINTER, 0);
	for (int i = 0; i < 100; i++)
		round_at(m, i * r->length, r);
	PUT(end, 0, EV_EXIT, .exit = {LW0, 0});
	PUT(end, 1, EV_EXIT, .exit = {CHECKPOINTER, 0});
	SWITCH(end, 0, LW0, 0, STATE_GONE);
	SWITCH(end, 1, CHECKPOINTER, 0, STATE_GONE);
	PUT(end, 0, EV_MARK, .mark = {MARK_END});
}

static void facts(struct maker *m, bool guarded, const char *freq_hz)
{
	writer_meta(m->w, "host", "golden");
	writer_meta(m->w, "kernel", "6.1.0-test");
	writer_meta(m->w, "engine", "bpf");
	writer_meta(m->w, "scope", "system");
	writer_meta(m->w, "cpus", "3");
	writer_meta(m->w, "freq_hz", freq_hz);
	writer_meta(m->w, "kernel_locks", "yes");
	writer_meta(m->w, "command", "./app");
	writer_meta(m->w, "command", "--port=80");
	if (!guarded)
		return;
	writer_meta(m->w, "guard_verdict", "degraded");
	writer_meta(m->w, "guard_finding", "H1 degrade user_read,unwind reading memory locks up");
	writer_meta(m->w, "guard_finding", "R4 note - other tools can deadlock");
	writer_meta(m->w, "guard_finding", "RT accept kernel_locks a real-time kernel");
	writer_meta(m->w, "guard_finding", "H7");
}

static int make(const char *kind, const char *path, unsigned long n)
{
	struct writer_opts opts = {.no_sync = true};
	struct maker maker = {.st = symtab_new()}, *m = &maker;
	bool torn = !strcmp(kind, "torn"), empty = !strcmp(kind, "empty");
	bool stepped = !strcmp(kind, "stepped");
	bool foreign = !strcmp(kind, "foreign"), locks = !strcmp(kind, "locks");
	bool stuck = foreign || !strcmp(kind, "deadlock");
	bool after = !strcmp(kind, "after"), pair = after || !strcmp(kind, "before");
	int rc = writer_open(path, &opts, &m->w);

	if (rc)
		return rc;
	facts(m, !strcmp(kind, "lost"), pair ? "500" : "20");
	if (foreign)
		writer_meta(m->w, "machine", "riscv64");
	make_stacks(m);
	if (!strcmp(kind, "guessed"))
		guess(m);
	if (n) {
		long_one(m, n);
	} else if (locks) {
		locks_story(m);
	} else if (stuck) {
		deadlock(m);
	} else if (pair) {
		rounds_story(m, &rounds[after]);
	} else if (!empty) {
		threads(m);
		for (int s = 0; s < 10; s++)
			second(m, s, !strcmp(kind, "lost"));
	}
	if (stepped)
		step_back(m);
	if (!torn && !n && !locks && !stuck && !pair)
		PUT(10000, 0, EV_MARK, .mark = {MARK_END});
	write_events(m);
	if (!torn && strcmp(kind, "nosyms"))
		writer_symbols(m->w, m->st);
	symtab_free(m->st);
	if (!torn)
		return writer_close(m->w, stepped ? END_STOPPED : END_DONE);
	rc = writer_flush(m->w, true);
	writer_abandon(m->w);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: make_golden KIND FILE [EVENTS]\n");
		return 2;
	}
	if (make(argv[1], argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 0)) {
		fprintf(stderr, "make_golden: %s\n", err_msg());
		return 1;
	}
	return 0;
}
