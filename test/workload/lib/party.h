/* SPDX-License-Identifier: MIT */
/* Those who take part in a case: threads, or processes where a case can do both. */
#ifndef WORKLOAD_PARTY_H
#define WORKLOAD_PARTY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct party {
	bool process;
	pthread_t thread;
	pid_t pid;
};

void thread_start(pthread_t *ret, void *(*fn)(void *), void *arg);

/* A child dies with its parent, and one that ends badly is a case that has failed. */
pid_t fork_child(void);
void wait_child(pid_t pid);

void party_start(struct party *p, bool process, void *(*fn)(void *), void *arg);
void party_join(struct party *p);

void pin(size_t cpu);

/* The CPUs this process may use, lowest first. */
size_t cpus_allowed(size_t *cpus, size_t room);

#endif
