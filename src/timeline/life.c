// SPDX-License-Identifier: MIT
/*
 * The intervals of one thread: opened, closed, held back, clipped and handed out.
 *
 * Invariant: the intervals handed out so far, the held ones and the open one tile [start, now]
 * without gap or overlap. Time never goes back: a moment before the open interval's start counts as
 * its start. An interval without length is not handed out.
 *
 * A wait is held back until the thread is switched out again, because its stacks are recorded only
 * after it has come back; the RUNNABLE interval behind it waits in line, so that a sink sees each
 * thread's intervals in order.
 */
#include "timeline/machine.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static void hand_out(struct timeline *t, const struct interval *iv, struct thread *th)
{
	uint64_t ns = iv->end - iv->start;

	th->total[iv->kind] += ns;
	if (iv->kind == INTERVAL_RUNNABLE && (iv->state & STATE_THROTTLED))
		th->waits[REASON_THROTTLED] += ns;
	if (iv->kind == INTERVAL_WAITING || !t->did)
		t->sink(t->sink_arg, iv);
	else if (th->watched && !iv->state)
		t->did(t->sink_arg, th, iv->kind, iv->start, iv->end);
	else if (th->watched)
		t->sink(t->sink_arg, iv);
}

/*
 * Time outside of the window is not handed out. But waits there are still evidence: a thread's
 * reasons, and whether it waits for work, do not depend on the window.
 */
static void hand_out_clipped(struct timeline *t, struct interval *iv, struct thread *th)
{
	uint64_t start = iv->start > t->from ? iv->start : t->from;
	uint64_t end = iv->end < t->to ? iv->end : t->to;
	uint64_t inside = start < end ? end - start : 0;

	if (t->outside && iv->kind == INTERVAL_WAITING && inside < iv->end - iv->start)
		t->outside(t->sink_arg, iv, inside);
	if (inside && iv->kind != INTERVAL_RUNNING) {
		th->cut_before = start > iv->start ? start - iv->start : th->cut_before;
		th->cut_after = iv->end > end ? iv->end - end : th->cut_after;
	}
	iv->start = start;
	iv->end = end;
	if (inside)
		hand_out(t, iv, th);
}

/*
 * Clips to the window and cuts out what lies in a loss span. A thread that ran on a CPU without
 * loss did run; every other kind is unproven while any CPU's records are missing.
 */
static void emit_cut(struct timeline *t, const struct interval *whole)
{
	struct thread *th = (struct thread *)whole->thread;
	const struct span_list *spans =
		whole->kind == INTERVAL_RUNNING ? spans_of(&t->spans, whole->cpu) : &t->spans.any;
	uint64_t at = later(whole->start, t->begin), end = whole->end;

	while (at < end) {
		const struct span *s = whole->kind == INTERVAL_LOST ? NULL : spans_next(spans, at);
		struct interval piece = *whole;

		piece.start = at;
		piece.end = s && s->start < end ? (s->start > at ? s->start : at) : end;
		piece.more = whole->kind == INTERVAL_WAITING && s && s->end < end && s->end < t->to;
		at = piece.end;
		if (piece.start < piece.end)
			hand_out_clipped(t, &piece, th);
		if (at < end) {
			uint64_t to = s->end < end ? s->end : end;

			piece = (struct interval){
				.start = at, .end = to, .thread = th, .kind = INTERVAL_LOST};
			hand_out_clipped(t, &piece, th);
			at = to;
		}
	}
}

/* The common case: nothing was lost, and the window does not cut it. */
static inline bool uncut(const struct timeline *t, uint64_t start, uint64_t end)
{
	return !t->spans.any.n && start >= t->from && end <= t->to;
}

static inline void life_emit(struct timeline *t, const struct interval *whole)
{
	if (uncut(t, whole->start, whole->end))
		hand_out(t, whole, (struct thread *)whole->thread);
	else
		emit_cut(t, whole);
}

static __attribute__((noinline)) void flush(struct timeline *t, struct life *l)
{
	for (unsigned i = 0; i < l->held_n; i++)
		life_emit(t, &l->held[i]);
	l->held_n = 0;
}

