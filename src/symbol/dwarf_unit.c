// SPDX-License-Identifier: MIT
/*
 * One compilation unit's functions and lines, read once.
 *
 * The tree is walked where there may be code: through functions, blocks, namespaces and types. A
 * node's parent is the node around it if it is inlined; a function nested in a function (a GNU
 * extension, a lambda) stands on its own. Nodes come in the order of the tree, so that of two
 * ranges that begin together the inner one is added last and wins.
 */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include "symbol/demangle.h"

#define DEPTH_MAX 256
#define RANGES_MAX (1u << 20)
#define NODES_MAX (8u << 20)

struct walk {
	struct dwarf_unit *unit;
	unsigned depth;
};

static void walk_children(struct walk *w, Dwarf_Die *die, uint32_t around);

static uint64_t number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, &v) ? v : 0;
}

static bool add_ranges(struct dwarf_unit *u, Dwarf_Die *die, uint32_t id, uint64_t *ret_entry)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	bool any = false;

	for (unsigned i = 0; i < RANGES_MAX; i++) {
		at = dwarf_ranges(die, at, &base, &begin, &end);
		if (at <= 0)
			break;
		if (!any)
			*ret_entry = begin;
		ranges_add(&u->ranges, begin, end, id);
		any |= begin < end;
	}
	return any;
}

static void add_node(struct walk *w, Dwarf_Die *die, bool inlined, uint32_t around)
{
	struct dwarf_unit *u = w->unit;
	struct dwarf_node node = {.parent = DWARF_NO_NODE, .die = *die};
	uint32_t id = (uint32_t)u->nodes.n;

	if (id >= NODES_MAX)
		return;
	if (!add_ranges(u, die, id, &node.entry)) {
		/* Declared here, or inlined and then optimized away. */
		if (!inlined)
			walk_children(w, die, DWARF_NO_NODE);
		return;
	}
	if (inlined && around != DWARF_NO_NODE) {
		uint64_t file = number(die, DW_AT_call_file);

		node.parent = around;
		node.call_line = (uint32_t)number(die, DW_AT_call_line);
		node.call_file = u->files ? dwarf_filesrc(u->files, file, NULL, NULL) : NULL;
	}
	vec_push(&u->nodes, node);
	walk_children(w, die, id);
}

static void walk_die(struct walk *w, Dwarf_Die *die, uint32_t around)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		add_node(w, die, false, around);
		break;
	case DW_TAG_inlined_subroutine:
		add_node(w, die, true, around);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		walk_children(w, die, around);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *w, Dwarf_Die *die, uint32_t around)
{
	Dwarf_Die child;

	if (w->depth >= DEPTH_MAX || dwarf_child(die, &child))
		return;
	w->depth++;
	do {
		walk_die(w, &child, around);
	} while (!dwarf_siblingof(&child, &child));
	w->depth--;
}

void dwarf_unit_walk(struct dwarf_unit *u)
{
	struct walk w = {.unit = u};
	size_t n;

	if (u->ranges.out.n)
		return;
	if (dwarf_getsrcfiles(&u->die, &u->files, &n))
		u->files = NULL;
	walk_children(&w, &u->die, DWARF_NO_NODE);
	ranges_build(&u->ranges);
}

/*
 * The rows come sorted by address. Of several at one address the last one counts; a mark that a
 * sequence ended there does not, if another one begins at the same place.
 */
static void add_row(struct dwarf_unit *u, const struct dwarf_row *row)
{
	struct dwarf_row *last = u->rows.n ? &u->rows.v[u->rows.n - 1] : NULL;

	if (last && last->address == row->address) {
		if (row->file)
			*last = *row;
		return;
	}
	if (last && last->file == row->file && last->line == row->line)
		return;
	vec_push(&u->rows, *row);
}

void dwarf_unit_lines(struct dwarf_unit *u)
{
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(&u->die, &lines, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		struct dwarf_row row = {.file = NULL};
		bool end = false;
		int number = 0;

		if (!line || dwarf_lineaddr(line, &row.address) ||
		    dwarf_lineendsequence(line, &end))
			continue;
		if (!end && !dwarf_lineno(line, &number)) {
			row.file = dwarf_linesrc(line, NULL, NULL);
			row.line = number > 0 ? (uint32_t)number : 0;
		}
		add_row(u, &row);
	}
}

static const char *string(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

const char *dwarf_unit_dir(const struct dwarf_unit *u)
{
	Dwarf_Die die = u->die;

	return string(&die, DW_AT_comp_dir);
}

/*
 * A linkage name that is no mangled one is an alias for the linker (__GI_abort); the source says
 * abort.
 */
const char *dwarf_name(Dwarf_Die *die)
{
	const char *linkage = string(die, DW_AT_linkage_name), *name;

	linkage = linkage ? linkage : string(die, DW_AT_MIPS_linkage_name);
	if (linkage && demangle_can(linkage))
		return linkage;
	name = string(die, DW_AT_name);
	return name ? name : linkage;
}

const void *dwarf_name_key(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin))
		return origin.addr;
	return die->addr;
}
