/* SPDX-License-Identifier: MIT */
/*
 * What DWARF says about addresses: the chain of inlined calls and the source lines.
 *
 * Each unit in which something was asked for is walked once (by elf/dwarf.h), and its functions and
 * lines become sorted arrays; the others are only looked at from outside:
 *
 *   unit   which unit an address belongs to: a range index over all units, made at the start
 *   node   a function, or a function inlined into another node; the innermost one at an address
 *          leads through its parents to the function whose code it is
 *   row    the line table, as addresses and where they came from
 *
 * An answer holds for a whole range of addresses; the caller is told how far. Private to symbol/.
 */
#ifndef THAW_SYMBOL_DWARF_H
#define THAW_SYMBOL_DWARF_H

#include <stdbool.h>

#include "base/vec.h"
#include "elf/dwarf.h"
#include "symbol/ranges.h"

#define DWARF_NO_NODE UINT32_MAX

struct dwarf_node {
	uint32_t parent; /* the node that it is inlined into, or DWARF_NO_NODE */
	uint32_t call_line;
	uint32_t call_file; /* index into the unit's files, or DW_NO_FILE */
	uint32_t name;	    /* the user's: the number of its name */
	bool named;	    /* the user's: `name` has been set */
	uint64_t die;	    /* its offset in the unit's section */
	uint64_t entry;	    /* of a function that is not inlined: its first address */
};

struct dwarf_unit {
	struct dw_unit *dw;
	bool walked, built;
	VEC(struct dwarf_node) nodes;
	struct symbol_ranges ranges; /* ids are indexes into nodes */
	struct dw_lines lines;
	uint32_t *files; /* the user's: the numbers of the files' names; 0: not yet */
	size_t hint, row_hint;
};

struct dwarf_info {
	struct dw_file *dw, *alt;
	VEC(struct dwarf_unit) units;
	struct symbol_ranges ranges; /* ids are indexes into units */
	size_t hint;
};

/* e: has .debug_info; alt: what it shares (dwz), or NULL. Both must outlive the result. */
int dwarf_open(const struct elf *e, const struct elf *alt, struct dwarf_info **ret);
void dwarf_close(struct dwarf_info *d);

struct dwarf_place {
	struct dwarf_unit *unit;
	uint32_t node;		  /* the innermost one, or DWARF_NO_NODE */
	const struct dw_row *row; /* NULL: no line is known */
	uint64_t end;		  /* all addresses up to here are at the same place */
};

/* False, with `end` set, if no unit says anything about the address. Ascending ones are fastest. */
bool dwarf_find(struct dwarf_info *d, uint64_t address, struct dwarf_place *ret);
/* True if the debug information was more work than its size explains: believe none of it. */
bool dwarf_failed(const struct dwarf_info *d);

/* As written in the file (mangled, if it is); NULL if it has none. */
const char *dwarf_name(const struct dwarf_unit *u, const struct dwarf_node *node);
/* Two nodes with the same key have the same name. */
const void *dwarf_name_key(const struct dwarf_unit *u, const struct dwarf_node *node);

/* One unit's walk; called once by dwarf_find(). */
void dwarf_unit_walk(struct dwarf_unit *u);

#endif
