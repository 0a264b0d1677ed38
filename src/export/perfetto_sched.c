// SPDX-License-Identifier: MIT
/*
 * Switches and wakings for Perfetto, as ftrace has them: its thread states, wakers and critical
 * paths are made of these.
 *
 * The switches of a CPU must form a chain: the thread that leaves is the one that came last. And a
 * thread must be on a CPU exactly as long as the model says that it ran: only so do sums agree. So
 * an event is held until the intervals that it ends have come, and switches without an event are
 * added: to the threads that run when the trace begins, and from a thread where records are
 * missing, the trace ends or the thread went on under another tid. A thread that was switched in
 * but has no interval of running stays for no time. An added switch has no prev_state, unless the
 * thread ended.
 *
 * A thread that does not run when the trace begins is switched in and out at that moment, so that
 * its state is known from there on.
 *
 * Threads that --thread leaves out, or that were not recorded, are tid 0 on a CPU.
 */
#include "export/perfetto.h"

#include "base/err.h"
#include "base/pb.h"
#include "report/frames.h"

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

/* common_flags; Perfetto takes anything but the first two for a thread. */
enum { FLAG_HARDIRQ = 0x8, FLAG_SOFTIRQ = 0x10, FLAG_NMI = 0x40 };

/* Drops bits above RAW_LOW if the kernel, and so their meaning, is not known. */
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

/* Only threads without a known process: the others have been named. */
static void put_comm(struct perfetto *p, struct buf *b, unsigned field, uint32_t tid)
{
	const struct thread *th = tid ? perfetto_thread(p, tid) : NULL;

	if (th && !th->pid)
		perfetto_str(p, b, field, th->name);
}

static void put_chained(struct perfetto *p, uint32_t cpu, uint64_t ts, int state, uint32_t next)
{
	struct perfetto_cpu *c = perfetto_cpu(p, cpu);
	size_t at = perfetto_event(p, cpu, ts, c->on), sw = pb_begin(&c->events, 4);

	pb_u64(&c->events, 2, c->on); /* sched_switch: prev_pid */
	if (state != RAW_NONE)
		pb_u64(&c->events, 4, (uint64_t)state); /* prev_state */
	put_comm(p, &c->events, 5, next);		/* next_comm */
	pb_u64(&c->events, 6, next);			/* next_pid */
	pb_end(&c->events, sw);
	c->on = next;
	c->since = c->last = ts;
	if (ts == p->from)
		c->first = next;
	perfetto_event_end(p, cpu, at);
}

/*
 * Every CPU begins with tid 0: for a waking by an interrupt, Perfetto looks up the interrupted
 * thread.
 */
static void begin_chain(struct perfetto *p, uint32_t cpu)
{
	if (perfetto_cpu(p, cpu)->begun)
		return;
	p->cpus.v[cpu].begun = true;
	put_chained(p, cpu, p->from, RAW_NONE, 0);
	perfetto_bundle(p, cpu);
}

/* Switches from the thread on the CPU to `next`. */
static void put_switch(struct perfetto *p, uint32_t cpu, uint64_t ts, int state, uint32_t next)
{
	begin_chain(p, cpu);
	put_chained(p, cpu, ts < p->cpus.v[cpu].last ? p->cpus.v[cpu].last : ts, state, next);
}

/* waker 0: not known. */
static void put_waking(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t wakee,
		       uint32_t waker)
{
	size_t at = perfetto_event(p, cpu, ts, waker), wake;
	struct buf *b = &p->cpus.v[cpu].events;

	wake = pb_begin(b, 20);	  /* sched_waking */
	put_comm(p, b, 1, wakee); /* comm */
	pb_u64(b, 2, wakee);	  /* pid */
	pb_end(b, wake);
	perfetto_event_end(p, cpu, at);
}

