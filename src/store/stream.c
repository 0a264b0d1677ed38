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

/* What stands for a chunk that is not there, if it has to do with events. */
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

static int start_chunk(struct reader *r, struct index_entry *e)
{
	int rc;

	r->ready = r->ahead ? r->ahead_ops->take(r->ahead, r, r->at - 1, &r->n_ready) : NULL;
	if (r->ready) {
		r->active = true;
		r->taken = 0;
		return 0;
	}
	rc = source_load(&r->source, e, &r->raw);
	if (rc == -EBADMSG) {
		reader_note_bad(r, e);
		return 0;
	}
	if (rc)
		return rc;
	r->active = true;
	r->taken = 0;
	r->ts = e->ts_min;
	/* On failure the decoder is empty and bad: the same path as damage further inside. */
	if (decoder_start(&r->decoder, r->raw.p, r->raw.len, e->ts_min))
		r->decoder.bad = true;
	return 0;
}

static int end_of_chunk(struct reader *r, int rc, const struct event **ret_ev)
{
	struct index_entry *e = &r->index.list.v[r->at - 1];

	r->active = false;
	if (!rc)
		return 0;
	reader_note_malformed(r, e);
	lost(&r->event, LOSS_DAMAGED, e->items > r->taken ? e->items - r->taken : 0, r->ts,
	     e->ts_max);
	*ret_ev = &r->event;
	return 1;
}

static inline int next_of_chunk(struct reader *r, const struct event **ret_ev)
{
	int rc;

	if (r->ready) {
		*ret_ev = &r->ready[r->taken];
		r->active = r->taken++ < r->n_ready;
		return r->active;
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

void reader_seek(struct reader *r, uint64_t ts)
{
	size_t i = 0;

	for (; i < r->index.list.n; i++)
		if (r->index.list.v[i].type == CHUNK_EVENTS && r->index.list.v[i].ts_max >= ts)
			break;
	/* What is missing just before it may be missing after ts. */
	while (i && r->index.list.v[i - 1].type != CHUNK_EVENTS)
		i--;
	r->at = i;
	r->active = false;
}
