/* SPDX-License-Identifier: MIT */
/*
 * The truth: an entry for every thread that a case made, and for the main thread first.
 *
 *   wall_ns  CLOCK_MONOTONIC from the thread's first to its last statement
 *   cpu_ns   CLOCK_THREAD_CPUTIME_ID over the same time
 *   run_ns, runq_ns, slices   /proc/thread-self/schedstat over the same time: time on a CPU, time
 *            runnable but not running, and how often it was put on a CPU
 *   vol, invol   context switches, by getrusage()
 *
 * and what the case adds as facts (sleeps, round_trips, ...). The entries live in shared memory, so
 * that a case made of processes fills in the same table as one made of threads.
 *
 * The clock reads at both ends of a thread are themselves work: expect some ten microseconds of a
 * thread's life outside its truth.
 */
#ifndef WORKLOAD_TRUTH_H
#define WORKLOAD_TRUTH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FACTS_MAX 8

struct fact {
	const char *key;
	double val;
	const char *text; /* instead of val */
};

struct facts {
	struct fact v[FACTS_MAX];
	size_t n;
};

struct reading {
	uint64_t wall, cpu, run, runq, slices, vol, invol;
};

struct truth {
	pid_t pid, tid;
	char name[16];
	uint64_t start_ns;
	struct reading begin, total;
	struct facts facts;
};

/* One run; the only global state besides `sink`. */
struct run {
	struct truth *threads; /* [0] is the main thread */
	size_t n;
	struct facts facts;
	void (*more)(void); /* prints what else there is to tell: ,"key":value */
};
extern struct run run;

void fact(struct facts *f, const char *key, double val);
void fact_text(struct facts *f, const char *key, const char *text);

/* 0: there is none. */
double fact_get(const struct truth *t, const char *key);

/* name: NULL leaves the thread the one that it has. */
void truth_begin(struct truth *t, const char *name);
void truth_end(struct truth *t);

/* Makes room for n threads beside main; before any of them exists. */
struct truth *truth_room(size_t n);

/* One line of JSON. */
void run_print(const char *name);

#endif
