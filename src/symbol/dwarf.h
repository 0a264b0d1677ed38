/* SPDX-License-Identifier: MIT */
/*
 * What DWARF says about addresses: the chain of inlined calls and the source lines.
 *
 * libdw answers one address after the other by walking the tree of a compilation unit each time.
 * Here each unit that is touched is walked once, and its functions and lines become sorted arrays:
 *
 *   unit   which unit an address belongs to: a range index over all units, made at the start
 *   node   a function, or a function inlined into another node; the innermost one at an address
 *          leads through its parents to the function whose code it is
 *   row    the line table, as addresses and where they came from
 *
 * An answer holds for a whole range of addresses; the caller is told how far. Private to symbol/,
 * and only for sandboxed children: libdw trusts its input more than we do.
 */
#ifndef THAW_SYMBOL_DWARF_H
#define THAW_SYMBOL_DWARF_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "symbol/ranges.h"

#define DWARF_NO_NODE UINT32_MAX

struct dwarf_node {
	uint32_t parent; /* the node that it is inlined into, or DWARF_NO_NODE */
	uint32_t call_line;
	const char *call_file; /* NULL: unknown */
	Dwarf_Die die;
	uint64_t entry; /* of a function that is not inlined: its first address */
	uint32_t name;	/* the user's: the number of its name */
	bool named;	/* the user's: `name` has been set */
};

struct dwarf_row {
	uint64_t address;
	const char *file; /* NULL: no line from here on */
	uint32_t line;
};

struct dwarf_unit {
	Dwarf_Die die;
	bool built;
	VEC(struct dwarf_node) nodes;
	struct ranges ranges; /* ids are indexes into nodes */
	VEC(struct dwarf_row) rows;
	Dwarf_Files *files;
};

struct dwarf_info {
	Dwarf *dw, *alt;
	Elf *elf, *alt_elf;
	VEC(struct dwarf_unit) units;
	struct ranges ranges; /* ids are indexes into units */
};

/* fd: the file with .debug_info; alt_fd: what it shares with others (dwz), or -1. */
int dwarf_open(int fd, int alt_fd, struct dwarf_info **ret);
void dwarf_close(struct dwarf_info *d);

struct dwarf_place {
	struct dwarf_unit *unit;
	uint32_t node;		     /* the innermost one, or DWARF_NO_NODE */
	const struct dwarf_row *row; /* NULL: no line is known */
	uint64_t end;		     /* all addresses up to here are at the same place */
};

/* False, with `end` set, if no unit says anything about the address. */
bool dwarf_find(struct dwarf_info *d, uint64_t address, struct dwarf_place *ret);

/* As written in the file (mangled, if it is); NULL if it has none. */
const char *dwarf_name(Dwarf_Die *die);
/* Two DIEs with the same key have the same name. */
const void *dwarf_name_key(Dwarf_Die *die);

/* Where the compiler ran, or NULL. */
const char *dwarf_unit_dir(const struct dwarf_unit *u);

/* One unit's walk and one unit's lines; called once each by dwarf_find(). */
void dwarf_unit_walk(struct dwarf_unit *u);
void dwarf_unit_lines(struct dwarf_unit *u);

#endif
