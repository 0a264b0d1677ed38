/* SPDX-License-Identifier: MIT */
/*
 * What the sandboxed child says, as bytes in a pipe. The child is not trusted: the parser checks
 * everything.
 *
 *   1 len bytes            a string; the first one is number 1. Its last byte is 0.
 *   2 skip count n frames  of the offsets that were asked for, in their order: the next `skip` have
 *                          no name, the `count` after them all have these n frames, innermost
 *                          first: name, file (0: unknown), line (0: unknown)
 *   4 skip count data      the same where names of data were asked for: the `count` lie in this
 *                          piece: name, begin, size, whole (0 or 1)
 *   3                      the end; nothing may follow
 *
 * All numbers are varints. An answer has pieces of the kind that was asked for, and no others.
 * Private to symbol/.
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
	size_t next;	  /* the first offset without an answer */
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
struct answer_data {
	uint32_t name;
	uint64_t begin, size;
	bool whole;
};

/* The same for data. */
void answer_data(struct answer *a, size_t first, size_t count, const struct answer_data *d);
int answer_end(struct answer *a);

/* Gives each run to fn. n: how many offsets were asked for. Changes the bytes. */
int answer_parse(struct buf *bytes, size_t n, symbols_fn *fn, void *ctx);
/* The same for data; each address asked for must lie in its piece. */
int answer_parse_data(struct buf *bytes, const uint64_t *asked, size_t n, symbols_data_fn *fn,
		      void *ctx);

#endif