/* Field by field: an interval is large, and this is done for every switch and waking. */
static void life_hold(struct thread *th, uint64_t end, bool open)
{
	struct life *l = th->life;
	struct interval *iv = &l->held[l->held_n++];

	iv->start = l->since;
	iv->end = end;
	iv->thread = th;
	iv->kind = l->phase;
	iv->kstack = l->kstack;
	iv->ustack = l->ustack;
	iv->open = open;
	iv->state = l->state;
	if (l->phase != INTERVAL_WAITING)
		return;
	iv->call = l->call;
	iv->lock = l->lock;
	iv->file = l->file;
	iv->waker = l->waker.known ? l->waker : (struct waker){0};
	l->held_begun = l->begun;
}

static __attribute__((noinline)) void emit_open(struct timeline *t, struct thread *th, uint64_t end,
						bool open)
{
	struct life *l = th->life;

	life_emit(t, &(struct interval){.start = l->since,
					.end = end,
					.thread = th,
					.kind = l->phase,
					.cpu = l->phase == INTERVAL_RUNNING ? l->cpu : 0,
					.state = l->state,
					.open = open});
}

static inline void hand_out_open(struct timeline *t, struct thread *th, uint64_t end, bool open)
{
	struct life *l = th->life;

	if (t->did && !l->state && uncut(t, l->since, end)) {
		th->total[l->phase] += end - l->since;
		if (th->watched)
			t->did(t->sink_arg, th, l->phase, l->since, end);
		return;
	}
	emit_open(t, th, end, open);
}

/* Closes the open interval; the caller opens the next one. Returns the moment, never before it. */
static inline __attribute__((always_inline)) uint64_t
close_open(struct timeline *t, struct thread *th, uint64_t ts, bool open)
{
	struct life *l = th->life;

	if (ts <= l->since)
		return l->since;
	l->emitted = true;
	if (l->phase == INTERVAL_RUNNABLE && l->held_n == 1) {
		life_hold(th, ts, open);
		return ts;
	}
	if (l->held_n)
		flush(t, l);
	if (l->phase == INTERVAL_WAITING)
		life_hold(th, ts, open);
	else
		hand_out_open(t, th, ts, open);
	return ts;
}

/* No event said what the thread did: takes its state from /proc at the beginning. */
static void life_settle(struct thread *th)
{
	struct life *l = th->life;

	if (l->phase != PHASE_UNKNOWN)
		return;
	l->state = th->state;
	l->phase = l->state ? INTERVAL_WAITING : INTERVAL_RUNNABLE;
}

void life_enter(struct timeline *t, struct thread *th, unsigned phase, uint64_t ts)
{
	struct life *l = th->life;

	life_settle(th);
	l->since = close_open(t, th, ts, false);
	l->phase = phase;
	l->state = l->call = l->lock = l->kstack = l->ustack = l->file = 0;
	l->raced = l->begun = false;
	l->waker.known = false;
}

void life_end(struct timeline *t, struct thread *th, uint64_t ts, bool open)
{
	struct life *l = th->life;

	life_settle(th);
	th->end = close_open(t, th, ts, open);
	flush(t, l);
	if (l->phase == INTERVAL_RUNNING && l->cpu < t->cpus.n && t->cpus.v[l->cpu].cur == th)
		t->cpus.v[l->cpu].cur = NULL;
	free(l);
	th->life = NULL;
}

void life_leave(struct timeline *t, struct thread *th, uint64_t ts, bool before)
{
	if (before && th->life->phase == PHASE_UNKNOWN)
		ts = th->life->since;
	life_end(t, th, ts, true);
}

struct thread *life_begin(struct timeline *t, uint32_t tid, uint64_t ts, unsigned phase)
{
	struct thread *th = mem_zalloc(sizeof(*th));

