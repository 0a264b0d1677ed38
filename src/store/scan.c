// SPDX-License-Identifier: MIT
/*
 * Finding the chunks of a capture: see scan.h. A chunk header is valid by its magic, salt and
 * checksum; where one is expected and is not valid, the next valid one is searched byte by byte.
 * The salt keeps the pieces of an older capture, which a file system may leave in a torn file, out.
 */
#include "store/scan.h"

#include <string.h>

#include "base/err.h"

static struct index_entry entry_of(const struct chunk_head *h, uint64_t offset)
{
	return (struct index_entry){.offset = offset,
				    .bytes = HEAD_BYTES + (uint64_t)h->stored,
				    .ts_min = h->ts_min,
				    .ts_max = h->ts_max,
				    .seq = h->seq,
				    .items = h->items,
				    .type = h->type};
}

static int load_index(struct byte_source *s, struct index *x, uint64_t end_at,
		      const struct end_trailer *t)
{
	struct chunk_head head, end;
	struct buf raw = {0};
	struct index_entry e;
	int rc;

	if (t->index_offset < s->head.head_bytes || t->index_offset >= end_at ||
	    !byte_source_head(s, end_at, &end) || end.type != CHUNK_END ||
	    end_at + HEAD_BYTES + end.stored != s->size ||
	    !byte_source_head(s, t->index_offset, &head) || head.type != CHUNK_INDEX ||
	    t->index_offset + HEAD_BYTES + head.stored != end_at)
		return -ENOENT;
	e = entry_of(&head, t->index_offset);
	rc = byte_source_load(s, &e, &raw);
	if (!rc)
		rc = index_read(x, cur_init(raw.p, raw.len), s->head.head_bytes, t->index_offset);
	buf_done(&raw);
	if (rc || head.seq != x->list.n || end.seq != x->list.n + 1)
		return -ENOENT;
	vec_push(&x->list, e);
	vec_push(&x->list, entry_of(&end, end_at));
	return 0;
}

int scan_end(struct byte_source *s, struct index *x)
{
	struct end_trailer t;
	int rc;

	if (s->size < s->head.head_bytes + (uint64_t)HEAD_BYTES + sizeof(t) ||
	    byte_source_read(s, s->size - sizeof(t), &t, sizeof(t)) != sizeof(t) ||
	    t.magic != END_MAGIC || t.end_bytes > s->size - s->head.head_bytes ||
	    t.end_bytes < HEAD_BYTES + sizeof(t))
		return -ENOENT;
	rc = load_index(s, x, s->size - t.end_bytes, &t);
	if (rc)
		x->list.n = 0;
	return rc;
}

/* The first offset at or after `from` with a valid header, or the size of the file. */
static int scan_search(struct byte_source *s, uint64_t from, uint64_t *ret_at)
{
	enum { WINDOW = 64 << 10 };
	const uint32_t magic = CHUNK_MAGIC;
	uint8_t window[WINDOW];

	for (; from < s->size && s->size - from >= HEAD_BYTES; from += WINDOW - HEAD_BYTES + 1) {
		ssize_t n = byte_source_read(s, from, window, sizeof(window));
		uint8_t *p = window;

		if (n < 0)
			return (int)n;
		while (window + n - p >= HEAD_BYTES) {
			struct chunk_head h;

			p = memmem(p, (size_t)(window + n - p), &magic, sizeof(magic));
			if (!p || window + n - p < HEAD_BYTES)
				break;
			memcpy(&h, p, sizeof(h));
			if (chunk_head_ok(&h, s->head.salt, !s->no_checksums)) {
				*ret_at = from + (uint64_t)(p - window);
				return 0;
			}
			p++;
		}
	}
	*ret_at = s->size;
	return 0;
}

/* A chunk with a valid header at `pos`; *ret_pos is where the next one should be. */
static int take_chunk(struct byte_source *s, struct index *x, const struct chunk_head *h,
		      uint64_t pos, uint32_t *seq, uint64_t *ret_pos)
{
	struct index_entry e = entry_of(h, pos);
	int rc = 0;

	*ret_pos = pos + e.bytes;
	if (h->seq < *seq)
		/* A repeated piece: take only chunks in order. */
		e = (struct index_entry){.offset = pos, .bytes = e.bytes, .state = INDEX_GAP};
	else if (h->seq > *seq)
		vec_push(&x->list, (struct index_entry){.offset = pos, .state = INDEX_GAP});
	if (e.bytes > s->size - pos) {
		e.state = e.state == INDEX_GAP ? INDEX_GAP : INDEX_BAD;
		rc = scan_search(s, pos + HEAD_BYTES, ret_pos);
		e.bytes = *ret_pos - pos;
	}
	if (h->seq >= *seq)
		*seq = h->seq + 1;
	vec_push(&x->list, e);
	return rc;
}

int scan_all(struct byte_source *s, struct index *x)
{
	uint64_t pos = s->head.head_bytes;
	uint32_t seq = 0;
	int rc = 0;

	while (pos < s->size && !rc) {
		struct chunk_head h;
		uint64_t next = s->size;

		if (byte_source_head(s, pos, &h)) {
			rc = take_chunk(s, x, &h, pos, &seq, &next);
		} else {
			rc = scan_search(s, pos + 1, &next);
			vec_push(&x->list, (struct index_entry){.offset = pos,
								.bytes = next - pos,
								.state = INDEX_GAP});
			/* The gap stands for the missing chunk: do not add another. */
			if (!rc && next < s->size && byte_source_head(s, next, &h) && h.seq > seq)
				seq = h.seq;
		}
		pos = next;
	}
	return rc;
}

void scan_more(struct byte_source *s, struct index *x)
{
	const struct index_entry *last;
	struct chunk_head h;
	uint64_t pos = s->head.head_bytes;
	uint32_t seq = 0;

	while (x->list.n && x->list.v[x->list.n - 1].state != INDEX_CHUNK)
		x->list.n--;
	last = x->list.n ? &x->list.v[x->list.n - 1] : NULL;
	if (last) {
		pos = last->offset + last->bytes;
		seq = last->seq + 1;
	}
	while (pos < s->size && byte_source_head(s, pos, &h) && h.seq == seq &&
	       HEAD_BYTES + (uint64_t)h.stored <= s->size - pos) {
		vec_push(&x->list, entry_of(&h, pos));
		pos += HEAD_BYTES + (uint64_t)h.stored;
		seq++;
	}
}
