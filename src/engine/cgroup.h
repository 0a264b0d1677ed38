/* SPDX-License-Identifier: MIT */
/* A cgroup as the target of a recording: its id for the probes, and its threads at the start. */
#ifndef THAW_ENGINE_CGROUP_H
#define THAW_ENGINE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_ref {
	char path[PATH_MAX];
	uint64_t id;	/* v2: as the kernel numbers it */
	uint32_t level; /* v2: how deep below the root */
	bool v2;	/* v1: the threads that are in it now, and their children */
};

/* `path` is absolute, or below where cgroup2 (or the unified hierarchy) is mounted. */
int cgroup_find(const char *path, struct cgroup_ref *ret);

typedef void cgroup_fn(void *ctx, uint32_t tid);
/* Every thread in it and in the cgroups below. */
int cgroup_each_thread(const struct cgroup_ref *ref, cgroup_fn *fn, void *ctx);

#endif