static void put_interrupt_waking(struct perfetto *p, const struct event *ev, uint32_t flags)
{
	const struct thread *th = perfetto_thread(p, ev->waking.wakee);
	const struct perfetto_thread *t = th ? &p->threads[th->index] : NULL;
	struct perfetto_waking w = {.ts = ev->ts, .wakee = ev->waking.wakee, .flags = flags};

	begin_chain(p, ev->cpu);
	w.target = t && t->slept ? t->slept_cpu : ev->cpu;
	perfetto_waking(p, ev->cpu, &w);
}

/* The innermost function that tells what a thread waits for. */
static uint64_t blocked_in(struct perfetto *p, uint32_t kstack)
{
	const struct named_frame *frames;
	size_t n = kstack ? names_probed_stack(&p->m->names, kstack, 0, &frames) : 0, i = 0;
	const struct function *f;

	if (!n)
		return perfetto_text(p, TEXT_KERNEL, 0, "[unknown]");
	while (i + 1 < n && frames_plain(names_function(&p->m->names, frames[i].function)->name))
		i++;
	f = names_function(&p->m->names, frames[i].function);
	return perfetto_text(p, TEXT_KERNEL, (uint64_t)frames[i].function + 1, f->name);
}

/* As the kernel does: for sleeps that no signal ends, and for waits for a disk or the like. */
static void put_blocked(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t tid, uint32_t state,
			uint32_t kstack)
{
	bool io = state & STATE_IOWAIT;
	struct perfetto_cpu *c;
	size_t at, why;

	if (!io && (!(state & STATE_UNINTERRUPTIBLE) || (state & STATE_NOLOAD) || !kstack))
		return;
	c = perfetto_cpu(p, cpu);
	at = perfetto_event(p, cpu, ts, tid);
	why = pb_begin(&c->events, 18);		      /* sched_blocked_reason */
	pb_u64(&c->events, 1, tid);		      /* pid */
	pb_u64(&c->events, 2, blocked_in(p, kstack)); /* caller */
	pb_u64(&c->events, 3, io);		      /* io_wait */
	pb_end(&c->events, why);
	perfetto_event_end(p, cpu, at);
}

bool perfetto_shows(const struct perfetto *p, uint32_t tid)
{
	const struct thread *th;

	if (!tid || !p->job->thread)
		return tid;
	th = perfetto_thread(p, tid);
	return th && export_wants(p->job, th);
}

/* Its tid if it is shown, else 0. */
static uint32_t shown(const struct perfetto *p, uint32_t tid, bool out)
{
	return !out && perfetto_shows(p, tid) ? tid : 0;
}

/* No interval proves that the thread on the CPU ran: it leaves at once. */
static void drop_unproven(struct perfetto *p, uint32_t cpu)
{
	struct perfetto_cpu *c = &p->cpus.v[cpu];

	if (c->on)
		put_switch(p, cpu, c->since, RAW_NONE, 0);
}

/* proven: an interval shows that the thread that leaves was there. */
static void put_pending(struct perfetto *p, bool proven)
{
	const struct perfetto_switch *w = &p->pending;
	uint32_t state = w->sw.state, prev, next;
	struct perfetto_cpu *c;

	if (!w->there)
		return;
	p->pending.there = false;
	c = perfetto_cpu(p, w->cpu);
	prev = shown(p, w->sw.prev, state & STATE_PREV_OUT);
	next = shown(p, w->sw.next, state & STATE_NEXT_OUT);
	if (c->on != prev || (!proven && c->since < w->ts)) {
		drop_unproven(p, w->cpu);
		if (prev)
			put_switch(p, w->cpu, w->ts, RAW_NONE, prev);
	}
	if (!prev && !next)
		return;
	put_switch(p, w->cpu, w->ts, prev ? raw_state(p, state) : 0, next);
}

