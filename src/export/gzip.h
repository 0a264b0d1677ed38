/* SPDX-License-Identifier: MIT */
/* A gzip file, written piece by piece. The same bytes give the same file: it has no time in it. */
#ifndef THAW_EXPORT_GZIP_H
#define THAW_EXPORT_GZIP_H

#include <stdio.h>
#include <zlib.h>

#include "base/buf.h"

struct gzip {
	z_stream z;
	FILE *out;
	uint8_t room[32768];
};

int gzip_begin(struct gzip *g, FILE *out);
int gzip_put(struct gzip *g, const void *p, size_t n);
/* Writes the end of it. */
int gzip_end(struct gzip *g);
/* After gzip_begin(), whatever happened since. */
void gzip_done(struct gzip *g);

#endif
