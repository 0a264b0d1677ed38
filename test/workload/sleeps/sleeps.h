/* SPDX-License-Identifier: MIT */
/* Sleepers, and how main ends their sleeps. */
#ifndef WORKLOAD_SLEEPS_H
#define WORKLOAD_SLEEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base.h"
#include "lib/cases.h"

struct sleeper {
	const char *name;
	void (*open)(struct sleeper *s);  /* in main */
	void (*sleep)(struct sleeper *s); /* once, in the sleeper's own thread */
	void (*wake)(struct sleeper *s);  /* in main; NULL: it wakes by itself */

	/* For the truth. */
	int nr;		  /* of the system call; -1: a fault */
	const char *file; /* of wire/state.h: pipe, socket, ...; NULL: none */
	const void *addr; /* of the futex; `step` bytes further each time */
	size_t step;
	uint32_t op, words;  /* words: how many of those there could be read */
	uint32_t word[5];    /* what is there while it sleeps */
	bool compat, shared; /* shared: woken by another process */

	/* Its own. */
	int fd, other;
	void *mem;
	uint64_t slept, switches;
	atomic_int tid;
};

/* Runs them one after the other and prints the list. */
void sleepers_run(struct sleeper *s, size_t n, size_t count);

void case_calls(const struct args *a);
void case_futex(const struct args *a);
void case_kernel(const struct args *a);

#endif
