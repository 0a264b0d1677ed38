/* SPDX-License-Identifier: MIT */
/* The first sentences of a report; see lead.c. */
#ifndef THAW_REPORT_LEAD_H
#define THAW_REPORT_LEAD_H

#include "base/buf.h"
#include "model/summary/summary.h"

/* The sentence or two about what is wrong; nothing if there is nothing to say. */
void lead_sentence(const struct summary *s, struct buf *b);

/* What the lead is about: where a reader looks next. */
struct lead_about {
	const char *what; /* "deadlock", "lock", or as lead_cause_about(); NULL: there is no lead */
	bool wait;	  /* waiting; else what ran */
	size_t lock;	  /* into summary.locks; SIZE_MAX: none */
};
void lead_about(const struct summary *s, struct lead_about *ret);

/* lead_lock.c: the lock behind which threads waited, its holder, and what that one did. */
void lead_lock(const struct summary *s, struct buf *b);

/* lead_cause.c: without such a lock, what else took the time; two sentences at most. */
void lead_cause(const struct summary *s, struct buf *b);

/* lead_cause.c: what its first sentence is about: "reason" (what threads waited for), "function"
 * (where CPU time went), "stuck" (waits that did not end), "pool" (threads that look idle, and who
 * wakes them), "idle"; NULL: it says nothing. */
const char *lead_cause_about(const struct summary *s);

/* lead_cause.c: is its first sentence about waiting? */
bool lead_cause_waits(const struct summary *s);

/* lead_stuck.c: the threads of a deadlock; false: there is none. */
bool lead_deadlock(const struct summary *s, struct buf *b);
/*
 * The same: a thread that waits for a lock of which nobody knows who has it, and others behind it
 * until the end. Nothing notes who reads under a lock, so a deadlock with a reader looks so. b may
 * be NULL; *ret_lock as in struct stuck_wait.
 */
bool lead_standstill(const struct summary *s, struct buf *b, size_t *ret_lock);
/* The same: what most threads were stuck in that are not known to be idle. */
bool lead_open_question(const struct summary *s, struct buf *b);
/* The same: threads stuck on a file; appends to b, which may be NULL. */
bool lead_stuck_file(const struct summary *s, struct buf *b);
/*
 * The same: ", in flock of /run/lock (tmpfs)": the file for which the first victim still waits of
 * whom that is known; nothing if there is none.
 */
void lead_file_of(const struct summary *s, const struct finding *f, struct buf *b);
/* The same: must another thread end this wait, or is it not known who would? */
bool lead_is_open(const struct stuck_wait *w);
/* The same: after "has been ", "waiting for a mutex in charge, since before the recording began".
 */
void lead_say_wait(const struct summary *s, const struct stuck_wait *w, struct buf *b);

/* lead_question.c: waits that may be idleness, and may be none; false: there are none that last.
 * b may be NULL. */
bool lead_question(const struct summary *s, struct buf *b);
/* The same: was nearly all waiting known to be for work, for time or for some event? */
bool lead_all_known(const struct summary *s);
/* The same: ", client for the network in fetch": the longest wait that is not known to be so;
 * nothing if none stands out. */
void lead_longest_unknown(const struct summary *s, struct buf *b);

/*
 * lead_pool.c: threads that count as idle only because of how they wait, their waker, and what the
 * waker does; false: they are not most of the waiting, or no thread wakes them. b may be NULL.
 */
bool lead_pool(const struct summary *s, struct buf *b);

/* lead_wakers.c: the thread whose wakes ended most of this waiting time; NULL: none is known. */
typedef bool lead_waits_fn(const struct summary *s, const void *arg, const struct wait_row *r);
const struct thread *lead_waker(const struct summary *s, lead_waits_fn *among, const void *arg);
/* The same: ", mostly woken by gzip, which was mostly running", and who wakes that one. */
void lead_say_wakers(const struct summary *s, const struct thread *waker, struct buf *b);
/* The same, for the waits of the finding. */
void lead_finding_wakers(const struct summary *s, struct buf *b);

/*
 * lead_stuck.c: "Deadlock of netting, archiver and indexer; 6 more threads stand behind them": of
 * the circle with this number.
 */
void lead_circle(const struct summary *s, uint32_t circle, struct buf *b);

/* lead_stall.c: "4 threads stood behind commit_lock, while flusher was ...". */
void lead_stall(const struct summary *s, const struct stall *st, struct buf *b);

/*
 * lead_culprit.c: "checkpointer (812) in flush_log held commit_lock, waiting for the disk. 4 ..."
 */
void lead_culprit(const struct summary *s, const struct blame_sum *r, struct buf *b);

/* The threads that the finding is about: "worker-1", "4 worker threads". */
void lead_group(struct buf *b, const struct finding *f);
/* The same of n threads that the finding does not know, so many of them named like this one:
 * "worker-1", "4 worker threads", "4 threads such as worker-1". */
void lead_say_some(struct buf *b, const struct thread *one, size_t n, size_t alike);
/*
 * What a holder did: BEFORE and "waiting for the disk"; of several things, each with its share,
 * ", 51% of that time waiting for the disk, 40% running"; nothing where it is not known.
 */
void lead_did(struct buf *b, const char *before, const struct doings *d);
/*
 * " in flush_log (log.c:120)", as far as it is known: the line is that of the function's frame on
 * these stacks.
 */
void lead_in(struct buf *b, const struct summary *s, uint32_t function, uint32_t kstack,
	     uint32_t ustack);

#endif
