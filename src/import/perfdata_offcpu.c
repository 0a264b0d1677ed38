// SPDX-License-Identifier: MIT
/*
 * Waits that perf has measured itself (perf record --off-cpu): a sample of the event offcpu-time is
 * a wait that ended then, and its period says how long it was. When a wait began must be known
 * before its sample comes, so the file is looked through first for these samples alone.
 *
 * Before 6.16, perf only summed waits with the same stack, and wrote the sums at the end with times
 * that are none: when these waits were is not known, and they are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "import/perfdata.h"
#include "wire/state.h"

struct begun {
	uint64_t ts;
	uint32_t tid;
};

struct pd_waits {
	VEC(struct begun) v; /* by time */
	size_t next;
	uint64_t untimed;
};

static int by_ts(const void *pa, const void *pb)
{
	const struct begun *a = pa, *b = pb;

	return (a->ts > b->ts) - (a->ts < b->ts);
}

int pd_skip_extra(struct pd_reader *r, const uint8_t *rec, size_t len)
{
	struct perf_event_header h;
	uint64_t size64;
	uint32_t size;

	memcpy(&h, rec, sizeof(h));
	if (h.type == PD_AUXTRACE && len >= 16) {
		memcpy(&size64, rec + 8, 8);
		return pd_reader_skip(r, size64);
	}
	if (h.type != PD_TRACING_DATA || len < 12)
		return 0;
	memcpy(&size, rec + 8, 4);
	return pd_reader_skip(r, ((uint64_t)size + 7) & ~7ull);
}

static void look_at(struct pd_import *i, struct pd_waits *w, const uint8_t *rec, size_t len)
{
	const struct pd_attr *a = pd_attr_of(i->f, rec, len);
	uint64_t ts = pd_time_of(i->f, rec, len);
	struct pd_sample s;

	if (!a || a->role != PD_OFFCPU || !pd_sample_parse(a, rec, len, &s))
		return;
	if (ts >= PD_NO_TIME)
		w->untimed++;
	else if (s.period <= ts && s.tid && s.tid != PD_NOBODY)
		vec_push(&w->v, (struct begun){ts - s.period, s.tid});
}

int pd_waits_scan(struct pd_import *i)
{
	struct pd_waits *w;
	struct pd_reader *r;
	struct pd_block *block;
	const uint8_t *rec;
	size_t len;
	int rc;

	if (!pd_with_role(i->f, PD_OFFCPU))
		return 0;
	w = mem_zalloc(sizeof(*w));
	r = pd_reader_new(i->f);
	while ((rc = pd_next(r, &rec, &len, &block)) > 0) {
		struct perf_event_header h;

		memcpy(&h, rec, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE)
			look_at(i, w, rec, len);
		else if ((rc = pd_skip_extra(r, rec, len)))
			break;
	}
	pd_reader_free(r);
	if (w->v.n)
		qsort(w->v.v, w->v.n, sizeof(*w->v.v), by_ts);
	i->waits = w;
	i->has_switches |= w->v.n > 0;
	i->no_cpus &= i->has_switches;
	return rc;
}

void pd_waits_free(struct pd_waits *w)
{
	if (!w)
		return;
	vec_done(&w->v);
	free(w);
}

uint64_t pd_waits_first(const struct pd_waits *w)
{
	return w->v.n ? w->v.v[0].ts : UINT64_MAX;
}

uint64_t pd_waits_untimed(const struct pd_waits *w)
{
	return w ? w->untimed : 0;
}

void pd_waits_until(struct pd_import *i, uint64_t ts)
{
	struct pd_waits *w = i->waits;

	for (; w->next < w->v.n && w->v.v[w->next].ts <= ts; w->next++) {
		const struct begun *b = &w->v.v[w->next];
		struct pd_thread *t = pd_thread(i, b->tid, 0);

		if (t->waiting)
			continue;
		t->waiting = true;
		pd_emit_switch(i, b->ts, t->cpu, b->tid, PD_NOBODY, STATE_INTERRUPTIBLE);
	}
}

void pd_wait_over(struct pd_import *i, const struct pd_sample *s, uint64_t ts)
{
	struct pd_thread *t;
	struct event ev = {.ts = ts, .kind = EV_WAIT};

	if (!s->tid || s->tid == PD_NOBODY)
		return;
	pd_tell_thread(i, s->tid, s->pid, ts);
	t = pd_thread(i, s->tid, s->pid);
	if (!t->waiting)
		return;
	t->waiting = false;
	pd_emit_switch(i, ts, t->cpu, PD_NOBODY, s->tid, 0);
	ev.cpu = t->cpu;
	ev.wait.tid = s->tid;
	pd_stacks(i, s, &ev.wait.kstack, &ev.wait.ustack);
	sink_put(&i->s, &ev);
}
