/* SPDX-License-Identifier: MIT */
/*
 * The code of an object, cut into pieces that are each described by one thing only: an FDE of
 * .eh_frame, one of .debug_frame where the former says nothing, or knowledge of our own: that a
 * program's entry point has no caller, and how startup code looks. Sorted, disjoint, none empty.
 */
#ifndef THAW_UNWIND_PIECES_H
#define THAW_UNWIND_PIECES_H

#include "base/vec.h"
#include "elf/cfi.h"

enum piece_kind {
	PIECE_EH,
	PIECE_DEBUG,
	PIECE_SIGNAL,
	PIECE_ENTRY,
	PIECE_BARE,	  /* the return address is on top of the stack, */
	PIECE_PUSHED,	  /* or below one word, */
	PIECE_PUSHED_RBP, /* which is the caller's rbp, */
	PIECE_FRAME,	  /* to which rbp points */
};

struct piece {
	uint32_t begin, end; /* from the object's first */
	uint32_t kind;
	uint32_t cie;		       /* of EH and DEBUG: their FDE, */
	uint32_t program, program_len; /* which begins and ends where its address says: */
	uint32_t fde_begin, fde_end;   /* it may reach further than the piece */
};

struct pieces {
	VEC(struct piece) list;
	struct cfi cfi[2]; /* by PIECE_EH and PIECE_DEBUG */
	uint64_t first;
};

int pieces_collect(const struct elf *e, struct pieces *ret);
void pieces_done(struct pieces *p);
/* startup.c: in what is not covered. */
void pieces_add_startup(struct pieces *p, const struct elf *e);

void pieces_rows(const struct pieces *p, const struct piece *piece, struct cfi_rows *ret);

#endif
