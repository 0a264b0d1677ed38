// SPDX-License-Identifier: MIT
/*
 * INDEX and END chunks. The index has a row for every chunk before it: bytes, type, items, ts_min,
 * ts_max. Offsets and sequence numbers follow from the order of the rows.
 */
#include "store/index.h"

#include "base/err.h"

void index_put(struct buf *out, const struct index *x, uint64_t start)
{
	buf_put_varint(out, start);
	buf_put_varint(out, x->list.n);
	for (size_t i = 0; i < x->list.n; i++) {
		const struct index_entry *e = &x->list.v[i];

		buf_put_varint(out, e->bytes);
		buf_put_varint(out, e->type);
		buf_put_varint(out, e->items);
		buf_put_varint(out, e->ts_min);
		buf_put_varint(out, e->ts_max);
	}
}

int index_read(struct index *x, struct cursor c, uint64_t start, uint64_t end)
{
	uint64_t offset = cur_varint(&c), n = cur_varint(&c);

	if (!cur_ok(&c) || offset != start || n > cur_left(&c) / 5)
		return err_set(-EBADMSG, "the index is malformed");
	for (uint64_t i = 0; i < n; i++) {
		struct index_entry e = {.offset = offset, .seq = (uint32_t)i};

		e.bytes = cur_varint(&c);
		e.type = (uint16_t)cur_varint(&c);
		e.items = (uint32_t)cur_varint(&c);
		e.ts_min = cur_varint(&c);
		e.ts_max = cur_varint(&c);
		if (!cur_ok(&c) || e.bytes < HEAD_BYTES || e.bytes > end - offset)
			return err_set(-EBADMSG, "the index is malformed");
		vec_push(&x->list, e);
		offset += e.bytes;
	}
	return offset == end ? 0 : err_set(-EBADMSG, "the index does not fit the file");
}

void totals_put(struct buf *out, const struct totals *t)
{
	unsigned n = 0;

	for (unsigned k = 0; k < EV_KINDS; k++)
		n += t->counts[k] != 0;
	buf_put_varint(out, (uint64_t)t->cause);
	buf_put_varint(out, t->events);
	buf_put_varint(out, n);
	for (unsigned k = 0; k < EV_KINDS; k++) {
		if (!t->counts[k])
			continue;
		buf_put_varint(out, k);
		buf_put_varint(out, t->counts[k]);
	}
}

int totals_read(struct totals *t, struct cursor c)
{
	uint64_t cause = cur_varint(&c), n;

	t->cause = cause >= END_DONE && cause <= END_STOPPED ? (enum end_cause)cause : END_ERROR;
	t->events = cur_varint(&c);
	n = cur_varint(&c);
	for (uint64_t i = 0; i < n && cur_ok(&c); i++) {
		uint64_t kind = cur_varint(&c), count = cur_varint(&c);

		if (kind < EV_KINDS)
			t->counts[kind] = count;
	}
	return cur_ok(&c) ? 0 : err_set(-EBADMSG, "the end mark is malformed");
}
