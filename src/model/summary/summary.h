/* SPDX-License-Identifier: MIT */
/*
 * A finished model, sorted for reading: threads, functions, places where threads waited. This is
 * all that a view needs; every order is total, so that equal captures give equal reports.
 */
#ifndef THAW_MODEL_SUMMARY_H
#define THAW_MODEL_SUMMARY_H

#include "model/summary/blame.h"
#include "model/charge/crowd.h"
#include "model/summary/finding.h"
#include "model/lock/sum.h"
#include "model/model.h"
#include "model/summary/stalls.h"
#include "model/summary/stuck.h"

enum thread_order {
	ORDER_TELLING, /* the busiest and those held up first; see summary.c */
	ORDER_RUNNING,
	ORDER_RUNNABLE,
	ORDER_WAITING,
	ORDER_WALL,
	ORDER_NAME,
};

struct function_count {
	uint32_t function;
	uint64_t self, total;
};

struct waker_sum {
	const struct thread *thread; /* NULL: an interrupt, or a thread that was not recorded */
	uint32_t tid;
	bool interrupt;
	uint32_t kstack, ustack;
	uint64_t total, count;
};

/* Waits for one reason in one place: the same functions, whatever the addresses in them. */
struct wait_place {
	enum reason reason;
	enum evidence evidence; /* of the one that waited longest in total */
	enum reason in; /* IDLE: what it looked like before that was decided (poll, condvar) */
	size_t lock;	/* into summary.locks, if it is one and the same; else SIZE_MAX */
	uint32_t kstack, ustack;	/* of the one that waited longest in total */
	const struct waited_file *file; /* of one of them, if known */
	bool more_files;		/* others waited for others */
	bool own;			/* what waited was thaw */
	uint64_t total, count, open;
	uint64_t max, max_start;
	const struct thread *max_thread;
	uint32_t threads;	      /* how many waited here */
	VEC(struct waker_sum) wakers; /* by total, the largest first */
	uint64_t sort_total;	      /* summary.c's */
};

struct summary {
	struct model *model;
	VEC(const struct thread *) threads; /* in the order asked for; those that ever ran first */
	size_t active;			    /* how many of them did more than wait */
	uint64_t total[INTERVAL_KINDS];
	uint64_t samples;
	VEC(struct function_count) functions; /* by self, then total */
	VEC(struct wait_place) waits;	      /* by total, idle ones last; with a stack only */
	struct wait_place placeless[REASONS]; /* all others, by reason */
	uint64_t reasons[REASONS];  /* of the threads' time: waiting, and being runnable */
	VEC(struct lock_sum) locks; /* by total; those that are not contended last */
	size_t contended;	    /* how many of them are contention */
	bool kernel_locks;	    /* the capture has the kernel's record of them; else inferred */
	struct blame blame;
	struct stalls stalls;
	struct finding finding;
	struct stuck stuck;
	struct crowd_sums crowds; /* while it is made */
	size_t *lock_at;	  /* by lock of the model: place in locks + 1; 0: not there */
};

struct summary_opts {
	const char *thread; /* NULL: all; else tid or name */
	enum thread_order order;
};

/* m must be finished, and outlive the summary. -ENOENT with words if no thread matches. */
int summary_new(struct model *m, const struct summary_opts *opts, struct summary **ret);
void summary_free(struct summary *s);

/* By its words: "telling", "running", ... Returns -EINVAL with the list of them. */
int thread_order_parse(const char *word, enum thread_order *ret);
/* The i-th word, NULL after the last. */
const char *thread_order_word(size_t i);

/* The reason for which a thread waited longest; REASON_UNKNOWN if it never waited. */
enum reason thread_main_reason(const struct thread *t);

#endif
