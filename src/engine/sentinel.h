/* SPDX-License-Identifier: MIT */
/*
 * A process that holds what is attached to the kernel, and lets go of it when the recorder gives no
 * sign of life. A stopped recorder would keep its descriptors, and the kernel would still call its
 * probes at every switch, although they do nothing any more (see struct fuse).
 *
 * The sentinel only sleeps and looks at the clock, in a session of its own, so that a Ctrl-Z does
 * not stop it as well. It dies with the recorder, however that ends.
 */
#ifndef THAW_ENGINE_SENTINEL_H
#define THAW_ENGINE_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/probe.h"

struct sentinel {
	pid_t pid; /* 0: there is none */
};

struct sentinel_opts {
	const struct fuse *fuse; /* shared with the probes */
	/* The map that the fuse is in, and where that is mapped, if children do not inherit it. */
	int map; /* 0: they do */
	const void *mapped;
	const int *keep; /* descriptors that it takes over: close yours */
	size_t n_keep;
	const int *clocks; /* perf events to switch off; the recorder has them too */
	size_t n_clocks;
};

int sentinel_start(struct sentinel *s, const struct sentinel_opts *o);
/* Has it let go? */
bool sentinel_gone(struct sentinel *s);
/* Makes it let go now. */
void sentinel_stop(struct sentinel *s);

#endif
