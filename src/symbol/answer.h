/* SPDX-License-Identifier: MIT */
/*
 * What the sandboxed child says, as bytes in a pipe. The child is not trusted: the parser believes
 * nothing that it has not checked.
 *
 *   1 len bytes            a string; the first one is number 1. Its last byte is 0.
 *   2 skip count n frames  of the offsets that were asked for, in their order: the next `skip` have
 *                          no name, the `count` after them all have these n frames, innermost
 *                          first: name, file (0: unknown), line (0: unknown)
 *   3                      the end; nothing may follow
 *
 * All numbers are varints. Private to symbol/.
 */
#ifndef THAW_SYMBOL_ANSWER_H
#define THAW_SYMBOL_ANSWER_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/symbol.h"

struct answer {
	int fd;
	struct buf out;
	struct buf kept;  /* the strings, for comparing */
	VEC(size_t) at;	  /* where in `kept`, by number */
	struct map known; /* hash -> number */
	size_t next;	  /* the first offset not yet spoken of */
};

struct answer_frame {
	uint32_t name, file, line;
};

void answer_init(struct answer *a, int fd);
/* The string's number; 0 for NULL. The same string has the same number. */
uint32_t answer_string(struct answer *a, const char *s);
/* The offsets first .. first + count - 1 have these frames. `first` must only grow. */
void answer_run(struct answer *a, size_t first, size_t count, const struct answer_frame *frames,
		size_t n);
int answer_end(struct answer *a);

/* Gives each run to fn. n: how many offsets were asked for. Changes the bytes. */
int answer_parse(struct buf *bytes, size_t n, symbols_fn *fn, void *ctx);

#endif
