// SPDX-License-Identifier: MIT
/* The values of rows that come from a walk over the recording: of waits, wakes and losses. */
#include "export/tables.h"

#include "store/words.h"
#include "wire/loss.h"

static void wait_waker(const struct tables *t, const struct table_wait *w, unsigned column,
		       struct cell *c)
{
	bool interrupt = w->ctx != WAKE_TASK || !w->waker_tid;

	switch (column) {
	case COL(WAITS, waker):
		cell_word(c, interrupt ? "interrupt" : "thread");
		break;
	case COL(WAITS, waker_id):
		cell_thread(c, interrupt ? NULL : w->waker);
		break;
	case COL(WAITS, waker_tid):
		cell_id(c, interrupt ? 0 : w->waker_tid);
		break;
	case COL(WAITS, waker_stack):
		cell_id(c, (uint64_t)tables_stack(t, w->waker_kstack, w->waker_ustack, true));
		break;
	}
}

void tables_wait(const struct tables *t, const struct table_wait *w, unsigned column,
		 struct cell *c)
{
	const struct wait_row *r = w->row;

	cell_null(c);
	switch (column) {
	case COL(WAITS, reason):
		cell_word(c, reason_name(r->verdict.reason));
		break;
	case COL(WAITS, evidence):
		cell_word(c, evidence_name(r->verdict.evidence));
		break;
	case COL(WAITS, idle_in):
		if (reason_is_idle(r->verdict.reason))
			cell_word(c, reason_name(r->in));
		break;
	case COL(WAITS, lock_id):
		if (r->lock)
			cell_int(c, locks_index(&t->m->locks, r->lock));
		break;
	case COL(WAITS, holder_id):
		if (w->holder)
			cell_int(c, w->holder - 1);
		break;
	case COL(WAITS, stack):
		cell_id(c, (uint64_t)tables_stack(t, r->kstack, r->ustack, true));
		break;
	default:
		if (w->woken)
			wait_waker(t, w, column, c);
	}
}

void tables_wake(const struct tables *t, const struct event *ev, unsigned column, struct cell *c)
{
	const struct ev_waking *w = &ev->waking;
	unsigned ctx = w->ctx & WAKE_CTX;

	cell_null(c);
	switch (column) {
	case COL(WAKES, ts):
		cell_int(c, (uint64_t)tables_time(t, ev->ts));
		break;
	case COL(WAKES, cpu):
		cell_int(c, ev->cpu);
		break;
	case COL(WAKES, wakee_id):
		cell_thread(c, tables_thread_at(t, w->wakee, ev->ts));
		break;
	case COL(WAKES, wakee_tid):
		cell_int(c, w->wakee);
		break;
	case COL(WAKES, waker_id):
		if (ctx == WAKE_TASK)
			cell_thread(c, tables_thread_at(t, w->waker, ev->ts));
		break;
	case COL(WAKES, waker_tid):
		if (ctx == WAKE_TASK)
			cell_id(c, w->waker);
		break;
	case COL(WAKES, context):
		cell_word(c, event_word(ROLE_CONTEXT, ctx));
		break;
	case COL(WAKES, release):
		cell_int(c, (w->ctx & WAKE_RELEASE) != 0);
		break;
	case COL(WAKES, stack):
		cell_id(c, (uint64_t)tables_stack(t, w->kstack, w->ustack, true));
		break;
	}
}

static const char *loss_class_name(uint32_t cause)
{
	static const enum loss_class classes[LOSS_CAUSES] = {
#define LOSS(id, UPPER, name, class, words, advice) [id] = LOSS_CLASS_##class,
#include "wire/loss.def"
	};

	switch (cause < LOSS_CAUSES ? classes[cause] : LOSS_CLASS_EVENT) {
	case LOSS_CLASS_SAMPLE:
		return "sample";
	case LOSS_CLASS_STACK:
		return "stack";
	default:
		return "event";
	}
}

void tables_loss(const struct tables *t, const struct event *ev, unsigned column, struct cell *c)
{
	const struct ev_lost *l = &ev->lost;

	cell_null(c);
	switch (column) {
	case COL(LOSSES, start):
		cell_int(c,
			 (uint64_t)tables_time(t, ev->ts > l->span_ns ? ev->ts - l->span_ns : 0));
		break;
	case COL(LOSSES, ts):
		cell_int(c, (uint64_t)tables_time(t, ev->ts));
		break;
	case COL(LOSSES, cpu):
		if (ev->cpu != EVENT_ALL_CPUS)
			cell_int(c, ev->cpu);
		break;
	case COL(LOSSES, cause):
		cell_word(c, loss_name(l->cause));
		break;
	case COL(LOSSES, class):
		cell_word(c, loss_class_name(l->cause));
		break;
	case COL(LOSSES, event):
		if (l->kind && l->kind < EV_KINDS)
			cell_word(c, model_event_name(l->kind));
		break;
	case COL(LOSSES, count):
		cell_int(c, l->count);
		break;
	case COL(LOSSES, words):
		cell_word(c, loss_words(l->cause));
		break;
	}
}
