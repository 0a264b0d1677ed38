/* SPDX-License-Identifier: MIT */
/*
 * What every kind of symbol table becomes. A loader gives the names as one piece of memory and adds
 * ranges; table_build() settles aliases and overlaps, once, so that a lookup is a plain binary
 * search over disjoint ranges. Private to symbol/.
 */
#ifndef THAW_SYMBOL_TABLE_H
#define THAW_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "symbol/ranges.h"

/* A symbol without a size names what follows it up to the next symbol, but no more than this. */
#define TABLE_SIZELESS_MAX 4096u

/* A longer name is cut: it can only be hostile, or of no use on a screen. */
#define TABLE_NAME_MAX 4096u

struct table_sym {
	uint64_t begin;
	uint64_t end; /* begin == end: the size is not known */
	uint32_t name;
	bool is_func;  /* known to be a function, not just a label */
	bool exported; /* global or weak */
};

struct symbols {
	struct buf names; /* terminated, without control characters */
	VEC(struct table_sym) syms;
	struct symbol_ranges ranges; /* ids are indexes into syms */
};

/* Takes the names over (and leaves an empty buffer). Every offset given later must lie within. */
struct symbols *table_new(struct buf *names);
void table_add(struct symbols *s, const struct table_sym *sym);
/* sizeless_max: how far a symbol without a size may reach. */
void table_build(struct symbols *s, uint64_t sizeless_max);

/* The symbol at the offset, or NULL; *ret_end is up to where that answer holds. */
const struct table_sym *table_find(const struct symbols *s, uint64_t offset, uint64_t *ret_end);
/* The same, fastest if the offset mostly grows from call to call. *hint is 0 at first. */
const struct table_sym *table_find_from(const struct symbols *s, size_t *hint, uint64_t offset,
					uint64_t *ret_end);
const char *table_name(const struct symbols *s, const struct table_sym *sym);

struct elf;

/* The symbols of an ELF file and of its separate debug file, if it has one. */
int table_load(const struct elf *e, const struct elf *debug, struct symbols **ret);
/* The same for data, by address in the file (not offset); those without a size are left out. */
int table_load_data(const struct elf *e, const struct elf *debug, struct symbols **ret);
/* The file inside .gnu_debugdata; see debugdata.c. */
int debugdata_unpack(const struct elf *e, struct buf *ret);

/* ---- for tests and fuzzers ---- */

/* Kernel symbols from the text of /proc/kallsyms, which becomes the table's. */
int kallsyms_parse(struct buf *text, struct symbols **ret);
int kallsyms_parse_data(struct buf *text, struct symbols **ret);

#endif
