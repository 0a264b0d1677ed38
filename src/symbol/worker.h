/* SPDX-License-Identifier: MIT */
/* Runs a function in a child process behind the walls of sandbox.c. Private to symbol/. */
#ifndef THAW_SYMBOL_WORKER_H
#define THAW_SYMBOL_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/sandbox.h"

/* Writes to SANDBOX_ANSWER; the i-th file is descriptor SANDBOX_FILES + i. */
typedef int worker_fn(void *ctx);

enum worker_kind {
	WORKER_PARSER,	/* no system calls but those that parsing needs */
	WORKER_NETWORK, /* no privileges, otherwise free */
};

struct worker {
	enum worker_kind kind;
	worker_fn *fn;
	void *ctx;
	const int *files;
	size_t n_files;
	uint64_t until_ns; /* clock_mono_ns() at which it is killed */
	size_t answer_max; /* bytes */
	uint64_t memory;   /* bytes */
};

/*
 * What the child wrote, if it ended well; else -ETIMEDOUT, or -ECHILD with words about its end.
 * The caller's descriptors stay open.
 */
int worker_run(const struct worker *w, struct buf *ret);

#endif
