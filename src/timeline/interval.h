/* SPDX-License-Identifier: MIT */
/* What a thread did between two moments. The intervals of a thread tile its observed life. */
#ifndef THAW_TIMELINE_INTERVAL_H
#define THAW_TIMELINE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

enum interval_kind {
	INTERVAL_RUNNING,  /* on a CPU */
	INTERVAL_RUNNABLE, /* could run, but no CPU was given to it */
	INTERVAL_WAITING,  /* for something */
	INTERVAL_LOST,	   /* not known: records are missing */
	INTERVAL_KINDS,
};

/* Who ended a wait. */
struct waker {
	uint64_t ts;
	const struct thread *thread; /* NULL: a thread that was not recorded */
	uint32_t tid;
	uint32_t kstack, ustack; /* where it did so, if taken */
	uint8_t ctx;		 /* enum wake_ctx; only WAKE_TASK may be blamed on `tid` */
	bool release;		 /* it was in a call on the same futex */
	bool known;		 /* a waking was recorded */
};

struct interval {
	uint64_t start, end;
	const struct thread *thread;
	enum interval_kind kind;
	uint32_t cpu;		 /* RUNNING */
	uint32_t state;		 /* WAITING: enum task_state_bit; RUNNABLE: THROTTLED or 0 */
	uint32_t call;		 /* WAITING: see wire/state.h */
	uint32_t lock;		 /* WAITING: on which lock of the model, + 1; 0: none */
	uint32_t file;		 /* WAITING: for which file of the model, + 1; 0: not known */
	uint32_t row;		 /* WAITING: of the tally; set by the model */
	uint32_t kstack, ustack; /* WAITING: of the thread itself, where taken */
	struct waker waker;	 /* WAITING */
	bool more;		 /* WAITING: the same wait goes on after a lost span */
	bool open;		 /* it had not ended when observation did */
};

typedef void (*interval_fn)(void *arg, const struct interval *iv);

#endif
