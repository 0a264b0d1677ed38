/* SPDX-License-Identifier: MIT */
/* What the kernel lets this user do with perf events. */
#ifndef THAW_ENGINE_PERF_LIMITS_H
#define THAW_ENGINE_PERF_LIMITS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_limits {
	int paranoid;	 /* kernel.perf_event_paranoid */
	bool privileged; /* CAP_PERFMON or CAP_SYS_ADMIN */
	bool kernel;	 /* may look at kernel mode */
	bool cpus;	 /* may look at whole CPUs, whoever runs there */
};

/* 0, or a negative errno with what is missing and what to do. */
int perf_limits_find(struct perf_limits *ret);

int perf_event(struct perf_event_attr *attr, pid_t pid, int cpu);

/* How much memory the buffers of each CPU may take. */
size_t perf_limits_memory(const struct perf_limits *l, size_t cpus);

/* Raises the limit of open files as far as possible, and returns how many are left for events. */
size_t perf_limits_files(void);

#endif
