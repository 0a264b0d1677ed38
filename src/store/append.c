// SPDX-License-Identifier: MIT
/* Appending to a capture: see append.h. */
#include "store/append.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/err.h"
#include "base/units.h"

/*
 * By measurement, on a mixed load: level -1 writes 8.8 bytes a switch, 1 writes 6.9 in about the
 * same time, 2 and 3 write 7.0 in half as much again. Below 1 there is no entropy coding, which is
 * all that these columns need; above it the time goes into searching for repetitions that they do
 * not have. So level 1 searches less, too: for none that is shorter than 7 bytes, and by a small
 * table. That takes a third of the time off, and the file is no larger. (Loads that repeat
 * themselves take up to 3% more.)
 */
enum { ZSTD_LEVEL = 1, ZSTD_MATCH = 7, ZSTD_HASH = 10 };

static struct ZSTD_CCtx_s *compressor_new(void)
{
	static const struct {
		ZSTD_cParameter what;
		int value;
	} with[] = {{ZSTD_c_compressionLevel, ZSTD_LEVEL},
		    {ZSTD_c_minMatch, ZSTD_MATCH},
		    {ZSTD_c_hashLog, ZSTD_HASH}};
	ZSTD_CCtx *z = ZSTD_createCCtx();

	for (size_t i = 0; z && i < ARRAY_LEN(with); i++) {
		if (ZSTD_isError(ZSTD_CCtx_setParameter(z, with[i].what, with[i].value))) {
			ZSTD_freeCCtx(z);
			z = NULL;
		}
	}
	return z;
}

void chunk_free(struct chunk *c)
{
	if (!c)
		return;
	buf_done(&c->raw);
	vec_done(&c->seams.at);
	free(c);
}

