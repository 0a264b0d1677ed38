/* SPDX-License-Identifier: MIT */
/* Clocks, and ways to spend time: what every program with a known truth is made of. */
#ifndef WORKLOAD_BASE_H
#define WORKLOAD_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A function that must be found in stacks under exactly its own name. */
#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

/* Says why on stderr and ends the process: a truth that is not exact is none. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A thread's own: a shared one would make the threads fight over its cache line. */
extern _Thread_local volatile uint64_t sink;

uint64_t clock_ns(clockid_t id);
uint64_t now_ns(void); /* CLOCK_MONOTONIC, as the times in a capture */

/* Until an absolute time, so that a signal does not make it longer. */
void sleep_until(uint64_t at_ns);

/* Returns how long it really took. */
uint64_t sleep_ns(uint64_t ns);

/* Some ten microseconds of pure computation. */
void burn(void);

/* Returns the number of burns: a measure of the work done. */
uint64_t spin_until(uint64_t at_ns);

uint64_t random_below(uint64_t *state, uint64_t n);

#endif
