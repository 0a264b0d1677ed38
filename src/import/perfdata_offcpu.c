// SPDX-License-Identifier: MIT
/*
 * Waits that perf has measured itself (perf record --off-cpu): a sample of the event offcpu-time is
 * a wait that ended then, and its period says how long it was. When a wait began must be known
 * before its sample comes, so the file is looked through first for these samples alone.
 *
 * Before 6.16, perf only summed waits with the same stack, and wrote the sums at the end without
 * real times: nobody knows when these waits were, so they are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
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

static int offcpu_by_ts(const void *pa, const void *pb)
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

bool pd_wait_parse(const struct pd_attr *a, const uint8_t *rec, size_t len, struct perf_record *ret)
{
	struct perf_sample *s = &ret->sample;
	struct cursor c;

	if (perf_record_parse(&a->a, rec, len, ret))
		return false;
	if (!(a->a.sample_type & PERF_SAMPLE_RAW))
		return true;
	/* Since 6.16 perf's BPF program has put thread, time waited and stack there. */
	c = cur_init(s->raw, s->n_raw);
	ret->pid = cur_u32(&c);
	ret->tid = cur_u32(&c);
	s->period = cur_u64(&c);
	s->n_chain = cur_u64(&c);
	s->chain = c.base + c.pos;
	return cur_ok(&c) && s->n_chain <= cur_left(&c) / 8;
}

static void offcpu_look_at(struct pd_import *i, struct pd_waits *w, const uint8_t *rec, size_t len)
{
	const struct pd_attr *a = pd_attr_of(i->f, rec, len);
	uint64_t ts = pd_time_of(i->f, rec, len);
	struct perf_record r;

	if (!a || a->role != PD_OFFCPU || !pd_wait_parse(a, rec, len, &r))
		return;
	if (ts >= PD_NO_TIME)
		w->untimed++;
	else if (r.sample.period <= ts && r.tid && r.tid != PD_NOBODY)
		vec_push(&w->v, (struct begun){ts - r.sample.period, r.tid});
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
		if (pd_is_sample(rec))
			offcpu_look_at(i, w, rec, len);
		else if ((rc = pd_skip_extra(r, rec, len)))
			break;
	}
	pd_reader_free(r);
	sort_by(w->v.v, w->v.n, sizeof(*w->v.v), offcpu_by_ts);
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

void pd_wait_over(struct pd_import *i, const struct perf_record *r, uint64_t ts)
{
	struct pd_thread *t;
	struct event ev = {.ts = ts, .kind = EV_WAIT};

	if (!r->tid || r->tid == PD_NOBODY)
		return;
	pd_tell_thread(i, r->tid, r->pid, ts);
	t = pd_thread(i, r->tid, r->pid);
	if (!t->waiting)
		return;
	t->waiting = false;
	pd_emit_switch(i, ts, t->cpu, PD_NOBODY, r->tid, 0);
	ev.cpu = t->cpu;
	ev.wait.tid = r->tid;
	pd_stacks(i, r, &ev.wait.kstack, &ev.wait.ustack);
	sink_put(&i->s, &ev);
}