/* Notes that the thread goes to sleep with the pending switch, for never_slept(). */
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
	struct perfetto_cpu *c = perfetto_cpu(p, iv->cpu);
	uint32_t tid = iv->thread->tid;
	bool ended = iv->thread->exit_ts == iv->end;

	p->threads[iv->thread->index].last_cpu = iv->cpu;
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
 * A waking came before the switch with which the thread would have gone to sleep, so it could run
 * at once. Perfetto believes the switch and needs a waking after it, at the same moment and on the
 * same CPU, since only events of one CPU keep their order. A waking by an interrupt names no waker.
 */
static void never_slept(struct perfetto *p, const struct interval *iv)
{
	struct perfetto_thread *t = &p->threads[iv->thread->index];

	if (t->slept != iv->start || !t->slept)
		return;
	t->slept = 0;
	put_waking(p, t->slept_cpu, iv->start, iv->thread->tid, t->waker);
}

void perfetto_sched_interval(struct perfetto *p, const struct interval *iv)
{
	const struct perfetto_thread *t = &p->threads[iv->thread->index];
	bool waits = iv->kind == INTERVAL_WAITING;

	if (!p->scheduling)
		return;
	if (iv->kind == INTERVAL_RUNNING)
		ran(p, iv);
	else if (iv->kind == INTERVAL_RUNNABLE)
		never_slept(p, iv);
	if (iv->start == p->from && (waits || iv->kind == INTERVAL_RUNNABLE))
		vec_push(&p->asleep,
			 (struct perfetto_asleep){iv->thread->tid, waits ? iv->state : 0,
						  waits ? iv->kstack : 0});
	else if (waits && t->slept == iv->start)
		put_blocked(p, t->slept_cpu, iv->start, iv->thread->tid, iv->state, iv->kstack);
}

static void waking(struct perfetto *p, const struct event *ev)
{
	static const uint8_t flags[] = {[WAKE_SOFTIRQ] = FLAG_SOFTIRQ,
					[WAKE_HARDIRQ] = FLAG_HARDIRQ,
					[WAKE_NMI] = FLAG_NMI | FLAG_HARDIRQ,
					[WAKE_UNKNOWN] = 0};
	const struct ev_waking *w = &ev->waking;
	unsigned ctx = w->ctx & WAKE_CTX;
	uint32_t waker = ctx == WAKE_TASK ? w->waker : 0;
	const struct thread *th = perfetto_thread(p, w->wakee), *by = perfetto_thread(p, waker);

	if (!perfetto_shows(p, w->wakee))
		return;
	if (th)
		p->threads[th->index].waker = waker;
	if (by)
		perfetto_name(p, by);
	if (ctx < ARRAY_LEN(flags) && flags[ctx])
		put_interrupt_waking(p, ev, flags[ctx]);
	else
		put_waking(p, ev->cpu, ev->ts, w->wakee, waker);
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
		perfetto_fork(p, ev);
	return 0;
}

/* Such threads use a CPU on which no thread runs then, or go before the one that does. */
static void put_asleep(struct perfetto *p)
{
	uint32_t cpu = 0, before;
	struct perfetto_cpu *c;

	if (!p->asleep.n)
		return;
	c = perfetto_cpu(p, 0);
	for (uint32_t i = 0; i < p->cpus.n && c->first; i++)
		if (!p->cpus.v[i].first)
			c = &p->cpus.v[cpu = i];
	before = c->on = c->first;
	c->last = p->from;
	for (size_t i = 0; i < p->asleep.n; i++) {
		const struct perfetto_asleep *a = &p->asleep.v[i];
		bool more = i + 1 < p->asleep.n;

		if (!i)
			put_switch(p, cpu, p->from, RAW_NONE, a->tid);
		put_switch(p, cpu, p->from, raw_state(p, a->state), more ? a[1].tid : before);
		put_blocked(p, cpu, p->from, a->tid, a->state, a->kstack);
	}
}

void perfetto_sched_finish(struct perfetto *p)
{
	put_pending(p, false);
	for (uint32_t i = 0; i < p->cpus.n; i++)
		drop_unproven(p, i);
	put_asleep(p);
	vec_done(&p->asleep);
}
