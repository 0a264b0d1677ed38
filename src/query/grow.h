/* SPDX-License-Identifier: MIT */
/* Weights of rows into a tree, and into sums by function. */
#ifndef THAW_QUERY_GROW_H
#define THAW_QUERY_GROW_H

#include "query/tree.h"
#include "query/weights.h"

/* The second weights are for a tree of two; NULL: none. */
void grow_tree(struct tree *t, const struct model *m, const struct calls *c,
	       const struct weights *one, const struct weights *two, bool by_thread);

/* Totals by call, callees included, in the order of c->list; the caller frees them. */
uint64_t *grow_values(const struct model *m, const struct calls *c, const struct weights *w,
		      uint64_t **ret_self);

struct function_value {
	uint32_t function;
	uint64_t self, total;
};
struct function_values {
	struct function_value *v; /* by self, then total */
	size_t n, room;
	uint64_t total; /* of all, those without a function too */
};

/* A function counts once however often it is on a stack. c is not upside down. */
void grow_functions(struct function_values *f, const struct model *m, const struct calls *c,
		    const struct weights *w);

/*
 * Callers and callees of a function over all stacks that have it, from its outermost frame on. The
 * root of both trees is the function itself, with its total.
 */
void grow_around(struct tree *callers, struct tree *callees, const struct model *m,
		 const struct calls *c, const struct weights *w, uint32_t function, unsigned depth);

#endif
