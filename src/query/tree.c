// SPDX-License-Identifier: MIT
#include "query/tree.h"

#include <stdlib.h>

void tree_init(struct tree *t)
{
	*t = (struct tree){0};
	tree_append(t, 0, WHAT_ROOT);
}

void tree_done(struct tree *t)
{
	vec_done(&t->nodes);
	map_done(&t->children);
}

uint32_t tree_append(struct tree *t, uint32_t parent, uint32_t what)
{
	struct tree_node new = {.parent = parent, .what = what, .class = TREE_CLASS_NONE};

	vec_push(&t->nodes, new);
	return (uint32_t)t->nodes.n - 1;
}

uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t what)
{
	bool fresh;
	uint64_t *slot = map_put(&t->children, (uint64_t)parent << 32 | what, &fresh);

	if (fresh)
		*slot = tree_append(t, parent, what);
	return (uint32_t)*slot;
}

static int16_t tree_join(int16_t a, int16_t b)
{
	if (a == b || b == TREE_CLASS_NONE)
		return a;
	return a == TREE_CLASS_NONE ? b : TREE_CLASS_SEVERAL;
}

void tree_add(struct tree *t, uint32_t node, int class, const uint64_t value[2])
{
	struct tree_node *n = &t->nodes.v[node];

	n->class = tree_join(n->class, (int16_t) class);
	for (unsigned i = 0; i < 2; i++)
		n->self[i] += value[i];
}

void tree_sum(struct tree *t)
{
	for (size_t i = t->nodes.n; i-- > 0;) {
		struct tree_node *n = &t->nodes.v[i], *up = &t->nodes.v[n->parent];

		for (unsigned k = 0; k < 2; k++)
			n->value[k] += n->self[k];
		if (!i)
			break;
		for (unsigned k = 0; k < 2; k++)
			up->value[k] += n->value[k];
		up->class = tree_join(up->class, n->class);
	}
}

void grower_init(struct grower *g, struct tree *t, const struct calls *c)
{
	*g = (struct grower){.tree = t, .calls = c, .now = 1};
	g->node = mem_alloc(c->list.n * sizeof(*g->node));
	g->group = mem_zalloc(c->list.n * sizeof(*g->group));
}

void grower_done(struct grower *g)
{
	free(g->node);
	free(g->group);
}

void grower_group(struct grower *g, uint32_t root)
{
	g->now++;
	g->root = root;
}

/* Recurses only every 64 calls: a hostile capture may have very deep stacks. */
uint32_t grower_node(struct grower *g, uint32_t call)
{
	const struct call *list = g->calls->list.v;
	uint32_t top = call, node = g->root, path[64];
	size_t n = 0;

	while (top && g->group[top] != g->now && n < ARRAY_LEN(path)) {
		path[n++] = top;
		top = list[top].caller;
	}
	if (top && g->group[top] != g->now)
		node = grower_node(g, top);
	else if (top)
		node = g->node[top];
	while (n-- > 0) {
		node = tree_append(g->tree, node, list[path[n]].what);
		g->node[path[n]] = node;
		g->group[path[n]] = g->now;
	}
	return node;
}
