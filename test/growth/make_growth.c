// SPDX-License-Identifier: MIT
/*
 * Writes captures of any size, one axis at a time: make_growth FILE [NAME=NUMBER...].
 *
 *   events      about so many; the recording is as long as that takes
 *   threads     all of which want locks, again and again, in turn
 *   locks       among which the threads are dealt out: 1 is a crowd behind one lock
 *   kernel      1: these are locks of the kernel
 *   processes   among which the locks are dealt out
 *   cpus        on which the holders run
 *   stacks      that differ, of samples, waits and releases
 *   functions   of which these are made
 *   modules     in which the functions are
 *   calls       in which holders sleep, one after the other, while they hold a lock; 0: none
 *   every       so many holds from one such sleep to the next
 *   hold        ns that a lock is held, without that
 *   sleep       ns that such a sleep takes
 *   timeouts    of so many waits one ends by itself, and the thread tries again; 0: none
 *   chain       1: who sleeps so waits for another lock, whose holder runs
 *
 * Who has a lock works for `hold` ns, is sampled now and then, lets go, wakes the next and wants
 * the lock again. So each wait is as long as the queue, and is behind as many holders as there are
 * threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/writer.h"
#include "wire/state.h"

#define T0 1000000000000ull
enum { FIRST = 1000, WAIT_PRIVATE = 128, DEPTH = 12, OUTER = 8, HELPER = 500 };
#define LOCKS_AT 0x7f0000000000ull
#define KLOCKS_AT 0xffff888000000000ull
#define INNER_LOCK (LOCKS_AT - 4096)

struct size {
	const char *name;
	unsigned long n;
};

enum axis {
	EVENTS,
	THREADS,
	LOCKS,
	KERNEL,
	PROCESSES,
	CPUS,
	STACKS,
	FUNCTIONS,
	MODULES,
	CALLS,
	EVERY,
	HOLD,
	SLEEP,
	TIMEOUTS,
	CHAIN,
	AXES
};

static struct size sizes[AXES] = {
	{"events", 100000}, {"threads", 100}, {"locks", 1},	  {"kernel", 0},   {"processes", 1},
	{"cpus", 4},	    {"stacks", 50},   {"functions", 100}, {"modules", 5},  {"calls", 0},
	{"every", 50},	    {"hold", 4000},   {"sleep", 50000},	  {"timeouts", 0}, {"chain", 0},
};

static unsigned long size(enum axis a)
{
	return sizes[a].n;
}

/* Those who want one lock, as a ring: who has it stands first. */
struct queue {
	VEC(uint32_t) tids;
	size_t first;
	uint64_t since; /* the holder has it */
};

struct maker {
	struct writer *w;
	struct symtab *st;
	uint64_t now, seed, written;
	uint32_t *modules, *stacks;
	uint32_t kernel_wait;
	struct queue *queues;
	uint32_t *on; /* by CPU: who runs there */
	unsigned long holds, sleeps;
};

static uint32_t chance(struct maker *m, unsigned long below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->seed >> 33) % below);
}

static void put(struct maker *m, unsigned cpu, struct event ev)
{
	ev.ts = m->now;
	ev.cpu = (uint16_t)cpu;
	writer_event(m->w, &ev);
	m->written++;
}

#define PUT(cpu, kind_, ...) put(m, cpu, (struct event){.kind = kind_, __VA_ARGS__})

static uint32_t process_of(unsigned long lock)
{
	return FIRST + (uint32_t)(lock % size(PROCESSES));
}

static void make_modules(struct maker *m)
{
	char text[64];

	m->modules = mem_zalloc((size(MODULES) + 1) * sizeof(*m->modules));
	for (unsigned long i = 0; i < size(MODULES); i++) {
		struct module mod = {.kind = MODULE_FILE, .path = text};

		snprintf(text, sizeof(text), "/srv/lib%lu.so", i);
		m->modules[i] = writer_module(m->w, &mod);
	}
}

static void make_functions(struct maker *m)
{
	char text[64];

	for (unsigned long i = 0; i < size(FUNCTIONS); i++) {
		struct symbol sym = {text, "app.c", 10 + (uint32_t)i, false};

		snprintf(text, sizeof(text), "function_%lu", i);
		symtab_add(m->st, m->modules[i % size(MODULES)], 0x1000 + 0x10 * i, &sym, 1);
	}
}

