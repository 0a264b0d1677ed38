/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Unwind tables: the collector makes them, the probes walk by them, files keep them. What a rule
 * means depends on the architecture (arch/unwind.h).
 *
 * A table says for every address of an object how to get from a frame to its caller's:
 *
 *   dir[]     for every UNWIND_LEAF bytes of code: where its leaf is, or, where a single rule holds
 *             all over them (a hole, mostly), UNWIND_DIR_RULE and that rule
 *   leaf      for every UNWIND_BLOCK bytes of it: how many of its rows lie before; their number;
 *             the row that holds where it begins; its rows, sorted by address
 *   rules[]   the distinct rules; a row names one
 *
 * An address belongs to the last row at or before it: among the rows of its block, or the one just
 * before them. A row keeps the low 16 bits of its address: all that differs in a leaf. Gaps between
 * functions are rows with the rule UNWIND_CFA_NONE.
 */
#ifndef THAW_WIRE_UNWIND_H
#define THAW_WIRE_UNWIND_H

#include <linux/types.h>

#define UNWIND_BLOCK_SHIFT 10
#define UNWIND_BLOCK (1u << UNWIND_BLOCK_SHIFT)
#define UNWIND_LEAF_SHIFT 16
#define UNWIND_LEAF (1u << UNWIND_LEAF_SHIFT)
#define UNWIND_LEAF_BLOCKS (UNWIND_LEAF / UNWIND_BLOCK)
/* In words of four bytes: the blocks, the number of rows, the row before; then the rows. */
#define UNWIND_LEAF_HEAD (UNWIND_LEAF_BLOCKS + 2)
#define UNWIND_DIR_RULE 0x80000000u

enum unwind_stop {
#define STOP(id, UPPER, name, whole, words) UNWIND_STOP_##UPPER = id,
#include "wire/stop.def"
	UNWIND_STOPS,
};

/* In a list of addresses: the caller of this one, which follows it, was guessed. */
#define UNWIND_GUESSED (1ull << 63)
/* What stands between a frame and its guessed caller wherever stacks are shown. */
#define UNWIND_GUESS_NAME "[guessed]"

struct unwind_row {
	__u16 pc; /* the low bits of its address */
	__u16 rule;
};

#endif
