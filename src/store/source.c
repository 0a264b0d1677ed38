// SPDX-License-Identifier: MIT
/* Reading chunks from bytes that may be hostile: see source.h. */
#include "store/source.h"

#include <string.h>

#include "base/err.h"
#include "store/expand.h"

static ssize_t read_memory(const struct byte_source *s, uint64_t offset, void *into, size_t n)
{
	if (offset >= s->size)
		return 0;
	if (n > s->size - offset)
		n = (size_t)(s->size - offset);
	memcpy(into, s->memory + offset, n);
	return (ssize_t)n;
}

int byte_source_begin(struct byte_source *s)
{
	ssize_t n = byte_source_read(s, 0, &s->head, sizeof(s->head));
	int rc;

	if (n < 0)
		return (int)n;
	rc = file_head_check(&s->head, (size_t)n, !s->no_checksums);
	if (rc)
		return rc;
	s->expander = expander_new();
	return s->expander ? 0 : err_set(-ENOMEM, "no memory for the decompressor");
}

int byte_source_open_memory(struct byte_source *s, const void *p, size_t n, bool no_checksums)
{
	*s = (struct byte_source){.read = read_memory,
				  .fd = -1,
				  .memory = p,
				  .size = n,
				  .no_checksums = no_checksums};
	return byte_source_begin(s);
}

void byte_source_close(struct byte_source *s)
{
	if (s->close)
		s->close(s);
	expander_free(s->expander);
	buf_done(&s->stored);
}

bool byte_source_head(const struct byte_source *s, uint64_t offset, struct chunk_head *ret)
{
	return byte_source_read(s, offset, ret, sizeof(*ret)) == sizeof(*ret) &&
	       chunk_head_ok(ret, s->head.salt, !s->no_checksums);
}

static int unpack_payload(struct byte_source *s, const struct chunk_head *h, const uint8_t *p,
			  struct buf *raw)
{
	int rc;

	buf_clear(raw);
	buf_reserve(raw, (size_t)h->raw + 1); /* not NULL, even if empty */
	if (h->flags & CHUNK_ZSTD) {
		rc = expander_run(s->expander, p, h->stored, raw->p, h->raw);
		if (rc)
			return rc;
	} else if (h->raw) {
		memcpy(raw->p, p, h->raw);
	}
	raw->len = h->raw;
	return 0;
}

/* The chunk as it is stored, header and all. */
static int byte_source_fetch(struct byte_source *s, const struct index_entry *e,
			     const uint8_t **ret)
{
	ssize_t got;

	if (e->bytes > HEAD_BYTES + (uint64_t)STORED_MAX)
		return err_set(-EBADMSG, "too large");
	if (s->memory && e->offset <= s->size && e->bytes <= s->size - e->offset) {
		*ret = s->memory + e->offset;
		return 0;
	}
	buf_clear(&s->stored);
	buf_reserve(&s->stored, (size_t)e->bytes);
	got = byte_source_read(s, e->offset, s->stored.p, (size_t)e->bytes);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got != e->bytes)
		return err_set(-EBADMSG, "the file ends inside it");
	*ret = s->stored.p;
	return 0;
}

static int store_source_load(struct byte_source *s, const struct index_entry *e, struct buf *raw)
{
	struct chunk_head h;
	const uint8_t *p = NULL;
	int rc = byte_source_fetch(s, e, &p);

	if (rc)
		return rc;
	memcpy(&h, p, sizeof(h));
	if (!chunk_head_ok(&h, s->head.salt, !s->no_checksums))
		return err_set(-EBADMSG, "its header is damaged");
	if (h.seq != e->seq || h.type != e->type || HEAD_BYTES + (uint64_t)h.stored != e->bytes)
		return err_set(-EBADMSG, "not the chunk that should be there");
	if (!s->no_checksums && h.payload_crc != format_crc(p + HEAD_BYTES, h.stored))
		return err_set(-EBADMSG, "wrong checksum");
	if (h.flags & ~CHUNK_FLAGS_KNOWN)
		return err_set(-EBADMSG, "stored in a way that this version does not know");
	return unpack_payload(s, &h, p + HEAD_BYTES, raw);
}

int byte_source_load(struct byte_source *s, const struct index_entry *e, struct buf *raw)
{
	int rc = store_source_load(s, e, raw);

	return rc ? err_add(rc, "chunk %u at byte %llu (%s)", e->seq, (unsigned long long)e->offset,
			    chunk_name(e->type))
		  : 0;
}