static void make_stacks(struct maker *m)
{
	struct module kernel = {.kind = MODULE_KERNEL, .path = "[kernel]"};
	static const char *const names[] = {"schedule", "futex_wait_queue", "do_futex",
					    "__x64_sys_futex"};
	struct frame f[DEPTH];
	uint32_t k = writer_module(m->w, &kernel);

	for (uint32_t i = 0; i < 4; i++) {
		struct symbol sym = {names[i], NULL, 0, false};

		f[i] = (struct frame){k, 0x1000 + 0x100 * i};
		symtab_add(m->st, k, f[i].offset, &sym, 1);
	}
	m->kernel_wait = writer_stack(m->w, f, 4, 1);
	m->stacks = mem_zalloc((size(STACKS) + 1) * sizeof(*m->stacks));
	for (unsigned long i = 0; i < size(STACKS); i++) {
		/* The inner frames differ from stack to stack, the outer ones are of a few kinds.
		 */
		for (unsigned long d = 0, rest = i; d < DEPTH; d++) {
			unsigned long fn = d < OUTER - 4 ? rest % size(FUNCTIONS)
							 : (i % 7 + d * 13) % size(FUNCTIONS);

			if (d < OUTER - 4)
				rest = rest / size(FUNCTIONS) + i * 31 + d;
			f[d] = (struct frame){m->modules[fn % size(MODULES)], 0x1000 + 0x10 * fn};
		}
		m->stacks[i] = writer_stack(m->w, f, DEPTH, 1);
	}
}

static uint32_t any_stack(struct maker *m)
{
	return m->stacks[chance(m, size(STACKS))];
}

static void make_threads(struct maker *m)
{
	char name[32];

	m->queues = mem_zalloc(size(LOCKS) * sizeof(*m->queues));
	m->on = mem_zalloc(size(CPUS) * sizeof(*m->on));
	PUT(0, EV_MARK, .mark = {MARK_BEGIN});
	for (unsigned long i = 0; i < size(THREADS); i++) {
		unsigned long lock = i % size(LOCKS);
		uint32_t tid = FIRST + (uint32_t)(i < size(PROCESSES) ? i : i);

		snprintf(name, sizeof(name), "worker-%lu", i);
		PUT(0, EV_THREAD, .thread = {tid, process_of(lock), 0, 0, name});
		vec_push(&m->queues[lock].tids, tid);
	}
	if (size(CHAIN))
		PUT(0, EV_THREAD, .thread = {HELPER, process_of(0), 0, 0, "helper"});
}

static void switch_to(struct maker *m, unsigned cpu, uint32_t next, uint32_t state, uint32_t call)
{
	if (m->on[cpu] == next)
		return;
	PUT(cpu, EV_SWITCH, .switch_ = {m->on[cpu], next, m->on[cpu] ? state : 0, call});
	m->on[cpu] = next;
}

/* `tid` goes to sleep for the lock that `owner` has. */
static void want(struct maker *m, unsigned cpu, uint32_t tid, unsigned long lock, uint32_t owner)
{
	if (size(KERNEL))
		PUT(cpu, EV_KLOCK,
		    .klock = {tid, KLOCKS_AT + 64 * lock, KLOCK_MUTEX, owner, KLOCK_ANY, 0});
	else
		PUT(cpu, EV_FUTEX,
		    .futex = {tid, LOCKS_AT + 64 * lock, WAIT_PRIVATE, 2, 2, 0, owner, 1, 0});
}

static uint32_t sleep_state(void)
{
	return size(KERNEL) ? STATE_UNINTERRUPTIBLE : STATE_INTERRUPTIBLE;
}

/* Who holds the lock sleeps, and all others with it. */
static void sleep_in_call(struct maker *m, unsigned cpu, uint32_t tid)
{
	uint32_t nr = (uint32_t)(m->sleeps++ % size(CALLS));

	if (size(CHAIN))
		PUT(cpu, EV_FUTEX, .futex = {tid, INNER_LOCK, WAIT_PRIVATE, 2, 2, 0, HELPER, 1, 0});
	switch_to(m, cpu, size(CHAIN) ? HELPER : 0, STATE_INTERRUPTIBLE,
		  size(CHAIN) ? 202 + 1 : nr + 1);
	m->now += size(SLEEP);
	PUT(cpu, EV_WAKING,
	    .waking = {tid, size(CHAIN) ? HELPER : 0,
		       size(CHAIN) ? WAKE_TASK | WAKE_RELEASE : WAKE_HARDIRQ, 0, 0});
	m->now += 500;
	switch_to(m, cpu, tid, STATE_INTERRUPTIBLE, size(CHAIN) ? 230 + 1 : 0);
	m->now += 100;
	PUT(cpu, EV_WAIT, .wait = {tid, m->kernel_wait, any_stack(m)});
}

/* A thread in the middle of the queue gives up, looks around and wants the lock again. */
static void time_out(struct maker *m, unsigned cpu, unsigned long lock, uint32_t holder)
{
	const struct queue *q = &m->queues[lock];
	uint32_t tid = q->tids.v[(q->first + q->tids.n / 2) % q->tids.n];

	if (q->tids.n < 3)
		return;
	PUT(cpu, EV_WAKING, .waking = {tid, 0, WAKE_HARDIRQ, 0, 0});
	m->now += 300;
	switch_to(m, cpu, tid, STATE_PREEMPTED, 0);
	m->now += 200;
	PUT(cpu, EV_WAIT, .wait = {tid, m->kernel_wait, any_stack(m)});
	want(m, cpu, tid, lock, holder);
	switch_to(m, cpu, holder, sleep_state(), 202 + 1);
}

