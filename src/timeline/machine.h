/* SPDX-License-Identifier: MIT */
/* What the files of the state machine share: timeline.c, sched.c, tasks.c, oncpu.c, life.c. */
#ifndef THAW_TIMELINE_MACHINE_H
#define THAW_TIMELINE_MACHINE_H

#include "timeline/timeline.h"

/* A thread whose state is not known yet: THREAD told of it, and nothing has happened since. */
#define PHASE_UNKNOWN INTERVAL_KINDS

/* What is only needed as long as a thread is observed. */
struct life {
	uint64_t since; /* of the open interval */
	unsigned phase; /* enum interval_kind or PHASE_UNKNOWN */
	uint32_t cpu;
	uint32_t state;
	uint32_t call, lock;	 /* of the open wait */
	uint32_t kstack, ustack; /* the same, if taken while it lasted */
	uint32_t file;		 /* + 1: the same */
	uint32_t futex, klock;	 /* + 1: announced; the wait on it begins with the next switch */
	uint64_t announced;	 /* when */
	uint64_t last_in;	 /* last switched in */
	uint64_t asleep_at;	 /* the last time ASLEEP said so */
	struct waker waker; /* if known: of the open wait; or one that came while it still ran */
	bool raced; /* the open wait began after its waking: without another one it is no wait */
	bool begun, held_begun; /* the open wait, and the held one, was seen to begin */
	bool emitted;		/* something has gone to the sink: start is fixed */
	unsigned held_n;
	struct interval held[2]; /* a wait whose stacks may still come, and the RUNNABLE after it */
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* life.c: the intervals of one thread. */

struct thread *life_begin(struct timeline *t, uint32_t tid, uint64_t ts, unsigned phase);
/* Closes the open interval at ts and opens the next. */
void life_enter(struct timeline *t, struct thread *th, unsigned phase, uint64_t ts);
void life_end(struct timeline *t, struct thread *th, uint64_t ts, bool open);
/* Ends the observation; `before`: a thread without any event was never observed. */
void life_leave(struct timeline *t, struct thread *th, uint64_t ts, bool before);
/* Forgets a held wait that began at or after `since`: it turned out to be none. Says whether. */
bool life_take_back(struct thread *th, uint64_t since);
void life_wait_stacks(struct thread *th, uint32_t kstack, uint32_t ustack);
/* The recorder found the thread asleep. */
void life_asleep(struct thread *th, const struct ev_asleep *e, uint64_t ts);
/* Takes the lock that the thread announced to sleep on since it was switched in. */
uint32_t life_announced(struct life *l);
void thread_rename(struct thread *th, const char *name);

/* The thread with that tid, if it is observed now. */
static inline struct thread *life_alive(const struct timeline *t, uint32_t tid)
{
	struct thread *th = tid ? timeline_thread(t, tid) : NULL;

	return th && th->life ? th : NULL;
}

struct thread *life_make(struct timeline *t, uint32_t tid, uint64_t ts, unsigned phase);
bool life_was_left(const struct timeline *t, uint32_t tid);
bool life_has_ended(const struct timeline *t, uint32_t tid);

/* oncpu.c: who is on which CPU. */

struct cpu *cpu_new(struct timeline *t, uint32_t cpu);
static inline struct cpu *cpu_at(struct timeline *t, uint32_t cpu)
{
	return cpu < t->cpus.n ? &t->cpus.v[cpu] : cpu_new(t, cpu);
}

void cpu_take(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts);

static inline void cpu_leave(struct timeline *t, struct thread *th)
{
	struct life *l = th->life;
	struct cpu *c = l->phase == INTERVAL_RUNNING ? cpu_at(t, l->cpu) : NULL;

	if (c && c->cur == th) {
		c->cur = NULL;
		c->known = false;
	}
}

void cpu_lose(struct timeline *t, struct cpu *c, uint64_t ts);

/* Another thread runs where c->cur should: c->cur left at an unknown moment. */
static inline void cpu_displace(struct timeline *t, struct cpu *c, const struct thread *by,
				uint64_t ts)
{
	if (c->cur && c->cur != by)
		cpu_lose(t, c, ts);
}

void cpu_found(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts);

/* The thread runs on that CPU at ts. Nearly always that is known already. */
static inline void cpu_proves(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts)
{
	const struct life *l = th->life;

	if (l->phase != INTERVAL_RUNNING || l->cpu != cpu || cpu_at(t, cpu)->cur != th)
		cpu_found(t, th, cpu, ts);
}

/*
 * The same from an event that is not a switch. It may come from the moment between the record of a
 * switch and the switch itself, so it counts only where no switch says otherwise.
 */
static inline void cpu_hints(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts)
{
	if (th && th->life && !cpu_at(t, cpu)->known)
		cpu_proves(t, th, cpu, ts);
}

struct thread *cpu_new_thread(struct timeline *t, uint32_t tid, uint32_t cpu, uint64_t ts);

/* Finds or makes the thread of an event on its own CPU. */
static inline struct thread *cpu_thread(struct timeline *t, uint32_t tid, uint32_t cpu, uint64_t ts)
{
	struct thread *th = life_alive(t, tid);

	if (!th)
		return cpu_new_thread(t, tid, cpu, ts);
	cpu_hints(t, th, cpu, ts);
	return th;
}

void cpu_lost(struct timeline *t, struct cpu *c, uint64_t ts);
void cpu_account(struct timeline *t, struct cpu *c, bool idle, uint64_t ts);

/* sched.c and tasks.c: events. */

void sched_switch(struct timeline *t, uint32_t cpu, const struct ev_switch_ *e, uint64_t ts);
void sched_waking(struct timeline *t, uint32_t cpu, const struct ev_waking *e, uint64_t ts);
void task_thread(struct timeline *t, const struct ev_thread *e, uint64_t ts);
void task_fork(struct timeline *t, uint32_t cpu, const struct ev_fork *e, uint64_t ts);
void task_exec(struct timeline *t, uint32_t cpu, const struct ev_exec *e, uint64_t ts);
void task_exit(struct timeline *t, uint32_t cpu, const struct ev_exit *e, uint64_t ts);

/* sampled.c: the same without switches. */

/* False: it is not about what threads do. */
bool sampled_event(struct timeline *t, const struct event *ev, uint64_t ts);
void sampled_finish(struct timeline *t);

#endif
