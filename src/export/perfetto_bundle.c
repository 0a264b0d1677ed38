// SPDX-License-Identifier: MIT
/*
 * Events of the kernel's own tracing, in packets of one CPU each.
 *
 * A waking is written in one of two forms. Only the compact form can say that an interrupt did it
 * (waking_common_flags); an event of its own names the waker, and Perfetto ignores its flags. For a
 * compact one Perfetto looks up the thread on the CPU: with the flags that is the thread that was
 * interrupted, without them it would be the waker. So only interrupts use the compact form: a
 * thread that wakes is known even where no thread is seen on the CPU.
 */
#include "export/perfetto.h"

#include "base/pb.h"

/* Bytes of events a packet. */
#define BUNDLE (32u << 10)
/* Wakings a packet. */
#define BUNDLE_WAKINGS 2048u

/* Fields of CompactSched. */
enum {
	INTERN_TABLE = 5,
	WAKING_TIMESTAMP = 7,
	WAKING_PID,
	WAKING_TARGET_CPU,
	WAKING_PRIO,
	WAKING_COMM_INDEX,
	WAKING_COMMON_FLAGS,
};

struct perfetto_cpu *perfetto_cpu(struct perfetto *p, uint32_t cpu)
{
	while (p->cpus.n <= cpu)
		vec_add(&p->cpus);
	return &p->cpus.v[cpu];
}

static uint64_t waking_number(const struct perfetto_waking *w, const struct perfetto_waking *before,
			      unsigned field)
{
	switch (field) {
	case WAKING_TIMESTAMP:
		return w->ts - (before ? before->ts : 0);
	case WAKING_PID:
		return w->wakee;
	case WAKING_TARGET_CPU:
		return w->target;
	case WAKING_COMMON_FLAGS:
		return w->flags;
	default:
		return 0; /* a capture has no priorities, and names are told elsewhere */
	}
}

static void put_compact(struct perfetto *p, const struct perfetto_cpu *c)
{
	size_t sched = pb_begin(&p->out, 4), at; /* compact_sched */

	pb_str(&p->out, INTERN_TABLE, "");
	for (unsigned field = WAKING_TIMESTAMP; field <= WAKING_COMMON_FLAGS; field++) {
		at = pb_begin(&p->out, field);
		for (size_t i = 0; i < c->wakings.n; i++)
			buf_put_varint(&p->out,
				       waking_number(&c->wakings.v[i],
						     i ? &c->wakings.v[i - 1] : NULL, field));
		pb_end(&p->out, at);
	}
	pb_end(&p->out, sched);
}

void perfetto_bundle(struct perfetto *p, uint32_t cpu)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];
	size_t packet, at;

	if (!c->events.len && !c->wakings.n && !c->lost)
		return;
	packet = perfetto_packet(p, 0, WRITER_EVENTS);
	at = pb_begin(&p->out, 1);    /* ftrace_events */
	pb_u64(&p->out, 1, cpu);      /* cpu */
	pb_some(&p->out, 3, c->lost); /* lost_events */
	if (c->wakings.n)
		put_compact(p, c);
	buf_put(&p->out, c->events.p, c->events.len);
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
	buf_clear(&c->events);
	c->wakings.n = 0;
	c->lost = false;
}

/* timestamp, then pid: Perfetto looks for them in this order. */
size_t perfetto_event(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t tid)
{
	struct perfetto_cpu *c = perfetto_cpu(p, cpu);
	size_t at = pb_begin(&c->events, 2); /* event */

	pb_u64(&c->events, 1, ts + p->suspended);
	pb_u64(&c->events, 2, tid);
	return at;
}

void perfetto_event_end(struct perfetto *p, uint32_t cpu, size_t at)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];

	pb_end(&c->events, at);
	if (c->events.len >= BUNDLE)
		perfetto_bundle(p, cpu);
}

void perfetto_waking(struct perfetto *p, uint32_t cpu, const struct perfetto_waking *waking)
{
	struct perfetto_cpu *c = perfetto_cpu(p, cpu);
	struct perfetto_waking w = *waking;

	w.ts += p->suspended;
	if (c->wakings.n >= BUNDLE_WAKINGS ||
	    (c->wakings.n && w.ts < c->wakings.v[c->wakings.n - 1].ts))
		perfetto_bundle(p, cpu);
	vec_push(&c->wakings, w);
}

void perfetto_lost_events(struct perfetto *p, uint32_t cpu)
{
	struct perfetto_cpu *c = perfetto_cpu(p, cpu);

	if (c->events.len || c->wakings.n)
		perfetto_bundle(p, cpu);
	c->lost = true;
}

void perfetto_bundles_done(struct perfetto *p)
{
	for (uint32_t i = 0; i < p->cpus.n; i++) {
		perfetto_bundle(p, i);
		buf_done(&p->cpus.v[i].events);
		vec_done(&p->cpus.v[i].wakings);
	}
	vec_done(&p->cpus);
}
