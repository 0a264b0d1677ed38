// SPDX-License-Identifier: MIT
/*
 * Copying a capture without compression: see plain.h. Chunks are numbered anew, and a number is
 * left out where one was missing.
 */
#include "store/plain.h"

#include "base/err.h"
#include "store/reader_private.h"
#include "wire/meta.h"

struct plain {
	struct reader *r;
	plain_put *put;
	void *arg;
	uint32_t seq;
	bool named; /* the capture has names of its own */
};

/* `crc` is that of the payload, or a wrong one to mark the chunk as damaged. */
static int put_chunk(struct plain *p, struct chunk_head h, const struct buf *raw, uint32_t crc)
{
	int rc;

	h.seq = p->seq++;
	h.stored = h.raw = (uint32_t)raw->len;
	h.payload_crc = crc;
	h.salt = p->r->source.head.salt;
	chunk_head_seal(&h);
	rc = p->put(p->arg, &h, sizeof(h));
	return rc || !raw->len ? rc : p->put(p->arg, raw->p, raw->len);
}

static int put_whole(struct plain *p, struct chunk_head h, const struct buf *raw)
{
	return put_chunk(p, h, raw, format_crc(raw->p, raw->len));
}

static struct chunk_head head_of(const struct index_entry *e)
{
	return (struct chunk_head){
		.type = e->type, .ts_min = e->ts_min, .ts_max = e->ts_max, .items = e->items};
}

/* Writes a varint without an end, so that readers that ignore checksums reject the chunk too. */
static int put_bad(struct plain *p, const struct index_entry *e)
{
	uint8_t byte = 0x80;
	struct buf raw = {.p = &byte, .len = 1};

	return put_chunk(p, head_of(e), &raw, ~format_crc(&byte, 1));
}

static int put_gap(struct plain *p, const struct index_entry *e)
{
	if (e->bytes)
		return p->put(p->arg, "", 1);
	p->seq++;
	return 0;
}

static int put_symbols(struct plain *p)
{
	struct symtab *st = p->r->symtab;
	size_t n = symtab_count(st);
	struct symtab_entry *sorted;
	struct buf raw = {0};
	int rc = 0;

	symbols_sort(st, &sorted);
	for (size_t done = 0; done < n && !rc;) {
		struct chunk_head h = {.type = CHUNK_SYMBOLS};

		buf_clear(&raw);
		h.items = (uint32_t)symbols_put(&raw, sorted + done, n - done, SYMBOL_CHUNK_BYTES);
		done += h.items;
		rc = put_whole(p, h, &raw);
	}
	free(sorted);
	for (size_t done = 0; done < symtab_data_count(st) && !rc;) {
		struct chunk_head h = {.type = CHUNK_DATA};

		buf_clear(&raw);
		h.items = (uint32_t)symdata_put(&raw, symtab_data(st), done, SYMBOL_CHUNK_BYTES);
		done += h.items;
		rc = put_whole(p, h, &raw);
	}
	buf_done(&raw);
	return rc;
}

/* Writes what is known of the capture only now, before its end. */
static int put_last(struct plain *p)
{
	struct buf raw = {0};
	int rc = 0;

	if (p->r->info.damage[0]) {
		facts_put(&raw, META_COPY_DAMAGE, p->r->info.damage);
		rc = put_whole(p, (struct chunk_head){.type = CHUNK_META, .items = 1}, &raw);
	}
	buf_done(&raw);
	return rc || p->named ? rc : put_symbols(p);
}

static int put_end(struct plain *p)
{
	struct end_trailer t = {.magic = END_MAGIC};
	struct buf raw = {0};
	int rc;

	totals_put(&raw, &p->r->totals);
	t.end_bytes = (uint32_t)(HEAD_BYTES + raw.len + sizeof(t));
	buf_put(&raw, &t, sizeof(t));
	rc = put_whole(p, (struct chunk_head){.type = CHUNK_END}, &raw);
	buf_done(&raw);
	return rc;
}

static int copy_chunk(struct plain *p, struct index_entry *e)
{
	int rc = byte_source_load(&p->r->source, e, &p->r->raw);

	if (rc == -EBADMSG) {
		reader_note_bad(p->r, e);
		return put_bad(p, e);
	}
	return rc ? rc : put_whole(p, head_of(e), &p->r->raw);
}

static int copy_entry(struct plain *p, struct index_entry *e)
{
	if (e->state == INDEX_GAP)
		return put_gap(p, e);
	if (e->state == INDEX_BAD)
		return put_bad(p, e);
	if (e->type == CHUNK_END && !e->malformed) {
		int rc = put_last(p);

		return rc ? rc : put_end(p);
	}
	return e->type == CHUNK_INDEX ? 0 : copy_chunk(p, e);
}

static int copy_all(struct plain *p)
{
	struct file_head head = p->r->source.head;
	struct index *x = &p->r->index;
	bool ended = false;
	int rc;

	head.head_bytes = HEAD_BYTES;
	file_head_seal(&head);
	rc = p->put(p->arg, &head, sizeof(head));
	for (size_t i = 0; i < x->list.n; i++)
		p->named |= x->list.v[i].type == CHUNK_SYMBOLS;
	for (size_t i = 0; i < x->list.n && !rc; i++) {
		rc = copy_entry(p, &x->list.v[i]);
		ended |= x->list.v[i].type == CHUNK_END;
	}
	return rc || ended ? rc : put_last(p);
}

int plain_copy(struct reader *r, plain_put *put, void *arg)
{
	struct plain p = {.r = r, .put = put, .arg = arg};
	int rc = copy_all(&p);

	reader_rewind(r);
	return rc;
}
