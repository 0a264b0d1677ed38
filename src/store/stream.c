// SPDX-License-Identifier: MIT
/*
 * The events of a capture one by one, a chunk at a time in memory. Where something is missing, a
 * LOST event of cause DAMAGED stands in its place and spans the time that it may have covered, on
 * all CPUs (cpu 0xffff).
 */
#include <string.h>

#include "base/err.h"
#include "store/reader_private.h"
#include "wire/loss.h"

/* The time up to which the chunks before `i` reach. */
static uint64_t time_before(const struct reader *r, size_t i, uint64_t otherwise)
{
	while (i--)
		if (r->index.list.v[i].type == CHUNK_EVENTS)
			return r->index.list.v[i].ts_max;
	return otherwise;
}

static uint64_t time_after(const struct reader *r, size_t i, uint64_t otherwise)
{
	while (++i < r->index.list.n)
		if (r->index.list.v[i].type == CHUNK_EVENTS)
			return r->index.list.v[i].ts_min;
	return otherwise;
}

static void lost(struct event *ev, uint32_t cause, uint64_t count, uint64_t from, uint64_t to)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = EV_LOST;
	ev->cpu = UINT16_MAX;
	ev->ts = to;
	ev->lost.cause = cause;
	ev->lost.count = count;
	ev->lost.span_ns = from < to ? to - from : 0;
}

/* The LOST event for a missing chunk, if that may have held events. */
static bool lost_for(const struct reader *r, size_t i, struct event *ev)
{
	const struct index_entry *e = &r->index.list.v[i];
	uint64_t from = time_before(r, i, r->info.start_mono_ns);

	if (e->state == INDEX_BAD && e->type == CHUNK_EVENTS)
		lost(ev, LOSS_DAMAGED, e->items, e->ts_min, e->ts_max);
	else if (e->state == INDEX_BAD && e->type == CHUNK_STACKS)
		lost(ev, LOSS_STACK_GONE, e->items, from, from);
	else if (e->state == INDEX_GAP && !(i && e[-1].type == CHUNK_END))
		lost(ev, LOSS_DAMAGED, 0, from, time_after(r, i, from));
	else
		return false;
	return true;
}

static int decode_here(struct reader *r, struct index_entry *e)
{
	int rc;

	r->batch = NULL;
	r->active = false;
	r->ts = e->ts_min;
	rc = byte_source_load(&r->source, e, &r->raw);
	if (rc == -EBADMSG) {
		reader_note_bad(r, e);
		return 0;
	}
	if (rc)
		return rc;
	r->active = true;
	/* On failure the decoder is empty and bad: the same path as damage further inside. */
	if (decoder_start(&r->decoder, r->raw.p, r->raw.len, e->ts_min))
		r->decoder.bad = true;
	return 0;
}

static int start_chunk(struct reader *r, struct index_entry *e)
{
	r->taken = 0;
	if (!r->ahead)
		return decode_here(r, e);
	r->batch = r->ahead_ops->take(r->ahead, r, r->at - 1, true);
	r->at_batch = 0;
	r->active = true;
	return r->batch->failed && !r->batch->n ? decode_here(r, e) : 0;
}

static int rest_is_lost(struct reader *r, const struct index_entry *e, const struct event **ret_ev)
{
	lost(&r->event, LOSS_DAMAGED, e->items > r->taken ? e->items - r->taken : 0, r->ts,
	     e->ts_max);
	*ret_ev = &r->event;
	return 1;
}

static int end_of_chunk(struct reader *r, int rc, const struct event **ret_ev)
{
	struct index_entry *e = &r->index.list.v[r->at - 1];

	r->active = false;
	if (!rc)
		return 0;
	reader_note_malformed(r, e);
	return rest_is_lost(r, e, ret_ev);
}

/*
 * The thread that reads ahead could not go on with the chunk: decode it again up to there, and go
 * on. If less is readable now, the file has changed under us.
 */
static int go_on_here(struct reader *r, const struct event **ret_ev)
{
	struct index_entry *e = &r->index.list.v[r->at - 1];
	int rc = decode_here(r, e);

	if (rc) {
		r->at = r->index.list.n;
		return rc;
	}
	if (!r->active)
		return rest_is_lost(r, e, ret_ev);
	for (uint64_t i = 0; i < r->taken; i++) {
		if (decoder_next(&r->decoder, &r->event) <= 0)
			break;
		r->ts = r->event.ts;
	}
	return 0;
}

/* The batch is used up. 0: on with the next one or with the decoder, if the chunk is active. */
static int next_batch(struct reader *r, const struct event **ret_ev)
{
	if (r->batch->failed)
		return go_on_here(r, ret_ev);
	r->active = !r->batch->end;
	if (!r->active)
		return 0;
	r->batch = r->ahead_ops->take(r->ahead, r, r->at - 1, false);
	r->at_batch = 0;
	return 0;
}

static int next_of_chunk(struct reader *r, const struct event **ret_ev)
{
	int rc;

	while (r->batch) {
		if (r->at_batch < r->batch->n) {
			*ret_ev = &r->batch->events[r->at_batch++];
			r->taken++;
			return 1;
		}
		rc = next_batch(r, ret_ev);
		if (rc || !r->active)
			return rc;
	}
	rc = decoder_next(&r->decoder, &r->event);
	if (rc <= 0)
		return end_of_chunk(r, rc, ret_ev);
	r->taken++;
	r->ts = r->event.ts;
	*ret_ev = &r->event;
	return 1;
}

int reader_next_ref(struct reader *r, const struct event **ret_ev)
{
	for (;;) {
		struct index_entry *e;
		int rc = r->active ? next_of_chunk(r, ret_ev) : 0;

		if (rc)
			return rc;
		if (r->at == r->index.list.n)
			return 0;
		e = &r->index.list.v[r->at++];
		if (e->state == INDEX_CHUNK && e->type == CHUNK_EVENTS)
			rc = start_chunk(r, e);
		if (rc) {
			r->at = r->index.list.n;
			return rc;
		}
		if (e->state != INDEX_CHUNK && lost_for(r, r->at - 1, &r->event)) {
			*ret_ev = &r->event;
			return 1;
		}
	}
}

int reader_next_many(struct reader *r, const struct event **ret_evs, size_t *ret_n)
{
	int rc = reader_next_ref(r, ret_evs);

	if (rc <= 0)
		return rc;
	*ret_n = 1;
	if (r->active && r->batch) {
		size_t more = r->batch->n - r->at_batch;

		*ret_n += more;
		r->taken += more;
		r->at_batch += more;
	}
	return 1;
}

int reader_next(struct reader *r, struct event *ret_ev)
{
	const struct event *ev;
	int rc = reader_next_ref(r, &ev);

	if (rc > 0)
		*ret_ev = *ev;
	return rc;
}

void reader_rewind(struct reader *r)
{
	r->at = 0;
	r->active = false;
}
