/* SPDX-License-Identifier: MIT */
/*
 * The unwind table of one object: its call frame information compiled into the rows and rules of
 * wire/unwind.h. Addresses are those of the object itself (vaddr): a process that has loaded it
 * elsewhere subtracts its bias first.
 *
 * A table may lie in one piece, as it is built, or leaf by leaf on shelves (wire/probe.h).
 *
 * The same file always gives the same table. What it costs is bounded, whatever the file says:
 * UNWIND_ROWS_MAX rows, UNWIND_PIECES_MAX functions and UNWIND_SPAN_MAX of code.
 */
#ifndef THAW_UNWIND_TABLE_H
#define THAW_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "arch/unwind.h"

#define UNWIND_ROWS_MAX (16u << 20)
#define UNWIND_PIECES_MAX (2u << 20)
#define UNWIND_SPAN_MAX (2ull << 30)
/* A gap of so many bytes is alignment, and gets its neighbour's rule. */
#define UNWIND_GAP_MAX 15u
#define UNWIND_RULES_MAX 65536u

#define UNWIND_LEAVES_MAX (UNWIND_SPAN_MAX >> UNWIND_LEAF_SHIFT)
#define UNWIND_BUILD_ID_MAX 20u
#define UNWIND_LOADS_MAX 64u

/* Where an object's code is in its file and in its own addresses. */
struct unwind_load {
	uint64_t offset, size, vaddr;
};

struct unwind_table {
	uint64_t first; /* the address of leaf 0; a multiple of UNWIND_LEAF */
	uint32_t *dir;
	size_t n_leaves;
	uint32_t **shelves;	   /* word w is shelves[w >> SHELF_SHIFT][w % SHELF_WORDS] */
	struct unwind_rule *rules; /* 0 is UNWIND_CFA_NONE, 1 is UNWIND_CFA_UNKNOWN */
	size_t n_rules;
	size_t n_rows;
	/* Of a table in one piece: its leaves, one after the other. */
	uint32_t *words;
	size_t n_words;
	/* Of the object. */
	struct unwind_load *loads;
	size_t n_loads;
	uint8_t build_id[UNWIND_BUILD_ID_MAX];
	size_t build_id_len; /* 0: none, or not known */
	void *owned;	     /* what the arrays are in; NULL: each is its own */
};

/* In words: what it takes on shelves. */
static inline size_t unwind_table_size(const struct unwind_table *t)
{
	return t->n_leaves + t->n_words + 2 * t->n_rules + 1;
}

/*
 * -ENODATA if the object has no call frame information (for its code), -EFBIG above a limit, or
 * what reading it failed with.
 */
int unwind_table_build(const struct elf *elf, struct unwind_table **ret);
void unwind_table_free(struct unwind_table *t);
/* Makes `shelves` from the dir and words of a table in one piece. */
void unwind_table_shelve(struct unwind_table *t);
/* Checks untrusted bytes: 0 if they are a table in one piece, else -EBADMSG. */
int unwind_table_check(const struct unwind_table *t);

/* False: nothing is known of the address, or it is no code. */
bool unwind_table_find(const struct unwind_table *t, uint64_t vaddr, struct unwind_rule *ret);

#endif
