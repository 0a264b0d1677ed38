/* SPDX-License-Identifier: MIT */
/*
 * An engine gets records out of the kernel. It goes through open -> attach -> arm -> disarm ->
 * close: after open everything is loaded and nothing runs; after attach the programs run and return
 * at once; arm lets them record. Everything hangs on file descriptors, so that the death of the
 * process in any state removes all of it.
 */
#ifndef THAW_CAPTURE_ENGINE_H
#define THAW_CAPTURE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/plan.h"
#include "ring/source.h"

struct engine;

/* What did not get recorded, since the beginning. Indices of by_kind: enum pr_kind. */
struct engine_losses {
	uint64_t by_kind[32];
	uint64_t sideband;
	uint64_t recursion;
	uint64_t no_hint;
	uint64_t no_stack;
};

struct engine_ops {
	const char *name;
	int (*open)(const struct plan *plan, struct engine **ret);
	int (*attach)(struct engine *e);
	void (*arm)(struct engine *e);
	void (*disarm)(struct engine *e);
	void (*close)(struct engine *e);

	/* The filter, exact and by thread. */
	void (*watch)(struct engine *e, uint32_t tid, bool on);
	bool (*watched)(struct engine *e, uint32_t tid);

	/* From now on every stack is sent again before it is referred to. */
	void (*forget_stacks)(struct engine *e);
	/* Has a ring filled by more than a quarter since the last look? Then drain at once. */
	bool (*hurry)(struct engine *e);
	void (*losses)(struct engine *e, struct engine_losses *ret);
	/* Losses of one CPU that are not yet told by a PR_LOST record: the moment of the first. */
	uint64_t (*open_loss)(struct engine *e, size_t source);
};

struct engine {
	const struct engine_ops *ops;
	struct source **sources;
	size_t n_sources;
};

extern const struct engine_ops engine_bpf;

#endif
