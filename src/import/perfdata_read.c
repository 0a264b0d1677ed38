// SPDX-License-Identifier: MIT
/*
 * Records in the order of the file. They are read into blocks of memory, and stay there while
 * somebody holds the block; a record that a block's end cuts is carried over to the next one.
 * Compressed records hold a zstd stream, whose output is a run of records again: it is read in the
 * same way, before the file goes on. However long it is, it comes block by block.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/err.h"
#include "import/perfdata.h"

#define BLOCK_BYTES (1u << 20)
#define RECORD_MAX (64u << 10) /* its size has 16 bits */

struct feed {
	struct pd_block *block;
	size_t pos;
};

struct pd_reader {
	struct pd_file *f;
	uint64_t at;	       /* in the file: what comes next into a block */
	struct feed file, zst; /* the file's own, and what was compressed */
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;	   /* of the compressed record at hand, */
	struct pd_block *in_block; /* which lies here */
	bool more;		   /* the stream holds more output than it had room for */
	bool cut;
};

struct pd_reader *pd_reader_new(struct pd_file *f)
{
	struct pd_reader *r = mem_zalloc(sizeof(*r));

	r->f = f;
	r->at = f->data_at;
	return r;
}

void pd_block_hold(struct pd_block *b)
{
	b->refs++;
}

void pd_block_put(struct pd_block *b)
{
	if (b && !--b->refs)
		free(b);
}

void pd_reader_free(struct pd_reader *r)
{
	if (!r)
		return;
	pd_block_put(r->file.block);
	pd_block_put(r->zst.block);
	pd_block_put(r->in_block);
	ZSTD_freeDStream(r->stream);
	free(r);
}

bool pd_reader_cut(const struct pd_reader *r)
{
	return r->cut;
}

double pd_reader_done(const struct pd_reader *r)
{
	uint64_t all = r->f->data_end - r->f->data_at;

	return all ? (double)(r->at - r->f->data_at) / (double)all : 1;
}

/* ---- blocks ---- */

static size_t perfdata_read_left(const struct feed *fd)
{
	return fd->block ? fd->block->len - fd->pos : 0;
}

/* Makes room for another record's bytes after those that are there. */
static void import_read_make_room(struct feed *fd)
{
	struct pd_block *old = fd->block, *b;
	size_t keep = perfdata_read_left(fd);

	if (old && old->room - old->len >= RECORD_MAX)
		return;
	b = mem_alloc(sizeof(*b) + BLOCK_BYTES + RECORD_MAX);
	*b = (struct pd_block){.refs = 1, .len = keep, .room = BLOCK_BYTES + RECORD_MAX};
	if (keep)
		memcpy(b->data, old->data + fd->pos, keep);
	pd_block_put(old);
	fd->block = b;
	fd->pos = 0;
}

/* 1 and a whole record, 0: more bytes are needed. */
static int perfdata_read_take(struct pd_reader *r, struct feed *fd, const uint8_t **ret,
			      size_t *ret_len)
{
	struct perf_event_header h;

	if (perfdata_read_left(fd) < sizeof(h))
		return 0;
	memcpy(&h, fd->block->data + fd->pos, sizeof(h));
	if (h.size < sizeof(h))
		return err_set(-EBADMSG, "%s is damaged: a record of %u bytes%s", r->f->path,
			       h.size, fd == &r->file ? "" : ", in what was compressed");
	if (perfdata_read_left(fd) < h.size)
		return 0;
	*ret = fd->block->data + fd->pos;
	*ret_len = h.size;
	fd->pos += h.size;
	return 1;
}

/* ---- the file ---- */

