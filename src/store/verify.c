// SPDX-License-Identifier: MIT
/*
 * Reads every byte of a capture again and believes nothing: checksums, contents, counts. A reader
 * that opened a file has seen its tables, but of its events only the headers.
 */
#include "base/err.h"
#include "store/reader_private.h"

struct verify_check {
	struct decoder decoder;
	struct capture_facts facts;
	struct modules modules;
	struct stored_stacks stacks;
	struct symtab *symtab;
	struct totals seen, written;
	struct index index;
};

static int check_events(struct verify_check *k, const struct index_entry *e, const struct buf *raw)
{
	uint64_t n = 0;
	struct event ev;
	int rc = decoder_start(&k->decoder, raw->p, raw->len, e->ts_min);

	if (rc)
		return rc;
	while ((rc = decoder_next(&k->decoder, &ev)) > 0) {
		if (ev.ts < e->ts_min || ev.ts > e->ts_max)
			return err_set(-EBADMSG, "an event lies outside its time range");
		k->seen.counts[ev.kind]++;
		n++;
	}
	n += k->decoder.unknown;
	k->decoder.unknown = 0;
	k->seen.events += n;
	if (!rc && n != e->items)
		return err_set(-EBADMSG, "%u events expected, %llu found", e->items,
			       (unsigned long long)n);
	return rc;
}

static int check_chunk(struct verify_check *k, struct reader *r, const struct index_entry *e,
		       const struct buf *raw)
{
	struct cursor c = cur_init(raw->p, raw->len);

	switch (e->type) {
	case CHUNK_META:
		return facts_read(&k->facts, c);
	case CHUNK_MODULES:
		return modules_read(&k->modules, c, r->max_index);
	case CHUNK_STACKS:
		return stacks_read(&k->stacks, c, r->max_index);
	case CHUNK_EVENTS:
		return check_events(k, e, raw);
	case CHUNK_SYMBOLS:
		return symbols_read(k->symtab, c);
	case CHUNK_DATA:
		return symdata_read(symtab_data(k->symtab), c);
	case CHUNK_INDEX:
		return index_read(&k->index, c, r->source.head.head_bytes, e->offset);
	case CHUNK_END:
		return totals_read(&k->written, c);
	}
	return 0;
}

static int check_index(const struct verify_check *k, const struct reader *r)
{
	for (size_t i = 0; i < k->index.list.n; i++) {
		const struct index_entry *a = &k->index.list.v[i], *b = reader_chunk(r, i);

		if (!b || a->offset != b->offset || a->bytes != b->bytes || a->type != b->type ||
		    a->items != b->items || a->ts_min != b->ts_min || a->ts_max != b->ts_max)
			return err_set(-EBADMSG, "the index is wrong about chunk %zu", i);
	}
	return 0;
}

static int check_totals(const struct verify_check *k)
{
	for (unsigned i = 0; i < EV_KINDS; i++)
		if (k->seen.counts[i] != k->written.counts[i])
			return err_set(-EBADMSG, "%llu events %s were written, %llu are there",
				       (unsigned long long)k->written.counts[i], event_name(i),
				       (unsigned long long)k->seen.counts[i]);
	return 0;
}

static int check_all(struct verify_check *k, struct reader *r, struct buf *raw)
{
	for (size_t i = 0; i < r->index.list.n; i++) {
		struct index_entry *e = &r->index.list.v[i];
		struct chunk_head h;
		int rc;

		if (e->state != INDEX_CHUNK || e->malformed)
			continue; /* said already */
		rc = byte_source_load(&r->source, e, raw);
		if (rc == -EBADMSG)
			reader_note_bad(r, e);
		if (rc)
			return rc;
		if (byte_source_head(&r->source, e->offset, &h) &&
		    (h.ts_min != e->ts_min || h.ts_max != e->ts_max || h.items != e->items))
			return err_set(-EBADMSG, "the index is wrong about chunk %zu", i);
		rc = check_chunk(k, r, e, raw);
		if (rc == -EBADMSG)
			reader_note_malformed(r, e);
		if (rc)
			return err_add(rc, "chunk %u at byte %llu (%s)", e->seq,
				       (unsigned long long)e->offset, chunk_name(e->type));
	}
	return 0;
}

int reader_verify(struct reader *r)
{
	struct verify_check k = {.symtab = symtab_new()};
	struct buf raw = {0};
	int rc;

	decoder_init(&k.decoder);
	rc = check_all(&k, r, &raw);
	if (!rc && !r->intact)
		rc = err_set(-EBADMSG, "%s", r->info.damage);
	if (!rc && r->info.sealed)
		rc = check_index(&k, r);
	if (!rc && r->info.sealed)
		rc = check_totals(&k);
	decoder_done(&k.decoder);
	facts_done(&k.facts);
	modules_done(&k.modules);
	stacks_done(&k.stacks);
	symtab_free(k.symtab);
	vec_done(&k.index.list);
	buf_done(&raw);
	return rc;
}
