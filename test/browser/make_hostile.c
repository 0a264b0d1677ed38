// SPDX-License-Identifier: MIT
/*
 * Captures that a page and a terminal must survive: make_hostile KIND FILE [KEY...].
 *
 *   names    four workers behind a lock whose holder waits for the disk, three times; every name in
 *            it (threads, functions, files, modules, the lock, the host, the command) is hostile
 *   million  333,334 round trips of 64 threads: over a million intervals
 *   threads  ten thousand threads that each run once
 *   torn     `names`, killed before it was sealed
 *   lost     `names`, with a part of one CPU's record missing, a blackout, and two steps back
 *   empty    a recording of nothing
 *   escapes  `lost`, and all that has a name ends with what a terminal would obey; so do the facts
 * whose keys follow FILE
 *
 * A name that is markup calls pwned() should a browser take it for markup. Events are written as
 * they are made, in the order of time, so that a million of them need no room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/writer.h"
#include "wire/loss.h"
#include "wire/step.h"

#define T0 1000000000000ull
#define US 1000ull
#define MS 1000000ull
#define LONG 3000

enum { SERVER = 300, WORKER = 301, WORKERS = 4, HOLDER = 305, LAST = 310 };
#define APP_AT 0x555555550000ull
#define LOCK_AT 0x4040u
#define WAIT_PRIVATE 0x80u

/* The tests know these by heart: test/browser/hostile.mjs. */
static const char *const threads[] = {
	"<img src=x onerror=pwned()>",
	"<script>pwned()</script>",
	"\xe2\x80\xaegnp.evil",
	"tab\there\nline\r\x01\x1b[31m\xff\xc3\xa9",
	NULL, /* a very long one */
	"\"'><svg/onload=pwned()>&amp;&lt;",
	"",
	"__proto__",
	"constructor",
	"${pwned()}{{pwned()}}",
	"javascript:pwned()",
};

/*
 * A colour, a title of the window, C1 as a character and as a byte, a line that is written over, a
 * right- to-left override, and the ends of lines of other standards. test/attack/escapes.py.
 */
#define ESCAPES                                                                                    \
	"\x1b[31m\x1b]0;pwned\a\xc2\x9b"                                                           \
	"31m\x9b"                                                                                  \
	"7m\r\b\x7f\v\f\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xc2\x85pwned"

struct maker {
	const char *tail; /* of every name */
	struct writer *w;
	struct symtab *st;
	uint32_t app, kernel, next_offset;
	uint32_t compute, lock_user, lock_kernel, sync_user, sync_kernel;
	char *long_name;
};

/* Lives as long as the program: there are few. */
static const char *named(const struct maker *m, const char *name)
{
	size_t n = strlen(name);
	char *s;

	if (!*m->tail)
		return name;
	s = mem_alloc(n + strlen(m->tail) + 1);
	memcpy(s, name, n);
	strcpy(s + n, m->tail);
	return s;
}

static void put(struct maker *m, uint64_t us, unsigned cpu, struct event ev)
{
	ev.ts = T0 + us * US;
	ev.cpu = (uint16_t)cpu;
	writer_event(m->w, &ev);
}

#define PUT(us, cpu, kind_, ...) put(m, us, cpu, (struct event){.kind = kind_, __VA_ARGS__})
#define SWITCH(us, cpu, prev, next, state) PUT(us, cpu, EV_SWITCH, .switch_ = {prev, next, state})

/* Names leaf first, up to a NULL. */
static uint32_t stack(struct maker *m, uint32_t module, const char *const *names)
{
	struct frame f[16];
	size_t n = 0;

	for (; names[n]; n++) {
		bool known = module != m->app; /* waits are known by names of the kernel */
		struct symbol s = {known ? names[n] : named(m, names[n]),
				   named(m, "</script><b>file.c"), 7, false};

		f[n] = (struct frame){module, 0x1000 + 0x10 * m->next_offset++};
		symtab_add(m->st, module, f[n].offset, &s, 1);
	}
	return writer_stack(m->w, f, n, 1);
}
#define STACK(module, ...) stack(m, module, (const char *const[]){__VA_ARGS__, NULL})

