// SPDX-License-Identifier: MIT
/* Bytes as base64 and as gzip inside of a document: see block.h. */
#include "html/block.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/mem.h"

void block_begin(struct block *b, const char *name, FILE *out)
{
	*b = (struct block){.out = out, .name = name};
}

static size_t encode(char *to, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = to;

	for (; n >= 3; n -= 3, p += 3) {
		*at++ = digits[p[0] >> 2];
		*at++ = digits[(p[0] & 3) << 4 | p[1] >> 4];
		*at++ = digits[(p[1] & 15) << 2 | p[2] >> 6];
		*at++ = digits[p[2] & 63];
	}
	if (n) {
		*at++ = digits[p[0] >> 2];
		*at++ = digits[(p[0] & 3) << 4 | (n > 1 ? p[1] >> 4 : 0)];
		*at++ = n > 1 ? digits[(p[1] & 15) << 2] : '=';
		*at++ = '=';
	}
	return (size_t)(at - to);
}

static int block_check(struct block *b)
{
	return ferror(b->out) ? err_set(-errno, "%s", strerror(errno)) : 0;
}

static int put_line(struct block *b)
{
	char text[BLOCK_LINE / 3 * 4];

	errno = EIO;
	if (!b->in_element)
		fprintf(b->out, "<script type=\"application/octet-stream\" data-thaw=\"%s\">",
			b->name);
	fwrite(text, 1, encode(text, b->line, b->n), b->out);
	b->in_element += b->n;
	b->n = 0;
	if (b->in_element == BLOCK_BYTES) {
		fputs("</script>\n", b->out);
		b->in_element = 0;
	}
	return block_check(b);
}

int block_put(struct block *b, const void *p, size_t n)
{
	const uint8_t *at = p;

	while (n) {
		size_t part = BLOCK_LINE - b->n < n ? BLOCK_LINE - b->n : n;

		memcpy(b->line + b->n, at, part);
		b->n += part;
		at += part;
		n -= part;
		if (b->n == BLOCK_LINE) {
			int rc = put_line(b);

			if (rc)
				return rc;
		}
	}
	return 0;
}

int block_end(struct block *b)
{
	int rc = b->n ? put_line(b) : 0;

	if (!rc && b->in_element)
		fputs("</script>\n", b->out);
	return rc ? rc : block_check(b);
}

int zblock_begin(struct zblock *b, const char *name, FILE *out)
{
	/* By measurement: 9 takes ten times as long as 6, and saves 0.8% of the bytes. */
	enum { LEVEL = 6, GZIP = 16, WINDOW = 15, MEMORY = 9 };

	block_begin(&b->block, name, out);
	b->z = mem_zalloc(sizeof(*b->z));
	if (deflateInit2(b->z, LEVEL, Z_DEFLATED, WINDOW + GZIP, MEMORY, Z_DEFAULT_STRATEGY) ==
	    Z_OK)
		return 0;
	free(b->z);
	b->z = NULL;
	return err_set(-ENOMEM, "no memory for the compressor");
}

static int deflate_all(struct zblock *b, const void *p, size_t n, int flush)
{
	uint8_t out[1 << 14];
	int rc = 0;

	b->z->next_in = (Bytef *)p;
	b->z->avail_in = (uInt)n;
	do {
		b->z->next_out = out;
		b->z->avail_out = sizeof(out);
		deflate(b->z, flush);
		rc = block_put(&b->block, out, sizeof(out) - b->z->avail_out);
	} while (!rc && !b->z->avail_out);
	return rc;
}

int zblock_put(struct zblock *b, const void *p, size_t n)
{
	return deflate_all(b, p, n, Z_NO_FLUSH);
}

int zblock_end(struct zblock *b)
{
	int rc = deflate_all(b, NULL, 0, Z_FINISH);

	return rc ? rc : block_end(&b->block);
}

void zblock_done(struct zblock *b)
{
	if (b->z)
		deflateEnd(b->z);
	free(b->z);
	b->z = NULL;
}