/* One hold of one lock, from where its holder goes on to where the next one has it. */
static void hold(struct maker *m, unsigned long lock)
{
	struct queue *q = &m->queues[lock];
	unsigned cpu = (unsigned)(lock % size(CPUS));
	uint32_t tid, next;

	if (!q->tids.n)
		return;
	tid = q->tids.v[q->first];
	switch_to(m, cpu, tid, STATE_PREEMPTED, 0);
	m->now += size(HOLD) / 2;
	if (m->holds++ % 2)
		PUT(cpu, EV_SAMPLE, .sample = {tid, 0, any_stack(m)});
	if (size(CALLS) && m->holds % size(EVERY) == 0)
		sleep_in_call(m, cpu, tid);
	if (size(TIMEOUTS) && m->holds % size(TIMEOUTS) == 0)
		time_out(m, cpu, lock, tid);
	m->now += size(HOLD) / 2 + chance(m, size(HOLD) / 4 + 1);
	q->first = (q->first + 1) % q->tids.n;
	next = q->tids.v[q->first];
	if (next == tid) { /* nobody else wants it */
		switch_to(m, cpu, 0, STATE_INTERRUPTIBLE, 35 + 1);
		m->now += 100;
		PUT(cpu, EV_WAKING, .waking = {tid, 0, WAKE_SOFTIRQ, 0, 0});
		return;
	}
	PUT(cpu, EV_WAKING,
	    .waking = {next, tid, WAKE_TASK | (size(KERNEL) ? 0 : WAKE_RELEASE), m->kernel_wait,
		       any_stack(m)});
	m->now += 200;
	want(m, cpu, tid, lock, next);
	switch_to(m, cpu, next, sleep_state(), size(KERNEL) ? 1 : 202 + 1);
	m->now += 100;
	if (size(KERNEL))
		PUT(cpu, EV_KLOCKED,
		    .klocked = {next, KLOCKS_AT + 64 * lock, KLOCK_MUTEX, tid, KLOCK_ANY, 0,
				m->now - q->since, 0, m->kernel_wait});
	PUT(cpu, EV_WAIT, .wait = {next, m->kernel_wait, any_stack(m)});
	q->since = m->now;
}

/* At first each one runs, finds its lock taken and goes to sleep. */
static void begin(struct maker *m)
{
	for (unsigned long lock = 0; lock < size(LOCKS); lock++) {
		struct queue *q = &m->queues[lock];
		unsigned cpu = (unsigned)(lock % size(CPUS));

		for (size_t i = q->tids.n; i-- > 1;) {
			switch_to(m, cpu, q->tids.v[i], STATE_PREEMPTED, 0);
			m->now += 500;
			want(m, cpu, q->tids.v[i], lock, q->tids.v[0]);
			switch_to(m, cpu, 0, sleep_state(), size(KERNEL) ? 1 : 202 + 1);
		}
		q->since = m->now;
	}
}

static void facts(struct maker *m)
{
	char text[32];

	writer_meta(m->w, "host", "growth");
	writer_meta(m->w, "kernel", "6.1.0-test");
	writer_meta(m->w, "engine", "bpf");
	writer_meta(m->w, "scope", "system");
	snprintf(text, sizeof(text), "%lu", size(CPUS));
	writer_meta(m->w, "cpus", text);
	writer_meta(m->w, "freq_hz", "999");
	writer_meta(m->w, "kernel_locks", "yes");
	writer_meta(m->w, "command", "./growth");
}

static int make(const char *path)
{
	struct writer_opts opts = {.no_sync = true};
	struct maker maker = {.st = symtab_new(), .now = T0, .seed = 1}, *m = &maker;
	int rc = writer_open(path, &opts, &m->w);

	if (rc)
		return rc;
	facts(m);
	make_modules(m);
	make_functions(m);
	make_stacks(m);
	make_threads(m);
	begin(m);
	for (unsigned long lock = 0; m->written < size(EVENTS); lock = (lock + 1) % size(LOCKS))
		hold(m, lock);
	PUT(0, EV_MARK, .mark = {MARK_END});
	writer_symbols(m->w, m->st);
	symtab_free(m->st);
	for (unsigned long lock = 0; lock < size(LOCKS); lock++)
		vec_done(&m->queues[lock].tids);
	free(m->queues);
	free(m->on);
	free(m->modules);
	free(m->stacks);
	return writer_close(m->w, END_DONE);
}

static bool take_size(const char *arg)
{
	const char *eq = strchr(arg, '=');

	for (unsigned i = 0; eq && i < AXES; i++)
		if (strlen(sizes[i].name) == (size_t)(eq - arg) &&
		    !strncmp(sizes[i].name, arg, (size_t)(eq - arg))) {
			sizes[i].n = strtoul(eq + 1, NULL, 10);
			return true;
		}
	fprintf(stderr, "make_growth: there is no '%s'\n", arg);
	return false;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: make_growth FILE [NAME=NUMBER...]\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		if (!take_size(argv[i]))
			return 2;
	if (make(argv[1])) {
		fprintf(stderr, "make_growth: %s\n", err_msg());
		return 1;
	}
	return 0;
}