static void stacks(struct maker *m)
{
	struct module app = {.kind = MODULE_FILE,
			     .path = named(m, "/srv/<b onclick=pwned()>%s%n</b>")};
	struct module kernel = {.kind = MODULE_KERNEL, .path = "[kernel]"};

	m->app = writer_module(m->w, &app);
	m->kernel = writer_module(m->w, &kernel);
	m->compute =
		STACK(m->app, "<script>pwned()</script>", "hot<int>::operator()(\"</script>\")",
		      "__proto__", m->long_name, "start_thread");
	m->lock_user = STACK(m->app, "pthread_mutex_lock", "commit<img src=x onerror=pwned()>",
			     "start_thread");
	m->lock_kernel = STACK(m->kernel, "__schedule", "schedule", "futex_wait_queue",
			       "__futex_wait", "futex_wait", "do_futex", "__x64_sys_futex");
	m->sync_user = STACK(m->app, "fsync", "flush\nlog;\xff", "toString", "start_thread");
	m->sync_kernel = STACK(m->kernel, "__schedule", "schedule", "io_schedule", "folio_wait_bit",
			       "ext4_sync_file", "__x64_sys_fsync");
}

static void name_threads(struct maker *m)
{
	for (uint32_t tid = SERVER; tid <= LAST; tid++) {
		const char *name = threads[tid - SERVER];
		uint32_t state = tid >= WORKER && tid <= HOLDER ? 0 : STATE_INTERRUPTIBLE;

		PUT(0, 0, EV_THREAD,
		    .thread = {tid, SERVER, state, 0, named(m, name ? name : m->long_name)});
	}
	symtab_add_data(m->st, m->app,
			&(struct data_symbol){.name = named(m, "lock<img src=x onerror=pwned()>"),
					      .begin = LOCK_AT,
					      .size = 48,
					      .whole = true});
	PUT(0, 0, EV_PLACE, .place = {SERVER, APP_AT + LOCK_AT, PLACE_MODULE, m->app, LOCK_AT, 0});
	for (uint32_t i = 0; i <= WORKERS; i++)
		SWITCH(10, i, 0, WORKER + i, 0);
}

/* For 80 ms nobody can go on; CPU i is worker i's, the last one the holder's. */
static void freeze(struct maker *m, uint64_t t)
{
	SWITCH(t, WORKERS, HOLDER, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	for (uint32_t i = 0; i < WORKERS; i++) {
		PUT(t + 1000 + i, i, EV_FUTEX,
		    .futex = {WORKER + i, APP_AT + LOCK_AT, WAIT_PRIVATE, 2, 2, 0, HOLDER, 1, 0});
		SWITCH(t + 1000 + i, i, WORKER + i, 0, STATE_INTERRUPTIBLE);
	}
	PUT(t + 80000, 0, EV_WAKING, .waking = {HOLDER, 0, WAKE_HARDIRQ, 0, 0});
	SWITCH(t + 80010, WORKERS, 0, HOLDER, 0);
	PUT(t + 80020, WORKERS, EV_WAIT, .wait = {HOLDER, m->sync_kernel, m->sync_user});
	for (uint32_t i = 0; i < WORKERS; i++) {
		uint64_t now = t + 81000 + 1000 * i;

		PUT(now, i, EV_WAKING,
		    .waking = {WORKER + i, i ? WORKER + i - 1 : HOLDER, WAKE_TASK | WAKE_RELEASE, 0,
			       0});
		SWITCH(now + 10, i, 0, WORKER + i, 0);
		PUT(now + 20, i, EV_WAIT, .wait = {WORKER + i, m->lock_kernel, m->lock_user});
	}
}

static void compute(struct maker *m, uint64_t from, uint64_t to)
{
	for (uint64_t us = from; us < to; us += 10000)
		PUT(us, 0, EV_SAMPLE, .sample = {WORKER, 0, m->compute});
}

/* Two seconds after the third freeze: a CPU's ring was full, then the probes were off. */
static void losses(struct maker *m)
{
	PUT(3000000, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 42, 200 * MS});
	PUT(3000000, 0, EV_MARK,
	    .mark = {MARK_STEP, STEP_RATE, STEP_CAUSE_SAMPLE_RATE, 50000, 100000, ""});
	PUT(3600000, EVENT_ALL_CPUS, EV_LOST, .lost = {LOSS_PAUSED, 0, 0, 400 * MS});
	PUT(3600000, 0, EV_MARK,
	    .mark = {MARK_STEP, STEP_PAUSE, STEP_CAUSE_NO_ANSWER, 400 * MS, 1500 * MS,
		     named(m, "<b>the kernel's words</b>")});
}

static void names(struct maker *m, bool lose)
{
	name_threads(m);
	for (uint64_t s = 0; s < 3; s++) {
		compute(m, s * 1000000 + 20, s * 1000000 + 500000);
		freeze(m, s * 1000000 + 500000);
		compute(m, s * 1000000 + 600000, s * 1000000 + 1000000);
	}
	if (lose)
		losses(m);
	PUT(4000000, 0, EV_MARK, .mark = {MARK_END});
}

