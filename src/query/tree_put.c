// SPDX-License-Identifier: MIT
/* A tree as JSON: small nodes folded, siblings ordered, names once. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "query/tree.h"

struct put {
	struct tree *t;
	const struct model *m;
	uint64_t least[2]; /* a node with either value is kept */
	uint64_t folded;
	uint32_t *order; /* the nodes kept, by parent and size */
	size_t kept;
	uint32_t *child, *sibling; /* by node: the first, the next; 0: none */
	struct what_names names;
	VEC(int64_t) column[9];
};

enum { PARENT, NAME, MODULE, VALUE, SELF, VALUE2, INLINED, KERNEL, REASON, COLUMNS };

static bool is_kept(const struct put *p, const struct tree_node *n)
{
	return (n->value[0] && n->value[0] >= p->least[0]) ||
	       (n->value[1] && n->value[1] >= p->least[1]);
}

/* How many nodes there would be, with one "(small)" for each parent of folded ones. */
static size_t count_kept(const struct put *p, uint8_t *has_folded)
{
	const struct tree *t = p->t;
	size_t n = 1;

	memset(has_folded, 0, t->nodes.n);
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *node = &t->nodes.v[i];

		if (is_kept(p, node))
			n++;
		else if ((node->value[0] || node->value[1]) && !has_folded[node->parent] &&
			 (!node->parent || is_kept(p, &t->nodes.v[node->parent])))
			n += has_folded[node->parent] = 1;
	}
	return n;
}

static double fold(struct put *p, const struct tree_opts *opts)
{
	struct tree *t = p->t;
	size_t all = t->nodes.n;
	uint8_t *has_folded = mem_alloc(all);
	uint32_t *small = mem_zalloc(all * sizeof(*small));
	double min = opts->min;

	for (;; min = min > 0 ? min * 2 : 1e-6) {
		for (unsigned k = 0; k < 2; k++)
			p->least[k] = (uint64_t)(min * (double)t->nodes.v[0].value[k]);
		if (count_kept(p, has_folded) <= opts->max_nodes || min > 1)
			break;
	}
	/* If a folded node's parent is folded too, the parent's value has it already. */
	for (uint32_t i = 1; i < all; i++) {
		struct tree_node node = t->nodes.v[i];
		struct tree_node *to;

		if (is_kept(p, &node) || (!node.value[0] && !node.value[1]))
			continue;
		p->folded++;
		if (node.parent && !is_kept(p, &t->nodes.v[node.parent]))
			continue;
		if (!small[node.parent])
			small[node.parent] = tree_append(t, node.parent, WHAT_SMALL);
		to = &t->nodes.v[small[node.parent]];
		for (unsigned k = 0; k < 2; k++) {
			to->value[k] += node.value[k];
			to->self[k] += node.value[k];
		}
		to->class = to->class == TREE_CLASS_NONE ? node.class
			    : to->class == node.class	 ? to->class
							 : TREE_CLASS_SEVERAL;
	}
	p->order = mem_alloc((t->nodes.n + 1) * sizeof(*p->order));
	for (uint32_t i = 1; i < t->nodes.n; i++)
		if (i >= all || is_kept(p, &t->nodes.v[i]))
			p->order[p->kept++] = i;
	free(has_folded);
	free(small);
	return min;
}

/* By parent, the larger first, "(small)" last. */
static int by_size(const void *pa, const void *pb, void *arg)
{
	const struct tree *t = arg;
	const struct tree_node *a = &t->nodes.v[*(const uint32_t *)pa];
	const struct tree_node *b = &t->nodes.v[*(const uint32_t *)pb];
	uint64_t x = a->value[0] + a->value[1], y = b->value[0] + b->value[1];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if ((a->what == WHAT_SMALL) != (b->what == WHAT_SMALL))
		return a->what == WHAT_SMALL ? 1 : -1;
	if (x != y)
		return x > y ? -1 : 1;
	return (a->what > b->what) - (a->what < b->what);
}

static void link_children(struct put *p)
{
	struct tree *t = p->t;

	sort_with(p->order, p->kept, sizeof(*p->order), by_size, t);
	p->child = mem_zalloc(t->nodes.n * sizeof(*p->child));
	p->sibling = mem_zalloc(t->nodes.n * sizeof(*p->sibling));
	for (size_t i = p->kept; i-- > 0;) {
		uint32_t node = p->order[i], parent = t->nodes.v[node].parent;

		p->sibling[node] = p->child[parent];
		p->child[parent] = node;
	}
}

static void put_node(struct put *p, uint32_t node, int64_t parent)
{
	const struct tree_node *n = &p->t->nodes.v[node];
	bool frame = what_is_frame(n->what);
	int64_t row[COLUMNS] = {
		[PARENT] = parent,
		[NAME] = (int64_t)what_name(&p->names, p->m, n->what),
		[MODULE] = (int64_t)what_module(&p->names, p->m, n->what),
		[VALUE] = (int64_t)n->value[0],
		[SELF] = (int64_t)n->self[0],
		[VALUE2] = (int64_t)n->value[1],
		[INLINED] = frame && (n->what & 1),
		[KERNEL] = frame && names_function(&p->m->names, what_function(n->what))->kernel,
		[REASON] = n->class < 0 ? -1 : n->class,
	};

	for (unsigned i = 0; i < COLUMNS; i++)
		vec_push(&p->column[i], row[i]);
}

static void preorder(struct put *p)
{
	const struct tree *t = p->t;
	int64_t *place = mem_alloc(t->nodes.n * sizeof(*place)), n = 0;
	uint32_t at = 0;

	for (;;) {
		put_node(p, at, at ? place[t->nodes.v[at].parent] : -1);
		place[at] = n++;
		if (p->child[at]) {
			at = p->child[at];
			continue;
		}
		while (at && !p->sibling[at])
			at = t->nodes.v[at].parent;
		if (!at)
			break;
		at = p->sibling[at];
	}
	free(place);
}

static void tree_write_out(struct put *p, struct json *j, double min, const struct tree_opts *opts)
{
	static const char *const keys[COLUMNS] = {"parent", "name",    "module", "value", "self",
						  "value2", "inlined", "kernel", "reason"};
	const struct tree_node *root = &p->t->nodes.v[0];

	json_u64(j, "total", root->value[0]);
	if (p->t->two)
		json_u64(j, "total2", root->value[1]);
	json_f64(j, "min", min);
	json_u64(j, "folded", p->folded);
	what_names_put(&p->names, j);
	json_obj(j, "node");
	for (unsigned i = 0; i < COLUMNS; i++)
		if ((i != VALUE2 || p->t->two) && (i != REASON || opts->classes))
			json_i64s(j, keys[i], p->column[i].v, p->column[i].n);
	json_obj_end(j);
}

void tree_put(struct tree *t, struct json *j, const struct model *m, const struct tree_opts *opts)
{
	struct put p = {.t = t, .m = m};
	double min = fold(&p, opts);

	link_children(&p);
	preorder(&p);
	tree_write_out(&p, j, min, opts);
	what_names_done(&p.names);
	for (unsigned i = 0; i < COLUMNS; i++)
		vec_done(&p.column[i]);
	free(p.order);
	free(p.child);
	free(p.sibling);
}
