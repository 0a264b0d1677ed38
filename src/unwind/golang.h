/* SPDX-License-Identifier: MIT */
/*
 * What a Go program knows of its own stacks. Go has no .eh_frame: its runtime walks stacks by a
 * table of its own, which every program has, stripped or not. For every function it says how much
 * of the stack each instruction uses, and whether a walk ends there.
 *
 * Go 1.18 and later, x86-64. The bytes may be hostile: entries out of range are skipped.
 */
#ifndef THAW_UNWIND_GOLANG_H
#define THAW_UNWIND_GOLANG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "elf/elf.h"

struct golang {
	struct buf bytes;
	uint64_t text;			 /* its addresses count from here */
	uint64_t names, rows, functions; /* where these begin */
	uint32_t n;			 /* functions */
	uint32_t flags_at;		 /* in a function's record */
};

/* How to walk out of a function. */
enum golang_kind {
	GOLANG_PLAIN,
	GOLANG_END,   /* the outermost of its stack */
	GOLANG_OTHER, /* changes stacks and returns: by its frame pointer */
};

struct golang_function {
	uint64_t begin, end;
	uint32_t rows;
	enum golang_kind kind;
};

/* -ENODATA if it is no Go program, or of a version that is not known. */
int golang_open(const struct elf *e, struct golang *ret);
void golang_done(struct golang *g);
/* False: the i-th function is damaged. */
bool golang_function(const struct golang *g, const struct elf *e, uint32_t i,
		     struct golang_function *ret);

/* From `begin` up to `end` of a row, the return address is `depth` bytes above rsp. */
struct golang_rows {
	struct cursor cur;
	uint64_t end;
	int64_t depth;
	bool first;
};

void golang_rows_init(const struct golang *g, uint64_t begin, uint32_t rows,
		      struct golang_rows *ret);
bool golang_rows_next(struct golang_rows *r);

#endif