	th->index = (uint32_t)t->threads.n;
	th->tid = tid;
	th->name = mem_strdup("?");
	th->start = ts;
	th->life = mem_zalloc(sizeof(*th->life));
	th->life->since = ts;
	th->life->phase = phase;
	vec_push(&t->threads, th);
	timeline_set_thread(t, tid, t->threads.n - 1);
	return th;
}

/*
 * The thread has been on one CPU since then, and yet a wait is held: the wait was only assumed,
 * from a waking that came while the thread ran. The waking stays pending. A wait that was seen to
 * begin is real, though: then the switch back in is missing.
 */
bool life_take_back(struct thread *th, uint64_t since)
{
	struct life *l = th->life;

	if (!l->held_n || l->held[0].start < since || l->held_begun)
		return false;
	l->waker = l->held[0].waker;
	l->since = l->held[0].start;
	l->held_n = 0;
	return true;
}

void life_wait_stacks(struct thread *th, uint32_t kstack, uint32_t ustack)
{
	struct life *l = th->life;

	if (!l->held_n || l->held[0].kind != INTERVAL_WAITING)
		return;
	if (kstack)
		l->held[0].kstack = kstack;
	if (ustack)
		l->held[0].ustack = ustack;
}

uint32_t life_announced(struct life *l)
{
	uint32_t lock = l->klock ? l->klock : l->futex;

	l->klock = l->futex = 0;
	return l->announced >= l->last_in ? lock : 0;
}

/* If records say that the thread does not wait, they win. */
void life_asleep(struct thread *th, const struct ev_asleep *e, uint64_t ts)
{
	struct life *l = th->life;

	l->asleep_at = ts;
	if (l->phase == PHASE_UNKNOWN) {
		l->phase = INTERVAL_WAITING;
		l->state = e->state;
	}
	if (l->phase != INTERVAL_WAITING)
		return;
	l->begun = true;
	l->call = e->call;
	l->kstack = e->kstack;
	l->ustack = e->ustack;
	if (l->klock | l->futex)
		l->lock = life_announced(l);
}

void thread_rename(struct thread *th, const char *name)
{
	if (!name || !*name || !strcmp(th->name, name))
		return;
	if (!strcmp(th->name, "?"))
		free(th->name);
	else if (!th->first_name)
		th->first_name = th->name;
	else
		free(th->name);
	th->name = mem_strdup(name);
}

/* The kernel keeps so much of a thread's name. */
enum { NAME_KEPT = 15 };

/*
 * "req" matches req, req-1 and req2, but not request; "req-1" does not match req-10: the rest must
 * be a number or begin with a separator. A spec longer than the kernel's limit matches all names
 * that begin so.
 */
static bool name_matches(const char *name, const char *spec)
{
	size_t n = strlen(spec);
	unsigned char next;

	if (strpbrk(spec, "*?["))
		return !fnmatch(spec, name, 0);
	if (n > NAME_KEPT && strlen(name) == NAME_KEPT)
		return !strncmp(name, spec, NAME_KEPT);
	if (!n || strncmp(name, spec, n))
		return false;
	next = (unsigned char)name[n];
	return isdigit(next) ? !isdigit((unsigned char)spec[n - 1]) : !isalpha(next);
}

bool thread_matches(const struct thread *t, const char *spec)
{
	char *end;
	unsigned long tid = strtoul(spec, &end, 10);

	if (*spec >= '0' && *spec <= '9' && !*end && t->tid == tid)
		return true;
	return name_matches(t->name, spec) || (t->first_name && name_matches(t->first_name, spec));
}

/* A thread that no THREAD or FORK introduced: that event was lost. */
struct thread *life_make(struct timeline *t, uint32_t tid, uint64_t ts, unsigned phase)
{
	struct thread *before = timeline_thread(t, tid);

	return life_begin(t, tid, before ? later(before->end, ts) : ts, phase);
}

bool life_was_left(const struct timeline *t, uint32_t tid)
{
	struct thread *th = timeline_thread(t, tid);

	return th && !th->life && !th->exit_ts;
}

bool life_has_ended(const struct timeline *t, uint32_t tid)
{
	struct thread *th = timeline_thread(t, tid);

	return th && !th->life;
}
