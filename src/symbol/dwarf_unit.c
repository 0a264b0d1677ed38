// SPDX-License-Identifier: MIT
/*
 * One compilation unit's functions, read once.
 *
 * A node's parent is the node around it if it is inlined; a function nested in a function (a GNU
 * extension, a lambda) stands on its own. Nodes come in the order of the tree, so that of two
 * ranges that begin together the inner one is added last and wins.
 */
#include "symbol/dwarf.h"

#include "elf/dwarf_numbers.h"
#include "symbol/demangle.h"

#define NODES_MAX (8u << 20)

/* A node that is open where the walk is. */
struct around {
	uint32_t depth, node;
};

struct unit_facts {
	struct dw_attr low, high, ranges, call_file;
	uint64_t call_line;
};

static struct unit_facts read_facts(const struct dw_die *die)
{
	struct dw_attrs attrs = dw_attrs(die);
	struct unit_facts f = {.call_line = 0};
	struct dw_attr a;

	while (dw_attr_next(&attrs, &a)) {
		switch (a.name) {
		case DW_AT_low_pc:
			f.low = a;
			break;
		case DW_AT_high_pc:
			f.high = a;
			break;
		case DW_AT_ranges:
			f.ranges = a;
			break;
		case DW_AT_call_file:
			f.call_file = a;
			break;
		case DW_AT_call_line:
			(void)dw_number(&a, &f.call_line);
			break;
		}
	}
	return f;
}

/* False if there is no code: declared here, or inlined and then optimized away. */
static bool add_ranges(struct dwarf_unit *u, const struct unit_facts *f, uint32_t id,
		       uint64_t *ret_entry)
{
	struct dw_ranges r;
	uint64_t begin, end;
	bool any = false;

	dw_ranges_init(&r, u->dw, &f->low, &f->high, &f->ranges);
	while (dw_ranges_next(&r, &begin, &end)) {
		if (!any)
			*ret_entry = begin;
		ranges_add(&u->ranges, begin, end, id);
		any |= begin < end;
	}
	return any;
}

/* The node's number; DWARF_NO_NODE if it has no code. */
static uint32_t add_node(struct dwarf_unit *u, const struct dw_die *die, uint32_t around)
{
	struct dwarf_node node = {
		.parent = DWARF_NO_NODE, .call_file = DW_NO_FILE, .die = die->offset};
	uint32_t id = (uint32_t)u->nodes.n;
	struct unit_facts f = read_facts(die);
	uint64_t file;

	if (id >= NODES_MAX || !add_ranges(u, &f, id, &node.entry))
		return DWARF_NO_NODE;
	if (die->abbrev.tag == DW_TAG_inlined_subroutine && around != DWARF_NO_NODE) {
		node.parent = around;
		node.call_line = (uint32_t)f.call_line;
		if (dw_number(&f.call_file, &file))
			node.call_file = dw_lines_file(&u->lines, file);
	}
	vec_push(&u->nodes, node);
	return id;
}

void dwarf_unit_walk(struct dwarf_unit *u)
{
	VEC(struct around) open = {0};
	struct dw_walk w;
	struct dw_die die;

	if (u->walked)
		return;
	u->walked = true;
	dw_walk_init(&w, u->dw, DW_HAS_CODE);
	while (dw_walk_next(&w, &die)) {
		struct around a = {.depth = die.depth};

		while (open.n && open.v[open.n - 1].depth >= die.low)
			open.n--;
		a.node = add_node(u, &die, open.n ? open.v[open.n - 1].node : DWARF_NO_NODE);
		vec_push(&open, a);
	}
	vec_done(&open);
	ranges_build(&u->ranges);
}

static bool die_of(const struct dwarf_unit *u, const struct dwarf_node *node, struct dw_die *ret)
{
	return dw_die_at(u->dw, node->die, ret);
}

/*
 * A linkage name that is no mangled one is an alias for the linker (__GI_abort); the source says
 * abort.
 */
const char *dwarf_name(const struct dwarf_unit *u, const struct dwarf_node *node)
{
	const char *name, *linkage;
	struct dw_die die;

	if (!die_of(u, node, &die))
		return NULL;
	dw_die_names(&die, &name, &linkage);
	return linkage && (!name || demangle_can(linkage)) ? linkage : name;
}

static const void *bytes_of(const struct dw_die *die)
{
	return dw_section(die->unit->file, die->unit->section).base + die->offset;
}

const void *dwarf_name_key(const struct dwarf_unit *u, const struct dwarf_node *node)
{
	struct dw_die die, origin;
	struct dw_attr a;

	if (!die_of(u, node, &die))
		return NULL;
	a = dw_attr_of(&die, DW_AT_abstract_origin);
	return bytes_of(a.form && dw_follow(u->dw, &a, &origin) ? &origin : &die);
}
