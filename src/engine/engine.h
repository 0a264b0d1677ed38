/* SPDX-License-Identifier: MIT */
/*
 * An engine gets records out of the kernel. It goes through open -> attach -> arm -> disarm ->
 * close: after open everything is loaded and nothing runs; after attach the programs run and return
 * at once; arm lets them record. Everything hangs on file descriptors, so that the death of the
 * process in any state removes all of it. (What the bpf engine attaches is held by a child that
 * dies with it: sentinel.h.)
 */
#ifndef THAW_ENGINE_ENGINE_H
#define THAW_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "engine/plan.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/step.h"
#include "wire/unwind.h"

struct engine;
struct perf_setup;

/* What was not recorded, since the start. Indices of by_kind: enum pr_kind. */
struct engine_losses {
	uint64_t by_kind[32];
	uint64_t sideband;
	uint64_t recursion;
	uint64_t no_hint;
	uint64_t no_klock;
	uint64_t no_stack;
	uint64_t blocked;
	uint64_t no_timer;
	uint64_t unfinished;
	uint64_t confined;
	uint64_t no_wait_stack; /* there was no room for it */
	uint64_t records;	/* of a perf buffer: which ones is not known */
};

/*
 * Where the probes look for unwind tables: see wire/probe.h. The counts are powers of two. Without
 * procs, mappings and spaces only the collector walks.
 */
struct unwind_arrays {
	struct unwind_mapping *mappings;
	struct unwind_proc *procs;
	struct unwind_space *spaces;   /* UNWIND_SPACES */
	struct unwind_object *objects; /* UNWIND_OBJECTS */
	uint32_t *now;
	uint32_t n_mappings, n_procs;
	/* Makes the i-th shelf, SHELF_WORDS zeroes that the engine owns. NULL: no memory. */
	uint32_t *(*shelf)(void *ctx, uint32_t i);
	void *ctx;
	uint32_t max_shelves;
};

typedef void (*engine_untold_fn)(void *arg, const struct pr_klocks *r);
typedef void (*engine_asleep_fn)(void *arg, const struct pr_asleep *r);

/* A function of the probes, as /proc/kallsyms calls it. */
typedef void engine_code_fn(void *arg, uint64_t begin, uint64_t end, const char *name);

struct engine_ops {
	const char *name;
	/* Opened before the command is forked, because the command needs engine.env. */
	bool opens_first;
	/*
	 * Can it do what the plan asks for? 0, or a negative errno with what is missing and what to
	 * do. The guard has already checked the machine: guard/needs.c.
	 */
	int (*check)(const struct plan *plan);
	int (*open)(const struct plan *plan, struct engine **ret);
	int (*attach)(struct engine *e);
	void (*arm)(struct engine *e);
	void (*disarm)(struct engine *e);
	void (*close)(struct engine *e);

	/* The filter, exact and by thread. */
	void (*watch)(struct engine *e, uint32_t tid, bool on);
	bool (*watched)(struct engine *e, uint32_t tid);

	/* False, or missing: stacks are not walked by unwind tables. */
	bool (*unwind_arrays)(struct engine *e, struct unwind_arrays *ret);
	/* The CPU whose runqueue has its lock at this address, or -1. May be missing. */
	int (*runqueue)(struct engine *e, uint64_t lock);
	/* Makes the probes send every stack anew before they use its id. May be missing. */
	void (*forget_stacks)(struct engine *e);
	/* Has a ring filled by more than a quarter since the last look? Then drain at once. */
	bool (*hurry)(struct engine *e);
	void (*losses)(struct engine *e, struct engine_losses *ret);
	/* After disarming: sums that the probes have not sent. May be missing. */
	void (*untold)(struct engine *e, engine_untold_fn fn, void *arg);
	/* The recorded threads that sleep now. May be missing. */
	void (*asleep)(struct engine *e, engine_asleep_fn fn, void *arg);
	/* Gives up what the step says; false: there is nothing left to give up. May be missing. */
	bool (*ease)(struct engine *e, enum step step);
	/* Says that the recorder is alive. Without beats the probes switch themselves off. */
	void (*beat)(struct engine *e, uint64_t now);
	/* While armed: have they? Then attach() and arm() resume. Both may be missing. */
	bool (*blown)(struct engine *e, struct fuse *ret);
	/* The probes' own code, which appears in kernel stacks. May be missing. */
	void (*own_code)(struct engine *e, engine_code_fn fn, void *arg);
	/* CPU time of the probes, as they measure it. May be missing. */
	uint64_t (*own_ns)(struct engine *e);
	/* When the first loss of a source happened that no record has reported yet, or 0. */
	uint64_t (*open_loss)(struct engine *e, size_t source);
};

struct engine {
	const struct engine_ops *ops;
	struct source **sources;
	size_t n_sources;
	/*
	 * Programs record themselves, and only what they do. Later mappings and the end of a killed
	 * process are found in /proc; sleeping is not seen.
	 */
	bool self_told;
	char *const *env;	 /* "NAME=value" for the command, NULL last; NULL: nothing */
	uint64_t freq_hz;	 /* at which it samples; 0: as planned */
	uint64_t window_ns;	 /* how late a record may come; 0: as usual */
	bool kernel_locks;	 /* the kernel reports contention */
	uint32_t unseen;	 /* enum unseen */
	uint64_t poll_ns;	 /* how often its buffers must be read; 0: any time will do */
	uint64_t perf_samples;	 /* the sample_type of its RECORD_PERF records */
	struct perf_setup *perf; /* set if it sends no others (perf_stream.h); else NULL */
};

static inline void engine_beat(struct engine *e)
{
	if (e->ops->beat)
		e->ops->beat(e, clock_mono_ns());
}

extern const struct engine_ops engine_bpf;
extern const struct engine_ops engine_ctimer;
extern const struct engine_ops engine_perf;

/*
 * The engine that the plan asks for, or the first that the guard allows and that can do the job.
 * Otherwise the error of the first. The plan's engine is one of engine_names().
 */
int engine_choose(const struct plan *plan, const struct engine_ops **ret);
int engine_check(const struct engine_ops *ops, const struct plan *plan);
/* All of them, the one that sees most first. */
size_t engine_count(void);
const struct engine_ops *engine_at(size_t i);
bool engine_known(const char *name);
/* "bpf, ..." */
const char *engine_names(void);

#endif
