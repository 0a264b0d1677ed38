/* SPDX-License-Identifier: MIT */
/*
 * The cases of waits for a known reason. Most are pairs: one waits in a known call, its feeder,
 * which sleeps in between, ends the wait. The truth and its log are those of the locks
 * (lib/locklog.h), with the reason in the place of a lock's kind.
 */
#ifndef WORKLOAD_WAITS_H
#define WORKLOAD_WAITS_H

#include "lib/base.h"
#include "lib/cases.h"
#include "lib/locklog.h"

struct pair {
	struct actor *waiter, *feeder;
	struct lock *reason;
	int in, out, extra;
	_Atomic pid_t waiter_tid;
	atomic_bool over;
};

struct pair_case {
	const char *name, *reason;
	void (*open)(struct pair *p);
	/* Once, with wait_begin() and wait_end() around the call; false: it is over. */
	bool (*wait)(struct pair *p);
	void (*feed)(struct pair *p);
	void (*end)(struct pair *p);
};

void pairs_run(const struct args *a, const struct pair_case *cases, size_t n);

/* Waits of one thread, or of a few that have nothing to do with each other. */
struct lone {
	struct actor *actor;
	struct lock *reason;
	void (*work)(struct lone *l);
	int fd;
};
struct lone_case {
	const char *name, *reason;
	void (*work)(struct lone *l); /* until actor->end_ns */
	int (*open)(void);	      /* what it works on, made before it begins; NULL: nothing */
};
void lone_run(const struct args *a, const struct lone_case *cases, size_t n);

void case_pipe(const struct args *a);
void case_poll(const struct args *a);
void case_network(const struct args *a);
void case_signal(const struct args *a);
void case_sleep(const struct args *a);
void case_child(const struct args *a);
void case_stopped(const struct args *a);
void case_throttled(const struct args *a);
void case_disk(const struct args *a);
void case_page_fault(const struct args *a);

#endif
