// SPDX-License-Identifier: MIT
/* The values of the tables' columns, except those that come from a walk over the recording. */
#include <inttypes.h>

#include "base/text.h"
#include "export/tables.h"
#include "report/lead.h"

static bool is_clean(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

/* A name from outside: valid UTF-8 in one line. */
static void cell_name(struct tables *t, struct cell *c, const char *s)
{
	cell_word(c, s);
	if (!s || is_clean(s))
		return;
	buf_clear(&t->text);
	text_put_clean(&t->text, s);
	c->s = buf_cstr(&t->text);
	c->brief = true;
}

static void cell_brief(struct tables *t, struct cell *c)
{
	cell_word(c, buf_cstr(&t->text));
	c->brief = true;
}

static void capture_cell(struct tables *t, unsigned column, struct cell *c)
{
	const struct model *m = t->m;
	const struct facts *f = &m->facts;

	switch (column) {
	case COL(CAPTURE, begin_unix_ns):
		cell_id(c, model_timeless(m) ? 0 : model_unix_ns(m, m->timeline.begin));
		break;
	case COL(CAPTURE, duration_ns):
		if (!model_timeless(m))
			cell_int(c, m->timeline.end - m->timeline.begin);
		break;
	case COL(CAPTURE, host):
		cell_name(t, c, f->host);
		break;
	case COL(CAPTURE, kernel):
		cell_name(t, c, f->kernel);
		break;
	case COL(CAPTURE, engine):
		cell_name(t, c, f->engine);
		break;
	case COL(CAPTURE, command):
		buf_clear(&t->text);
		for (size_t i = 0; i < f->command.n; i++) {
			if (i)
				buf_put_u8(&t->text, ' ');
			text_put_clean(&t->text, f->command.v[i]);
		}
		if (f->command.n)
			cell_brief(t, c);
		break;
	case COL(CAPTURE, cpus):
		cell_id(c, f->cpus);
		break;
	case COL(CAPTURE, freq_hz):
		cell_id(c, f->freq_hz);
		break;
	case COL(CAPTURE, events):
		cell_int(c, m->events);
		break;
	case COL(CAPTURE, complete):
		cell_int(c, f->complete);
		break;
	case COL(CAPTURE, damage):
		cell_name(t, c, *f->damage ? f->damage : NULL);
		break;
	}
}

static void thread_times(const struct tables *t, const struct thread *th, unsigned column,
			 struct cell *c)
{
	bool sampled = !t->m->facts.has_switches;

	if (model_timeless(t->m))
		return;
	switch (column) {
	case COL(THREADS, start):
		cell_int(c, (uint64_t)tables_time(t, th->start));
		break;
	case COL(THREADS, end):
		cell_int(c, (uint64_t)tables_time(t, th->end));
		break;
	case COL(THREADS, wall_ns):
		cell_int(c, thread_wall(th));
		break;
	case COL(THREADS, running_ns):
		cell_int(c, th->total[INTERVAL_RUNNING]);
		break;
	case COL(THREADS, runnable_ns):
		if (!sampled)
			cell_int(c, th->total[INTERVAL_RUNNABLE]);
		break;
	case COL(THREADS, waiting_ns):
		if (!sampled)
			cell_int(c, th->total[INTERVAL_WAITING]);
		break;
	case COL(THREADS, lost_ns):
		cell_int(c, sampled ? 0 : th->total[INTERVAL_LOST]);
		break;
	case COL(THREADS, unseen_ns):
		cell_int(c, sampled ? th->total[INTERVAL_LOST] : 0);
		break;
	}
}

static void thread_cell(struct tables *t, const struct thread *th, unsigned column, struct cell *c)
{
	const uint64_t *main;

	switch (column) {
	case COL(THREADS, id):
		cell_int(c, th->index);
		break;
	case COL(THREADS, tid):
		cell_int(c, th->tid);
		break;
	case COL(THREADS, pid):
		cell_id(c, th->pid);
		break;
	case COL(THREADS, name):
		cell_name(t, c, th->name);
		break;
	case COL(THREADS, process):
		main = map_get(&t->mains, th->pid);
		cell_name(t, c, main ? t->m->timeline.threads.v[*main - 1]->name : th->name);
		break;
	case COL(THREADS, parent_tid):
		cell_id(c, th->parent);
		break;
	case COL(THREADS, kernel):
		cell_int(c, th->flags & THREAD_KERNEL);
		break;
	case COL(THREADS, exited):
		cell_int(c, th->exit_ts != 0);
		break;
	case COL(THREADS, samples):
		cell_int(c, th->samples);
		break;
	default:
		thread_times(t, th, column, c);
	}
}

static void lock_sums(const struct tables *t, const struct lock_sum *l, unsigned column,
		      struct cell *c)
{
	switch (column) {
	case COL(LOCKS, waits):
		cell_int(c, l->count);
		break;
	case COL(LOCKS, waiters):
		cell_int(c, l->waiters.n);
		break;
	case COL(LOCKS, total_ns):
		cell_int(c, l->total);
		break;
	case COL(LOCKS, max_ns):
		cell_int(c, l->max);
		break;
	case COL(LOCKS, max_start):
		cell_int(c, (uint64_t)tables_time(t, l->max_start));
		break;
	case COL(LOCKS, max_thread_id):
		cell_thread(c, l->max_thread);
		break;
	case COL(LOCKS, p50_ns):
		cell_int(c, l->p50);
		break;
	case COL(LOCKS, p99_ns):
		cell_int(c, l->p99);
		break;
	case COL(LOCKS, not_ended):
		cell_int(c, l->open);
		break;
	case COL(LOCKS, failed):
		cell_int(c, l->failed);
		break;
	case COL(LOCKS, held_ns):
		if (!l->inferred)
			cell_int(c, l->known);
		break;
	}
}

static void lock_cell(struct tables *t, const struct lock_sum *l, unsigned column, struct cell *c)
{
	switch (column) {
	case COL(LOCKS, id):
		if (!l->inferred)
			cell_int(c, l->index);
		break;
	case COL(LOCKS, name):
		cell_name(t, c, l->name);
		break;
	case COL(LOCKS, kind):
		cell_word(c, lock_kind_name(l->kind));
		break;
	case COL(LOCKS, contended):
		cell_int(c, l->contended);
		break;
	case COL(LOCKS, evidence):
		cell_word(c, evidence_name(l->evidence));
		break;
	case COL(LOCKS, pid):
		cell_id(c, l->pid);
		break;
	case COL(LOCKS, address):
		if (!l->address)
			break;
		buf_clear(&t->text);
		buf_printf(&t->text, "0x%" PRIx64, l->address);
		cell_brief(t, c);
		break;
	case COL(LOCKS, shared):
		cell_int(c, l->shared);
		break;
	default:
		lock_sums(t, l, column, c);
	}
}

static void stall_words(struct tables *t, const struct stall *st, struct cell *c)
{
	struct buf b = {0};

	lead_stall(t->s, st, &b);
	buf_clear(&t->text);
	text_put_clean(&t->text, buf_cstr(&b));
	buf_done(&b);
	cell_brief(t, c);
}

static void stall_culprit(struct tables *t, const struct stall *st, unsigned column, struct cell *c)
{
	const struct summary *s = t->s;
	bool lock = st->lock < s->locks.n;

	switch (column) {
	case COL(STALLS, reason):
		if (st->doing == INTERVAL_WAITING || st->doing == INTERVAL_RUNNABLE)
			cell_word(c, reason_name(st->reason));
		break;
	case COL(STALLS, lock_id):
		if (lock && !s->locks.v[st->lock].inferred)
			cell_int(c, s->locks.v[st->lock].index);
		break;
	case COL(STALLS, culprit_id):
		cell_thread(c, st->culprit);
		break;
	case COL(STALLS, doing):
		if (st->culprit && st->doing != INTERVAL_LOST)
			cell_word(c, interval_kind_name(st->doing));
		break;
	case COL(STALLS, function):
		if (st->function != UINT32_MAX)
			cell_name(t, c, names_function(&t->m->names, st->function)->name);
		break;
	case COL(STALLS, stack):
		cell_id(c, (uint64_t)tables_stack(t, st->kstack, st->ustack, true));
		break;
	case COL(STALLS, words):
		stall_words(t, st, c);
		break;
	}
}

static void stall_cell(struct tables *t, const struct stall *st, unsigned column, struct cell *c)
{
	switch (column) {
	case COL(STALLS, kind):
		cell_word(c, st->circle ? "deadlock" : st->lock < t->s->locks.n ? "lock" : "cause");
		break;
	case COL(STALLS, start):
		cell_int(c, (uint64_t)tables_time(t, st->start));
		break;
	case COL(STALLS, end):
		cell_int(c, (uint64_t)tables_time(t, st->start) + st->ns);
		break;
	case COL(STALLS, ns):
		cell_int(c, st->ns);
		break;
	case COL(STALLS, threads):
		cell_int(c, st->threads);
		break;
	case COL(STALLS, of_threads):
		cell_int(c, st->all);
		break;
	case COL(STALLS, lost_ns):
		cell_int(c, st->lost);
		break;
	default:
		stall_culprit(t, st, column, c);
	}
}

static void blackout_cell(struct tables *t, const struct blackout *b, unsigned column,
			  struct cell *c)
{
	switch (column) {
	case COL(STALLS, kind):
		cell_word(c, "blackout");
		break;
	case COL(STALLS, start):
		cell_int(c, (uint64_t)tables_time(t, b->start));
		break;
	case COL(STALLS, end):
		cell_int(c, (uint64_t)tables_time(t, b->start) + b->ns);
		break;
	case COL(STALLS, ns):
		cell_int(c, b->ns);
		break;
	case COL(STALLS, threads):
		cell_int(c, b->running);
		break;
	case COL(STALLS, words):
		cell_word(c, "no CPU had an event, though threads were running");
		break;
	}
}

size_t tables_rows(const struct tables *t, enum table table)
{
	switch (table) {
	case TABLE_CAPTURE:
		return 1;
	case TABLE_THREADS:
		return t->m->timeline.threads.n;
	case TABLE_LOCKS:
		return t->s->locks.n;
	case TABLE_STALLS:
		return t->s->stalls.list.n + t->s->stalls.blackouts.n;
	default:
		return 0;
	}
}

void tables_cell(struct tables *t, enum table table, size_t row, unsigned column, struct cell *ret)
{
	cell_null(ret);
	switch (table) {
	case TABLE_CAPTURE:
		capture_cell(t, column, ret);
		break;
	case TABLE_THREADS:
		thread_cell(t, t->m->timeline.threads.v[row], column, ret);
		break;
	case TABLE_LOCKS:
		lock_cell(t, &t->s->locks.v[row], column, ret);
		break;
	case TABLE_STALLS:
		if (row < t->s->stalls.list.n)
			stall_cell(t, &t->s->stalls.list.v[row], column, ret);
		else
			blackout_cell(t, &t->s->stalls.blackouts.v[row - t->s->stalls.list.n],
				      column, ret);
		break;
	default:
		break;
	}
}

void tables_frame(struct tables *t, size_t depth, unsigned column, struct cell *c)
{
	const struct named_frame *f = &t->frames.v.v[depth];
	const struct function *fn = names_function(&t->m->names, f->function);

	cell_null(c);
	switch (column) {
	case COL(FRAMES, stack):
		cell_int(c, (uint64_t)t->frames.stack);
		break;
	case COL(FRAMES, depth):
		cell_int(c, depth);
		break;
	case COL(FRAMES, function):
		cell_name(t, c, fn->name);
		break;
	case COL(FRAMES, module):
		cell_name(t, c, fn->module);
		break;
	case COL(FRAMES, file):
		cell_name(t, c, fn->file);
		break;
	case COL(FRAMES, line):
		cell_id(c, f->line);
		break;
	case COL(FRAMES, inlined):
		cell_int(c, f->inlined);
		break;
	case COL(FRAMES, kernel):
		cell_int(c, fn->kernel);
		break;
	case COL(FRAMES, guessed):
		cell_int(c, f->guessed);
		break;
	}
}