static int write_at(int fd, const void *p, size_t n, uint64_t offset)
{
	const char *at = p;

	while (n) {
		ssize_t done = pwrite(fd, at, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_set(done ? -errno : -EIO, "writing at byte %llu: %s",
				       (unsigned long long)offset, strerror(done ? errno : EIO));
		at += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static struct writer_clock append_now(void)
{
	uint64_t before = clock_mono_ns(), unix_ns = real_ns(), after = clock_mono_ns();

	return (struct writer_clock){.unix_ns = unix_ns, .mono_ns = before + (after - before) / 2};
}

int append_init(struct append *a, int fd, const struct writer_clock *clock)
{
	struct writer_clock at = clock ? *clock : append_now();
	struct file_head h = {.start_unix_ns = at.unix_ns, .start_mono_ns = at.mono_ns};
	int rc;

	*a = (struct append){.fd = fd};
	if (getrandom(&a->salt, sizeof(a->salt), 0) != sizeof(a->salt))
		a->salt = clock_mono_ns() ^ ((uint64_t)getpid() << 40);
	h.salt = a->salt;
	file_head_seal(&h);
	rc = write_at(fd, &h, sizeof(h), 0);
	if (rc) {
		append_done(a);
		return rc;
	}
	a->offset = sizeof(h);
	a->zstd = compressor_new();
	if (!a->zstd) {
		append_done(a);
		return err_set(-ENOMEM, "no memory for the compressor");
	}
	return 0;
}

void append_done(struct append *a)
{
	ZSTD_freeCCtx(a->zstd);
	buf_done(&a->out);
	vec_done(&a->index.list);
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

/*
 * Makes one frame with a new block at each seam: every block has its own Huffman code, and a code
 * for two kinds of bytes suits neither. Returns the size, or 0 if it does not fit.
 */
static size_t compress_parts(struct append *a, const struct chunk *c, uint8_t *to, size_t room)
{
	ZSTD_inBuffer in = {.src = c->raw.p};
	ZSTD_outBuffer out = {.dst = to, .size = room};

	ZSTD_CCtx_reset(a->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(a->zstd, c->raw.len);
	for (size_t i = 0; i <= c->seams.at.n; i++) {
		bool last = i == c->seams.at.n;

		in.size = last ? c->raw.len : c->seams.at.v[i];
		if (ZSTD_compressStream2(a->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush))
			return 0;
	}
	return out.pos;
}

/* Header and payload in a->out. */
static void append_build(struct append *a, const struct chunk *c, bool compress)
{
	size_t n = c->raw.len, room = ZSTD_compressBound(n), stored = n;
	struct chunk_head h = {.type = c->type,
			       .seq = a->seq,
			       .ts_min = c->ts_min,
			       .ts_max = c->ts_max,
			       .salt = a->salt,
			       .items = c->items};

	buf_clear(&a->out);
	buf_reserve(&a->out, HEAD_BYTES + room);
	if (compress) {
		stored = compress_parts(a, c, a->out.p + HEAD_BYTES, room);
		if (stored && stored < n && chunk_sizes_ok(CHUNK_ZSTD, stored, n))
			h.flags = CHUNK_ZSTD;
	}
	if (!h.flags) {
		stored = n;
		if (n)
			memcpy(a->out.p + HEAD_BYTES, c->raw.p, n);
	}
	h.stored = (uint32_t)stored;
	h.raw = (uint32_t)n;
	h.payload_crc = format_crc(a->out.p + HEAD_BYTES, stored);
	chunk_head_seal(&h);
	memcpy(a->out.p, &h, sizeof(h));
	a->out.len = HEAD_BYTES + stored;
}

static int append_append(struct append *a, const struct chunk *c, bool compress)
{
	int rc;

	if (c->raw.len > RAW_MAX)
		return err_set(-EFBIG, "a chunk of %zu bytes is more than a reader takes",
			       c->raw.len);
	append_build(a, c, compress);
	rc = write_at(a->fd, a->out.p, a->out.len, a->offset);
	if (rc) {
		/* A torn chunk would cost the reader nothing, but it takes room that END needs. */
		if (ftruncate(a->fd, (off_t)a->offset))
			return err_add(rc, "a torn chunk remains");
		return rc;
	}
	vec_push(&a->index.list, (struct index_entry){.offset = a->offset,
						      .bytes = a->out.len,
						      .ts_min = c->ts_min,
						      .ts_max = c->ts_max,
						      .seq = a->seq,
						      .items = c->items,
						      .type = c->type});
	a->offset += a->out.len;
	a->seq++;
	return 0;
}

int append_chunk(struct append *a, const struct chunk *c)
{
	int rc = append_append(a, c, true);

	for (unsigned k = 0; k < EV_KINDS && !rc; k++)
		a->counts[k] += c->counts[k];
	return rc;
}

static int append_end(struct append *a, enum end_cause cause, uint64_t index_offset)
{
	struct chunk c = {.type = CHUNK_END};
	struct totals t = {.cause = cause};
	struct end_trailer trailer = {.index_offset = index_offset, .magic = END_MAGIC};
	int rc;

	for (unsigned k = 0; k < EV_KINDS; k++) {
		t.counts[k] = a->counts[k];
		t.events += a->counts[k];
	}
	totals_put(&c.raw, &t);
	trailer.end_bytes = (uint32_t)(HEAD_BYTES + c.raw.len + sizeof(trailer));
	buf_put(&c.raw, &trailer, sizeof(trailer));
	/* Not compressed: the trailer must be the last bytes of the file, as they are. */
	rc = append_append(a, &c, false);
	buf_done(&c.raw);
	return rc;
}

int append_seal(struct append *a, enum end_cause cause)
{
	struct chunk index = {.type = CHUNK_INDEX, .items = (uint32_t)a->index.list.n};
	uint64_t start = a->offset;
	int rc;

	index_put(&index.raw, &a->index, HEAD_BYTES);
	rc = append_append(a, &index, true);
	buf_done(&index.raw);
	if (!rc)
		rc = append_end(a, cause, start);
	if (!rc)
		return 0;
	if (ftruncate(a->fd, (off_t)start))
		return rc;
	if (a->offset > start) {
		a->offset = start;
		a->seq--;
	}
	return append_end(a, cause, 0);
}
