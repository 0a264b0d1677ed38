/* SPDX-License-Identifier: MIT */
/* When, and on which CPUs, events are missing. Collected first, sealed once, then only asked. */
#ifndef THAW_TIMELINE_SPANS_H
#define THAW_TIMELINE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define SPAN_ALL_CPUS UINT32_MAX

struct span {
	uint64_t start, end;
};

struct span_list {
	struct span *v;
	size_t n, room;
};

/* A moment at which a span starts or ends. */
struct span_edge {
	uint64_t ts;
	uint32_t cpu;
};

struct spans {
	VEC(struct span_list) cpu; /* what was lost on that CPU, those of every CPU included */
	struct span_list every;	   /* spans of all CPUs at once */
	struct span_list any;	   /* the union: some CPU lost something */
	VEC(struct span_edge) edges;
	bool sealed;
};

void spans_add(struct spans *s, uint32_t cpu, uint64_t start, uint64_t end);
void spans_seal(struct spans *s);
void spans_done(struct spans *s);

const struct span_list *spans_of(const struct spans *s, uint32_t cpu);
/* The first span that ends after `at`, or NULL. */
const struct span *spans_next(const struct span_list *l, uint64_t at);

#endif
