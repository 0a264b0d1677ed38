/* SPDX-License-Identifier: MIT */
/*
 * Bytes inside of a document: base64 in elements that a browser neither runs nor shows,
 *
 *   <script type="application/octet-stream" data-thaw="NAME">...</script>
 *
 * as many as are needed. Each is base64 of its own, so that a page can decode them one by one and
 * let them go; the bytes of all of them, in order, are what was put.
 */
#ifndef THAW_HTML_BLOCK_H
#define THAW_HTML_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	BLOCK_BYTES = 3 << 18, /* in an element; a multiple of three */
	BLOCK_LINE = 3 << 10,  /* encoded at a time */
};

struct block {
	FILE *out;
	const char *name;
	size_t in_element;
	uint8_t line[BLOCK_LINE]; /* not yet encoded */
	size_t n;
};

void block_begin(struct block *b, const char *name, FILE *out);
/* Both: 0, or an error with the message set if it cannot be written. */
int block_put(struct block *b, const void *p, size_t n);
int block_end(struct block *b);

/* The same, compressed on the way: gzip. */
struct zblock {
	struct block block;
	struct z_stream_s *z;
};

int zblock_begin(struct zblock *b, const char *name, FILE *out);
int zblock_put(struct zblock *b, const void *p, size_t n);
int zblock_end(struct zblock *b);
void zblock_done(struct zblock *b);

#endif
