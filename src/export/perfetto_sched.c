// SPDX-License-Identifier: MIT
/*
 * Switches and wakings for Perfetto, as ftrace has them: its thread states, wakers and critical
 * paths are made of these.
 *
 * The switches of a CPU must form a chain: who leaves is who came last. And a thread must be on a
 * CPU exactly as long as the model says that it ran: only so do sums agree. So an event is held
 * until the intervals that it ends have come, and what no event says is added: who ran when the
 * trace begins, and that a thread left where records are missing, the trace ends or the thread went
 * on under another tid. A thread that no interval proves to have run after its switch was there for
 * no time. A switch that was added has no prev_state, unless the thread ended.
 *
 * A thread that does not run when the trace begins comes and goes at that moment, in no time, so
 * that its state is known from there on.
 *
 * With --thread, and for threads that were not looked at, the CPU belongs to nobody (tid 0).
 */
#include "export/perfetto.h"

#include "base/err.h"
#include "base/pb.h"

/* Bytes of events a packet. */
#define BUNDLE (32u << 10)

/* As trace/events/sched.h has it in prev_state. */
enum {
	RAW_INTERRUPTIBLE = 0x1,
	RAW_UNINTERRUPTIBLE = 0x2,
	RAW_LOW = 0x3f, /* the same in all kernels */
	RAW_DEAD = 0x10,
	RAW_PARKED = 0x40,
	RAW_IDLE = 0x80,
	RAW_PREEMPTED = 0x100,
	RAW_NONE = -1, /* not to be written: runnable */
};

/* Bits of FtraceEvent.common_flags. */
enum { FLAG_HARDIRQ = 0x8, FLAG_SOFTIRQ = 0x10, FLAG_NMI = 0x40 };

#define CLONE_THREAD_FLAG 0x10000u

static struct perfetto_cpu *cpu_at(struct perfetto *p, uint32_t cpu)
{
	while (p->cpus.n <= cpu)
		vec_add(&p->cpus);
	return &p->cpus.v[cpu];
}

static void write_bundle(struct perfetto *p, uint32_t cpu)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];
	size_t packet, at;

	if (!c->events.len)
		return;
	packet = perfetto_packet(p, 0, WRITER_SYSTEM);
	at = pb_begin(&p->out, 1); /* ftrace_events */
	pb_u64(&p->out, 1, cpu);   /* cpu */
	buf_put(&p->out, c->events.p, c->events.len);
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
	buf_clear(&c->events);
}

/* timestamp and pid: whoever reads it looks for them in this order. */
static size_t begin_event(const struct perfetto *p, struct perfetto_cpu *c, uint64_t ts,
			  uint32_t tid)
{
	size_t at = pb_begin(&c->events, 2); /* event */

	pb_u64(&c->events, 1, ts + p->suspended);
	pb_u64(&c->events, 2, tid);
	return at;
}

static void end_event(struct perfetto *p, uint32_t cpu, size_t at)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];

	pb_end(&c->events, at);
	if (c->events.len >= BUNDLE)
		write_bundle(p, cpu);
}

/* Without its bits above RAW_LOW where nobody knows which kernel's they are. */
static int raw_state(const struct perfetto *p, uint32_t state)
{
	if (state & STATE_PREEMPTED)
		return p->kernel_known ? RAW_PREEMPTED : 0;
	if (state & STATE_GONE)
		return RAW_DEAD;
	if (p->kernel_known && (state & STATE_NOLOAD) && (state & STATE_UNINTERRUPTIBLE))
		return RAW_IDLE;
	if (state & RAW_LOW)
		return (int)(state & RAW_LOW);
	if (state & STATE_PARKED)
		return p->kernel_known ? RAW_PARKED : RAW_INTERRUPTIBLE;
	return state & (STATE_RTLOCK | STATE_FROZEN) ? RAW_UNINTERRUPTIBLE : 0;
}

/* Threads of known processes have their names from elsewhere. */
static void put_comm(struct perfetto *p, struct buf *b, unsigned field, uint32_t tid)
{
	const struct thread *th = tid ? perfetto_thread(p, tid) : NULL;

	if (th && !th->pid)
		perfetto_str(p, b, field, th->name);
}

/* From who is on the CPU to `next`. */
static void put_switch(struct perfetto *p, uint32_t cpu, uint64_t ts, int state, uint32_t next)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];
	size_t at, sw;

	if (ts < c->last)
		ts = c->last;
	at = begin_event(p, c, ts, c->on);
	sw = pb_begin(&c->events, 4); /* sched_switch */
	pb_u64(&c->events, 2, c->on); /* prev_pid */
	if (state != RAW_NONE)
		pb_u64(&c->events, 4, (uint64_t)state); /* prev_state */
	put_comm(p, &c->events, 5, next);		/* next_comm */
	pb_u64(&c->events, 6, next);			/* next_pid */
	pb_end(&c->events, sw);
	c->on = next;
	c->since = c->last = ts;
	if (ts == p->from)
		c->first = next;
	end_event(p, cpu, at);
}

