/* SPDX-License-Identifier: MIT */
/*
 * The unwind table of one object: its call frame information compiled into the rows and rules of
 * wire/unwind.h. Addresses are those of the object itself (vaddr): a process that has loaded it
 * elsewhere subtracts its bias first.
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
#include "wire/unwind.h"

#define UNWIND_ROWS_MAX (16u << 20)
#define UNWIND_PIECES_MAX (2u << 20)
#define UNWIND_SPAN_MAX (2ull << 30)
/* Code that nobody describes is described by its neighbour up to here: it is alignment. */
#define UNWIND_GAP_MAX 15u
#define UNWIND_RULES_MAX 65536u

struct unwind_table {
	uint64_t first; /* the address of block 0; a multiple of 64 KiB */
	struct unwind_row *rows;
	size_t n_rows;
	struct unwind_rule *rules; /* 0 is UNWIND_CFA_NONE, 1 is UNWIND_CFA_UNKNOWN */
	size_t n_rules;
	uint32_t *blocks; /* n_blocks + 1 of them: the last is n_rows */
	size_t n_blocks;
	size_t bytes; /* of the three arrays */
};

/*
 * -ENODATA if the object has no call frame information (for its code), -EFBIG above a limit, or
 * what reading it failed with.
 */
int unwind_table_build(const struct elf *elf, struct unwind_table **ret);
void unwind_table_free(struct unwind_table *t);

/* False: nothing is known of the address, or it is no code. */
bool unwind_table_find(const struct unwind_table *t, uint64_t vaddr, struct unwind_rule *ret);

#endif