/* Each switch ends one thread's run and begins a wait; each waking ends a wait. */
static void million(struct maker *m)
{
	uint64_t us = 1;
	uint32_t random = 1;
	char name[16];

	for (uint32_t i = 1; i <= 64; i++) {
		snprintf(name, sizeof(name), "thread-%u", i);
		PUT(0, 0, EV_THREAD, .thread = {i + SERVER, SERVER, STATE_INTERRUPTIBLE, 0, name});
	}
	for (unsigned i = 0; i < 333334; i++, us += 20 + random % 21) {
		unsigned cpu = i & 3;
		uint32_t turn = i / 4 % 16, tid = SERVER + 1 + cpu + 4 * turn;
		uint32_t before = i < 4 ? 0 : SERVER + 1 + cpu + 4 * ((turn + 15) % 16);

		random = random * 1664525 + 1013904223;
		PUT(us, cpu, EV_WAKING, .waking = {tid, before, WAKE_TASK, 0, 0});
		SWITCH(us + 1 + random / 65536 % 10, cpu, before, tid, STATE_INTERRUPTIBLE);
		if (i % 333 == 0)
			PUT(us + 15, cpu, EV_SAMPLE, .sample = {tid, 0, m->compute});
	}
	PUT(us, 0, EV_MARK, .mark = {MARK_END});
}

static void crowd(struct maker *m)
{
	char name[16];

	for (uint32_t i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "crowd-%u", i);
		PUT(0, 0, EV_THREAD,
		    .thread = {1000 + i, 1000 + i / 100 * 100, STATE_INTERRUPTIBLE, 0, name});
	}
	for (uint32_t i = 0; i < 10000; i++) {
		uint64_t us = 100 + 100 * (uint64_t)i;

		PUT(us, 0, EV_WAKING, .waking = {1000 + i, 0, WAKE_HARDIRQ, 0, 0});
		SWITCH(us + 10, 0, 0, 1000 + i, 0);
		PUT(us + 20, 0, EV_SAMPLE, .sample = {1000 + i, 0, m->compute});
		SWITCH(us + 60, 0, 1000 + i, 0, STATE_INTERRUPTIBLE);
	}
	PUT(1010000, 0, EV_MARK, .mark = {MARK_END});
}

static void facts(struct maker *m)
{
	writer_meta(m->w, "host", "</title><script>pwned()</script>");
	writer_meta(m->w, "kernel", "6.1.0-<b>test</b>");
	writer_meta(m->w, "engine", "bpf");
	writer_meta(m->w, "scope", "system");
	writer_meta(m->w, "cpus", "5");
	writer_meta(m->w, "freq_hz", "100");
	writer_meta(m->w, "kernel_locks", "yes");
	writer_meta(m->w, "command", "./app");
	writer_meta(m->w, "command", "--title=</script><script>pwned()</script>");
}

static int make(const char *kind, const char *path, char **keys)
{
	bool escapes = !strcmp(kind, "escapes");
	struct writer_opts opts = {.no_sync = true};
	struct maker maker = {.st = symtab_new(),
			      .long_name = mem_alloc(LONG + 1),
			      .tail = escapes ? ESCAPES : ""},
		     *m = &maker;
	bool torn = !strcmp(kind, "torn");
	int rc = writer_open(path, &opts, &m->w);

	memset(m->long_name, 'W', LONG);
	m->long_name[LONG] = 0;
	if (!rc) {
		for (; *keys; keys++)
			writer_meta(m->w, *keys, named(m, "pwned"));
		facts(m);
		stacks(m);
		PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
		if (!strcmp(kind, "million"))
			million(m);
		else if (!strcmp(kind, "threads"))
			crowd(m);
		else if (!strcmp(kind, "empty"))
			PUT(1000, 0, EV_MARK, .mark = {MARK_END});
		else
			names(m, escapes || !strcmp(kind, "lost"));
		if (torn) {
			rc = writer_flush(m->w, true);
			writer_abandon(m->w);
		} else {
			writer_symbols(m->w, m->st);
			rc = writer_close(m->w, END_DONE);
		}
	}
	symtab_free(m->st);
	free(m->long_name);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: make_hostile KIND FILE [KEY...]\n");
		return 2;
	}
	if (make(argv[1], argv[2], argv + 3)) {
		fprintf(stderr, "make_hostile: %s\n", err_msg());
		return 1;
	}
	return 0;
}
