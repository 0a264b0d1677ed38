/* SPDX-License-Identifier: MIT */
/*
 * Events in, intervals out: the state machine at the heart of the model.
 *
 * Every nanosecond of a thread's observed life is in exactly one interval. An interval is handed to
 * the sink as soon as nothing can change it any more; what is kept is the open interval of each
 * thread, so memory grows with threads and not with events.
 *
 * Loss spans must be added before the first event: a LOST event stands at the end of the time that
 * it is about, when the intervals of that time have long gone to the sink.
 */
#ifndef THAW_TIMELINE_TIMELINE_H
#define THAW_TIMELINE_TIMELINE_H

#include "base/map.h"
#include "base/vec.h"
#include "timeline/interval.h"
#include "timeline/spans.h"
#include "timeline/thread.h"
#include "wire/event.h"

struct cpu {
	uint64_t since;	    /* the last switch or loss: what it did is known since then */
	uint64_t last;	    /* switch or sample there */
	struct thread *cur; /* NULL: idle, a thread that is not looked at, or not known */
	bool known;
	bool idle;
	bool seen;
	uint64_t busy_ns, idle_ns;
};

/* A thread went to sleep on a lock and was woken in the same moment: a wait without length. */
typedef void (*brief_fn)(void *arg, const struct thread *th, uint32_t lock, uint64_t ts);

/* A wait of which only `inside` nanoseconds lie in the window. */
typedef void (*outside_fn)(void *arg, const struct interval *iv, uint64_t inside);

/* What a watched thread did, other than waiting. */
typedef void (*did_fn)(void *arg, const struct thread *th, enum interval_kind kind, uint64_t start,
		       uint64_t end);

/* A thread that seemed to run in that time did not: a switch out was not recorded. */
typedef void (*not_running_fn)(void *arg, uint64_t from, uint64_t to);

struct timeline {
	/* tid -> index + 1 into threads, of the latest that had it */
	VEC(uint32_t) low_tids;
	struct map high_tids; /* tids that no kernel gives out, but a hostile file may hold */
	VEC(struct thread *) threads;
	VEC(struct cpu) cpus;
	struct spans spans;
	size_t next_edge;
	uint64_t begin, end;		 /* of the recording; end 0: not yet known */
	uint64_t now;			 /* the latest timestamp so far */
	uint64_t window_from, window_to; /* since begin; set by the caller; to 0: no end */
	uint64_t from, to;   /* the same, absolute: only what lies in it is handed out */
	bool begun;	     /* begin is known for good */
	bool steady;	     /* no edge, start or end is near: events take the fast path */
	uint64_t every_edge; /* the same, on all CPUs at once */
	uint64_t last_edge;  /* the last moment at which a loss began or ended */
	uint64_t late;	     /* events that came later than their time */
	uint64_t odd;	     /* events that contradict what is known: something is missing */
	interval_fn sink;
	void *sink_arg;
	outside_fn outside;	    /* NULL: nobody asks */
	brief_fn brief;		    /* NULL: nobody asks */
	not_running_fn not_running; /* the same */
	/*
	 * Not NULL: the sink gets only waits and throttled threads. Other intervals are added up,
	 * and those of watched threads go here.
	 */
	did_fn did;
	/* Not 0: there are no switches, and a sample stands for so much time on a CPU. */
	uint64_t sample_ns;
};

void timeline_init(struct timeline *t, interval_fn sink, void *arg);
void timeline_done(struct timeline *t);

/*
 * The start of the recording, if known beforehand; otherwise its mark says so, or the first event.
 */
void timeline_begin(struct timeline *t, uint64_t ts);
/* The slow path, where the recording or a loss may begin or end, and the rest. */
void timeline_unsteady_event(struct timeline *t, const struct event *ev);
void timeline_dispatch(struct timeline *t, const struct event *ev, uint64_t ts);
static inline void timeline_event(struct timeline *t, const struct event *ev)
{
	if (__builtin_expect(!t->steady || ev->ts < t->now || ev->kind == EV_MARK, 0)) {
		timeline_unsteady_event(t, ev);
		return;
	}
	t->now = ev->ts;
	timeline_dispatch(t, ev, ev->ts);
}
/* Closes what is open. After this only the results may be read. */
void timeline_finish(struct timeline *t);

void timeline_set_thread(struct timeline *t, uint32_t tid, size_t index);
struct thread *timeline_high_thread(const struct timeline *t, uint32_t tid);

/*
 * How much of the wait, or wait for a CPU, around [start, end) lies before and after the window.
 * Only the part inside is counted, but the whole length decides whether a wait is long.
 */
static inline uint64_t timeline_cut_before(const struct timeline *t, const struct thread *th,
					   uint64_t start)
{
	return start == t->from ? th->cut_before : 0;
}

static inline uint64_t timeline_cut_after(const struct timeline *t, const struct thread *th,
					  uint64_t end)
{
	return end == t->to ? th->cut_after : 0;
}

static inline uint64_t timeline_whole_ns(const struct timeline *t, const struct interval *iv)
{
	return iv->end - iv->start + timeline_cut_before(t, iv->thread, iv->start) +
	       timeline_cut_after(t, iv->thread, iv->end);
}

/* The thread that has this tid now, or had it last; NULL. */
static inline struct thread *timeline_thread(const struct timeline *t, uint32_t tid)
{
	if (tid >= t->low_tids.n)
		return timeline_high_thread(t, tid);
	return t->low_tids.v[tid] ? t->threads.v[t->low_tids.v[tid] - 1] : NULL;
}

#endif
