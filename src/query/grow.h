/* SPDX-License-Identifier: MIT */
/* Weights of rows into a tree, and into sums by function. */
#ifndef THAW_QUERY_GROW_H
#define THAW_QUERY_GROW_H

#include "query/tree.h"
#include "query/weights.h"

/* The second weights are for a tree of two; NULL: none. */
void grow_tree(struct tree *t, const struct model *m, const struct calls *c,
	       const struct weights *one, const struct weights *two, bool by_thread);

/* By call: what it and those that it called have, in the order of c->list; to be freed. */
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
 * Of all stacks with the function on it: who called it and whom it called, from its outermost frame
 * on. The root of both trees is the function itself, with its total.
 */
void grow_around(struct tree *callers, struct tree *callees, const struct model *m,
		 const struct calls *c, const struct weights *w, uint32_t function, unsigned depth);

#endif
