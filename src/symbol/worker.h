/* SPDX-License-Identifier: MIT */
/* Runs a function in a child process behind the walls of sandbox.c. Private to symbol/. */
#ifndef THAW_SYMBOL_WORKER_H
#define THAW_SYMBOL_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/sandbox.h"

/*
 * Opens what the work needs, up to SANDBOX_FILES_MAX descriptors: in the child, with all of the
 * caller's rights, but none of its descriptors. The owner of a file decides how long opening and
 * closing take, so the caller never has it open. 0, or a negative errno with a message, which the
 * caller gets.
 */
typedef int worker_open_fn(void *ctx, int *files, size_t *ret_n);
/* Writes to SANDBOX_ANSWER; the i-th file is descriptor SANDBOX_FILES + i. */
typedef int worker_fn(void *ctx);

enum worker_kind {
	WORKER_PARSER,	/* no system calls but those that parsing needs */
	WORKER_NETWORK, /* no privileges, otherwise free */
};

struct worker {
	enum worker_kind kind;
	worker_open_fn *open; /* NULL: use `files` of the caller */
	worker_fn *fn;
	void *ctx;
	const int *files;
	size_t n_files;
	uint64_t still_ns; /* give up a child that stands still for so long; 0: never */
	uint64_t until_ns; /* clock_mono_ns() at which it is killed */
	size_t answer_max; /* bytes */
	uint64_t memory;   /* bytes */
};

/*
 * What the child wrote, if it ended well; else -ETIMEDOUT, -EHOSTDOWN if a file does not answer, or
 * -ECHILD with a message about its end. A child that waits for a file may not even be killable: it
 * is left behind, with no descriptors but those that it has opened. The caller's descriptors stay
 * open.
 */
int worker_run(const struct worker *w, struct buf *ret);

#endif
