/* SPDX-License-Identifier: MIT */
/*
 * A flame graph's tree. Nodes are as in calls.h, a parent stands before its children, and each node
 * has up to two values (of two ranges that are compared). It is written out in preorder, the larger
 * of siblings first, with nodes too small to be seen folded into one "(small)" a parent, so that an
 * answer is bounded and still adds up.
 */
#ifndef THAW_QUERY_TREE_H
#define THAW_QUERY_TREE_H

#include "base/json.h"
#include "query/calls.h"

#define TREE_MIN (1.0 / 5000) /* of the total: smaller nodes are folded, */
#define TREE_NODES 50000      /* and if there are more than so many, larger ones too */

#define TREE_CLASS_NONE (-2)
#define TREE_CLASS_SEVERAL (-1)

struct tree_node {
	uint32_t parent, what;
	int16_t class; /* why all in it waited, or CLASS_RUNNING */
	uint64_t value[2], self[2];
};

struct tree {
	VEC(struct tree_node) nodes; /* 0 is the root */
	struct map children;	     /* parent and what -> node, of tree_child() */
	bool two;		     /* both values are meant */
};

void tree_init(struct tree *t);
void tree_done(struct tree *t);

/* Appends a child; the caller knows that it is new. */
uint32_t tree_append(struct tree *t, uint32_t parent, uint32_t what);
/* Finds or makes a child. Do not mix with tree_append(). */
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t what);
void tree_add(struct tree *t, uint32_t node, int class, const uint64_t value[2]);
/* Sums up the parents' values, once all values are in. */
void tree_sum(struct tree *t);

/* Grows a tree along calls, for one group of rows at a time: keeps each call's node. */
struct grower {
	struct tree *tree;
	const struct calls *calls;
	uint32_t *node;	 /* by call */
	uint32_t *group; /* by call: for which group that holds */
	uint32_t now;
	uint32_t root; /* the node that the group's calls hang under */
};

void grower_init(struct grower *g, struct tree *t, const struct calls *c);
void grower_done(struct grower *g);
/* Starts a group: calls hang under this node from now on. */
void grower_group(struct grower *g, uint32_t root);
uint32_t grower_node(struct grower *g, uint32_t call);

struct tree_opts {
	double min;
	size_t max_nodes;
	bool classes; /* write them, as "reason" */
};

/*
 * Writes keys into an open object: total, total2, min, folded, names, modules, node{..}. The tree
 * must be summed up, and is of no use afterwards.
 */
void tree_put(struct tree *t, struct json *j, const struct model *m, const struct tree_opts *opts);

#endif
