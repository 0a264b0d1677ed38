/* SPDX-License-Identifier: MIT */
/*
 * The code of an object, cut into pieces, each with one description: an FDE of .eh_frame, or of
 * .debug_frame where that says nothing; a function of Go's own table; or our own knowledge that a
 * program's entry point has no caller, and how startup code looks. Sorted, disjoint, none empty.
 */
#ifndef THAW_UNWIND_PIECES_H
#define THAW_UNWIND_PIECES_H

#include "base/vec.h"
#include "elf/cfi.h"
#include "unwind/golang.h"

enum piece_kind {
	PIECE_EH,
	PIECE_DEBUG,
	PIECE_GO,	/* by the rows of a function of Go, */
	PIECE_GO_OTHER, /* which may be on another stack than its caller */
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
	uint32_t program, program_len; /* (of GO: its rows) */
	uint32_t fde_begin, fde_end;   /* its range, which may exceed the piece */
};

struct pieces {
	VEC(struct piece) list;
	struct cfi cfi[2]; /* by PIECE_EH and PIECE_DEBUG */
	struct golang golang;
	uint64_t first;
};

int pieces_collect(const struct elf *e, struct pieces *ret);
void pieces_done(struct pieces *p);
/* startup.c: adds pieces where no other is. */
void pieces_add_startup(struct pieces *p, const struct elf *e);

void pieces_rows(const struct pieces *p, const struct piece *piece, struct cfi_rows *ret);

#endif
