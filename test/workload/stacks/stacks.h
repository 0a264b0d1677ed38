/* SPDX-License-Identifier: MIT */
/* What is below the chain: ways to spend time that end in known stacks. */
#ifndef WORKLOAD_STACKS_H
#define WORKLOAD_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct job {
	uint64_t (*leaf)(struct job *j);
	uint64_t until;
	uint64_t cpu_ns; /* and for so long on a CPU, if that is later */
	uint64_t begin, end, begin_unix, end_unix, rounds;
	long tid;
	int depth;
	/* Where the code is that made_by_rsp calls, and made_by_rbp; see made.c. */
	uint64_t made[2];
	uint64_t made_keep; /* so many bytes of each, the first, leave rbp alone */
};

/* The chain is done: its helper, another thread, may end. */
extern atomic_bool over;

/* False: the time is up. */
bool go_on(struct job *j);

uint64_t leaf_altstack(struct job *j);
uint64_t leaf_cond(struct job *j);
uint64_t leaf_cpu(struct job *j);
uint64_t leaf_deep(struct job *j);
uint64_t leaf_dlopen(struct job *j);
uint64_t leaf_longjmp(struct job *j);
uint64_t leaf_made(struct job *j);
uint64_t leaf_malloc(struct job *j);
uint64_t leaf_memcpy(struct job *j);
uint64_t leaf_mutex(struct job *j);
uint64_t leaf_pagefault(struct job *j);
uint64_t leaf_plt(struct job *j);
uint64_t leaf_poll(struct job *j);
uint64_t leaf_printf(struct job *j);
uint64_t leaf_qsort(struct job *j);
uint64_t leaf_signal(struct job *j);
uint64_t leaf_sleep(struct job *j);
uint64_t leaf_traps(struct job *j);
uint64_t leaf_vdso(struct job *j);

void *mutex_helper(void *arg);
void *cond_helper(void *arg);

#endif