static void put_waking(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t wakee,
		       uint32_t waker, uint8_t ctx)
{
	static const uint8_t flags[] = {[WAKE_SOFTIRQ] = FLAG_SOFTIRQ,
					[WAKE_HARDIRQ] = FLAG_HARDIRQ,
					[WAKE_NMI] = FLAG_NMI,
					[WAKE_UNKNOWN] = 0};
	struct perfetto_cpu *c = cpu_at(p, cpu);
	size_t at = begin_event(p, c, ts, waker),
	       wake = pb_begin(&c->events, 20); /* sched_waking */

	put_comm(p, &c->events, 1, wakee); /* comm */
	pb_u64(&c->events, 2, wakee);	   /* pid */
	pb_end(&c->events, wake);
	if (ctx < ARRAY_LEN(flags))
		pb_some(&c->events, 5, flags[ctx]); /* common_flags */
	end_event(p, cpu, at);
}

/* That a wait is for a disk or the like. */
static void put_io_wait(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t tid)
{
	struct perfetto_cpu *c = cpu_at(p, cpu);
	size_t at = begin_event(p, c, ts, tid),
	       why = pb_begin(&c->events, 18); /* sched_blocked_reason */

	pb_u64(&c->events, 1, tid); /* pid */
	pb_u64(&c->events, 3, 1);   /* io_wait */
	pb_end(&c->events, why);
	end_event(p, cpu, at);
}

/* Its tid if it is shown, else 0. */
static uint32_t shown(const struct perfetto *p, uint32_t tid, bool out)
{
	const struct thread *th;

	if (!tid || out)
		return 0;
	if (!p->job->thread)
		return tid;
	th = perfetto_thread(p, tid);
	return th && export_wants(p->job, th) ? tid : 0;
}

/* Nothing proves that who is on the CPU ran: it was there for no time. */
static void drop_unproven(struct perfetto *p, uint32_t cpu)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];

	if (c->on)
		put_switch(p, cpu, c->since, RAW_NONE, 0);
}

/* proven: an interval says that who leaves was there. */
static void put_pending(struct perfetto *p, bool proven)
{
	const struct perfetto_switch *w = &p->pending;
	uint32_t state = w->sw.state, prev, next;
	struct perfetto_cpu *c;
	int raw;

	if (!w->there)
		return;
	p->pending.there = false;
	c = cpu_at(p, w->cpu);
	prev = shown(p, w->sw.prev, state & STATE_PREV_OUT);
	next = shown(p, w->sw.next, state & STATE_NEXT_OUT);
	if (c->on != prev || (!proven && c->since < w->ts)) {
		drop_unproven(p, w->cpu);
		if (prev)
			put_switch(p, w->cpu, w->ts, RAW_NONE, prev);
	}
	if (!prev && !next)
		return;
	raw = prev ? raw_state(p, state) : 0;
	put_switch(p, w->cpu, w->ts, raw, next);
	if (prev && raw && raw < RAW_PREEMPTED && (state & STATE_IOWAIT))
		put_io_wait(p, w->cpu, w->ts, prev);
}

/* It went to sleep with the switch that is written now: what waking is to be seen for that? */
static void note_sleep(struct perfetto *p, const struct thread *th)
{
	struct perfetto_thread *t = &p->threads[th->index];
	int raw = raw_state(p, p->pending.sw.state);

	if (!raw || raw >= RAW_PREEMPTED)
		return;
	t->slept = p->pending.ts;
	t->slept_cpu = p->pending.cpu;
}

static void ran(struct perfetto *p, const struct interval *iv)
{
	const struct perfetto_switch *w = &p->pending;
	struct perfetto_cpu *c = cpu_at(p, iv->cpu);
	uint32_t tid = iv->thread->tid;
	bool ended = iv->thread->exit_ts == iv->end;

	if (c->on != tid || c->since < iv->start) {
		drop_unproven(p, iv->cpu);
		put_switch(p, iv->cpu, iv->start, RAW_NONE, tid);
	}
	if (w->there && w->cpu == iv->cpu && w->ts == iv->end && w->sw.prev == tid) {
		note_sleep(p, iv->thread);
		put_pending(p, true);
	} else {
		put_switch(p, iv->cpu, iv->end, ended ? RAW_DEAD : RAW_NONE, 0);
	}
}