/* 1, 0 at its end. */
static int fill_file(struct pd_reader *r)
{
	uint64_t rest = r->f->data_end - r->at;
	struct pd_block *b;
	ssize_t got;
	size_t n;

	if (!rest) {
		r->cut |= perfdata_read_left(&r->file) > 0;
		return 0;
	}
	import_read_make_room(&r->file);
	b = r->file.block;
	n = b->room - b->len < rest ? b->room - b->len : rest;
	do
		got = pread(r->f->fd, b->data + b->len, n, (off_t)r->at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set(-errno, "%s: %s", r->f->path, strerror(errno));
	if (!got) {
		r->cut = true;
		return 0;
	}
	b->len += (size_t)got;
	r->at += (uint64_t)got;
	return 1;
}

int pd_reader_skip(struct pd_reader *r, uint64_t len)
{
	uint64_t have = perfdata_read_left(&r->file), n = len < have ? len : have;

	r->file.pos += n;
	len -= n;
	if (len > r->f->data_end - r->at) {
		r->cut = true;
		len = r->f->data_end - r->at;
	}
	r->at += len;
	return 0;
}

int pd_reader_extra(struct pd_reader *r, size_t len, uint8_t **ret)
{
	size_t have = 0;
	uint8_t *to;
	int rc;

	if (len > perfdata_read_left(&r->file) + (r->f->data_end - r->at))
		return err_set(-EBADMSG, "%s is cut off", r->f->path);
	to = mem_alloc(len + 1);
	while (have < len) {
		size_t n = perfdata_read_left(&r->file) < len - have ? perfdata_read_left(&r->file)
								     : len - have;

		if (n)
			memcpy(to + have, r->file.block->data + r->file.pos, n);
		r->file.pos += n;
		have += n;
		rc = have < len ? fill_file(r) : 1;
		if (rc <= 0) {
			free(to);
			return rc ? rc : err_set(-EBADMSG, "%s is cut off", r->f->path);
		}
	}
	*ret = to;
	return 0;
}

/* ---- what was compressed ---- */

static int begin_compressed(struct pd_reader *r, const uint8_t *rec, size_t len)
{
	struct perf_event_header h;
	size_t at = sizeof(h), n;
	uint64_t size;

	memcpy(&h, rec, sizeof(h));
	n = len - at;
	if (h.type == PD_COMPRESSED2) {
		if (n < 8)
			return err_set(-EBADMSG, "%s is damaged: a compressed record is too short",
				       r->f->path);
		memcpy(&size, rec + at, 8);
		at += 8;
		n = size < len - at ? size : len - at;
	}
	if (!r->stream)
		r->stream = ZSTD_createDStream();
	if (!r->stream)
		return err_set(-ENOMEM, "no memory to decompress with");
	pd_block_hold(r->file.block);
	pd_block_put(r->in_block);
	r->in_block = r->file.block;
	r->in = (ZSTD_inBuffer){.src = rec + at, .size = n};
	r->more = true;
	return 0;
}

/* 1, 0: the record at hand has no more. */
static int fill_zst(struct pd_reader *r)
{
	ZSTD_outBuffer out;
	struct pd_block *b;
	size_t rc, before;

	if (!r->more)
		return 0;
	import_read_make_room(&r->zst);
	b = r->zst.block;
	out = (ZSTD_outBuffer){.dst = b->data, .size = b->room, .pos = b->len};
	before = r->in.pos;
	rc = ZSTD_decompressStream(r->stream, &out, &r->in);
	if (ZSTD_isError(rc))
		return err_set(-EBADMSG,
			       "%s is damaged: its compressed records cannot be unpacked (%s)",
			       r->f->path, ZSTD_getErrorName(rc));
	r->more = r->in.pos < r->in.size || out.pos == out.size;
	if (out.pos == b->len && r->in.pos == before && r->in.pos < r->in.size)
		return err_set(-EBADMSG, "%s is damaged: its compressed records cannot be unpacked",
			       r->f->path);
	b->len = out.pos;
	return 1;
}

int pd_next(struct pd_reader *r, const uint8_t **ret, size_t *ret_len, struct pd_block **ret_block)
{
	struct perf_event_header h;
	int rc;

	for (;;) {
		rc = perfdata_read_take(r, &r->zst, ret, ret_len);
		if (rc) {
			*ret_block = r->zst.block;
			return rc;
		}
		rc = fill_zst(r);
		if (rc < 0)
			return rc;
		if (rc)
			continue;
		while (!(rc = perfdata_read_take(r, &r->file, ret, ret_len))) {
			rc = fill_file(r);
			if (rc <= 0)
				return rc;
		}
		if (rc < 0)
			return rc;
		memcpy(&h, *ret, sizeof(h));
		if (h.type != PD_COMPRESSED && h.type != PD_COMPRESSED2) {
			*ret_block = r->file.block;
			return 1;
		}
		rc = begin_compressed(r, *ret, *ret_len);
		if (rc)
			return rc;
	}
}
