// SPDX-License-Identifier: MIT
#include "export/gzip.h"

#include <string.h>

#include "base/err.h"

enum { GZIP = 16 }; /* added to the window's bits: zlib's way to ask for this header */

int gzip_begin(struct gzip *g, FILE *out)
{
	memset(&g->z, 0, sizeof(g->z));
	g->out = out;
	if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(-ENOMEM, "no memory to compress with");
	return 0;
}

static int feed(struct gzip *g, const void *p, size_t n, int flush)
{
	g->z.next_in = (Bytef *)p;
	g->z.avail_in = (uInt)n;
	do {
		size_t got;

		g->z.next_out = g->room;
		g->z.avail_out = sizeof(g->room);
		deflate(&g->z, flush);
		got = sizeof(g->room) - g->z.avail_out;
		errno = EIO;
		if (fwrite(g->room, 1, got, g->out) != got)
			return err_set(-errno, "%s", strerror(errno));
	} while (!g->z.avail_out);
	return 0;
}

int gzip_put(struct gzip *g, const void *p, size_t n)
{
	const uint8_t *at = p;
	int rc = 0;

	while (!rc && n) {
		size_t part = n < 1u << 30 ? n : 1u << 30;

		rc = feed(g, at, part, Z_NO_FLUSH);
		at += part;
		n -= part;
	}
	return rc;
}

int gzip_end(struct gzip *g)
{
	return feed(g, NULL, 0, Z_FINISH);
}

void gzip_done(struct gzip *g)
{
	deflateEnd(&g->z);
}