/*
 * A waking came before the switch with which the thread would have gone to sleep: it could run at
 * once. Whoever reads the trace takes the switch at its word and needs a waking behind it.
 */
static void never_slept(struct perfetto *p, const struct interval *iv)
{
	struct perfetto_thread *t = &p->threads[iv->thread->index];

	if (t->slept != iv->start || !t->slept)
		return;
	t->slept = 0;
	put_waking(p, t->slept_cpu, iv->start, iv->thread->tid, t->waker, t->ctx);
}

void perfetto_sched_interval(struct perfetto *p, const struct interval *iv)
{
	bool waits = iv->kind == INTERVAL_WAITING;

	if (!p->scheduling)
		return;
	if (iv->kind == INTERVAL_RUNNING)
		ran(p, iv);
	else if (iv->kind == INTERVAL_RUNNABLE)
		never_slept(p, iv);
	if (iv->start == p->from && (waits || iv->kind == INTERVAL_RUNNABLE))
		vec_push(&p->asleep,
			 (struct perfetto_asleep){iv->thread->tid, waits ? iv->state : 0});
}

static void waking(struct perfetto *p, const struct event *ev)
{
	const struct ev_waking *w = &ev->waking;
	const struct thread *th = perfetto_thread(p, w->wakee), *by = perfetto_thread(p, w->waker);

	if (!shown(p, w->wakee, false))
		return;
	if (th) {
		p->threads[th->index].waker = w->waker;
		p->threads[th->index].ctx = w->ctx & WAKE_CTX;
	}
	if (by)
		perfetto_name(p, by);
	put_waking(p, ev->cpu, ev->ts, w->wakee, w->waker, w->ctx & WAKE_CTX);
}

/* A new thread can run from the moment on at which it is made. */
static void forked(struct perfetto *p, const struct event *ev)
{
	const struct ev_fork *e = &ev->fork;
	struct perfetto_cpu *c;
	size_t at, task;

	if (!shown(p, e->tid, false) || !e->parent)
		return;
	c = cpu_at(p, ev->cpu);
	at = begin_event(p, c, ev->ts, e->parent);
	task = pb_begin(&c->events, 235); /* task_newtask */
	pb_u64(&c->events, 1, e->tid);	  /* pid */
	perfetto_str(p, &c->events, 2, e->name ? e->name : "");
	pb_u64(&c->events, 3, e->tid == e->pid ? 0 : CLONE_THREAD_FLAG); /* clone_flags */
	pb_end(&c->events, task);
	end_event(p, ev->cpu, at);
}

int perfetto_sched_event(struct perfetto *p, const struct event *ev, bool inside)
{
	put_pending(p, false);
	if (!inside || p->ended || !p->scheduling)
		return 0;
	if (ev->kind != EV_SWITCH && ev->kind != EV_WAKING && ev->kind != EV_FORK)
		return 0;
	if (ev->cpu >= PERFETTO_CPUS)
		return err_set(-E2BIG, "Perfetto knows no more than %u CPUs", PERFETTO_CPUS);
	if (ev->kind == EV_SWITCH)
		p->pending = (struct perfetto_switch){true, ev->ts, ev->cpu, ev->switch_};
	else if (ev->kind == EV_WAKING)
		waking(p, ev);
	else
		forked(p, ev);
	return 0;
}

/* They come and go on a CPU that nobody needs at that moment, or in front of who does. */
static void put_asleep(struct perfetto *p)
{
	uint32_t cpu = 0, before;
	struct perfetto_cpu *c;

	if (!p->asleep.n)
		return;
	c = cpu_at(p, 0);
	for (uint32_t i = 0; i < p->cpus.n && c->first; i++)
		if (!p->cpus.v[i].first)
			c = &p->cpus.v[cpu = i];
	before = c->on = c->first;
	c->last = p->from;
	for (size_t i = 0; i < p->asleep.n; i++) {
		const struct perfetto_asleep *a = i ? &p->asleep.v[i - 1] : NULL;

		put_switch(p, cpu, p->from, a ? raw_state(p, a->state) : RAW_NONE,
			   p->asleep.v[i].tid);
	}
	put_switch(p, cpu, p->from, raw_state(p, p->asleep.v[p->asleep.n - 1].state), before);
}

void perfetto_sched_finish(struct perfetto *p)
{
	put_pending(p, false);
	for (uint32_t i = 0; i < p->cpus.n; i++)
		drop_unproven(p, i);
	put_asleep(p);
	for (uint32_t i = 0; i < p->cpus.n; i++) {
		write_bundle(p, i);
		buf_done(&p->cpus.v[i].events);
	}
	vec_done(&p->cpus);
	vec_done(&p->asleep);
}
