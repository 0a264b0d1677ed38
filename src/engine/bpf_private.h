/* SPDX-License-Identifier: MIT */
/* The bpf engine from inside: what its parts share. */
#ifndef THAW_ENGINE_BPF_PRIVATE_H
#define THAW_ENGINE_BPF_PRIVATE_H

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/vec.h"
#include "engine/cpus.h"
#include "engine/engine.h"
#include "engine/sentinel.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "thaw.skel.h" /* generated; its types are in wire/probe.h */

#define SIDEBAND_SAMPLES (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* The arrays of unwind tables: how many entries of what. */
struct big {
	struct bpf_map *map;
	size_t entry;
	uint32_t n;
	void *at;
};
enum { BIG_MAPPINGS, BIG_PROCS, BIG_SPACES, BIG_OBJECTS, BIGS };

typedef VEC(struct bpf_link *) link_vec;

struct bpf_engine {
	struct engine base;
	struct big big[BIGS];
	uint32_t *shelves[SHELVES_MAX];
	uint32_t max_shelves;
	struct thaw_bpf *skel;
	struct bpf_program *sample; /* the variant for this kernel */
	link_vec links;		    /* of the clocks; the sentinel has the others */
	struct sentinel sentinel;
	bool no_samples;  /* given up */
	VEC(int) clocks;  /* cpu-clock events; their programs are in links */
	VEC(int) ticking; /* the same, once the links own them */
	VEC(int) sidebands;
	struct cpu_list online;
	uint8_t *rings;
	size_t rings_len;
	size_t n_rings;
	uint64_t ring_size, value_size;
	uint32_t salt;
	uint64_t freq_hz;
	bool slow_close;      /* see stop_clocks() */
	uint64_t rq_lock_off; /* of the lock in a runqueue */
};

static inline struct bpf_engine *bpf(struct engine *e)
{
	return (struct bpf_engine *)e;
}

static inline struct ring_head *ring(struct bpf_engine *b, size_t cpu)
{
	return (struct ring_head *)(b->rings + cpu * b->value_size);
}

/* ---- bpf_load.c: programs, rings and tables ---- */
int bpf_load(struct bpf_engine *b, const struct plan *plan);
void bpf_unload(struct bpf_engine *b);
bool bpf_unwind_arrays(struct engine *e, struct unwind_arrays *ret);

/* ---- bpf_events.c: the sampling clocks and the side-band ---- */
int bpf_open_clock(struct bpf_engine *b, int cpu);
int bpf_open_sideband(struct bpf_engine *b, int cpu, struct source **ret);
void bpf_stop_clocks(struct bpf_engine *b);
/* To STEP_RATE_HZ. False: the kernel refuses. */
bool bpf_slow_down(struct bpf_engine *b);

/* ---- bpf_asleep.c ---- */
void bpf_asleep(struct engine *e, engine_asleep_fn fn, void *arg);

/* ---- bpf_own.c ---- */
void bpf_own_code(struct engine *e, engine_code_fn fn, void *arg);

#endif
