// SPDX-License-Identifier: MIT
/*
 * Slices, and waits and locks as such.
 *
 * A wait is a slice on its thread's track, in the category "wait", named by its reason or by the
 * lock that it is for. What counts as waiting for a lock is in the category "lock": sleeps on locks
 * of programs, and for locks of the kernel the time from the first attempt to the lock, as the
 * kernel itself says (sleeps on them are waits within). A flow leads from there to the thread that
 * had the lock: to the moment at which it let go, or, if no thread was seen to let go in the
 * window, to what the holder did when the wait began.
 */
#include "export/perfetto.h"

#include <inttypes.h>

#include "base/pb.h"

/* TrackEvent.type */
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

static const char *const categories[] = {
	[CATEGORY_WAIT] = "wait", [CATEGORY_LOCK] = "lock",	      [CATEGORY_STALL] = "stall",
	[CATEGORY_LOST] = "lost", [CATEGORY_RECORDING] = "recording",
};

static const char *const annotations[ANNOTATIONS] = {
	[A_REASON] = "reason",	 [A_LOCK] = "lock",	    [A_KIND] = "kind",
	[A_HOLDER] = "holder",	 [A_WAKER] = "waker",	    [A_WHAT] = "what",
	[A_THREADS] = "threads", [A_CPUS] = "cpus_running", [A_TIMES] = "times",
	[A_CPU] = "cpu",	 [A_CAUSE] = "cause",	    [A_EVENT] = "event",
	[A_COUNT] = "count",
};

void perfetto_category(struct perfetto *p, struct perfetto_slice *s, enum perfetto_category c)
{
	s->category[s->categories++] = perfetto_text(p, TEXT_CATEGORY, c, categories[c]);
}

void perfetto_note(struct perfetto *p, struct perfetto_slice *s, enum perfetto_annotation a,
		   uint64_t text, uint64_t number)
{
	s->note[s->notes].name = perfetto_text(p, TEXT_ANNOTATION, a, annotations[a]);
	s->note[s->notes].text = text;
	s->note[s->notes++].number = number;
}

static void put_track_event(struct perfetto *p, const struct perfetto_slice *s, uint64_t ts,
			    unsigned type)
{
	size_t packet = perfetto_packet(p, ts, WRITER_EVENTS);
	size_t at = pb_begin(&p->out, 11); /* track_event */

	pb_u64(&p->out, 9, type);      /* type */
	pb_u64(&p->out, 11, s->track); /* track_uuid */
	for (unsigned i = 0; type != SLICE_END && i < s->categories; i++)
		pb_u64(&p->out, 3, s->category[i]); /* category_iids */
	if (type != SLICE_END)
		pb_u64(&p->out, 10, s->name); /* name_iid */
	for (unsigned i = 0; type != SLICE_END && i < s->notes; i++) {
		size_t note = pb_begin(&p->out, 4); /* debug_annotations */

		pb_u64(&p->out, 1, s->note[i].name); /* name_iid */
		if (s->note[i].text)
			pb_u64(&p->out, 17, s->note[i].text); /* string_value_iid */
		else
			pb_u64(&p->out, 3, s->note[i].number); /* uint_value */
		pb_end(&p->out, note);
	}
	if (s->flow && type == SLICE_BEGIN)
		pb_fixed64(&p->out, 47, s->flow); /* flow_ids */
	if (s->flow && type == INSTANT)
		pb_fixed64(&p->out, 48, s->flow); /* terminating_flow_ids */
	if (type == SLICE_BEGIN)
		pb_some(&p->out, 56, s->stack); /* callstack_iid */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

void perfetto_slice(struct perfetto *p, const struct perfetto_slice *s)
{
	put_track_event(p, s, s->start, SLICE_BEGIN);
	put_track_event(p, s, s->end, SLICE_END);
}

void perfetto_named_track(struct perfetto *p, uint64_t track, const char *name)
{
	size_t packet = perfetto_packet(p, 0, WRITER_SYSTEM);
	size_t at = pb_begin(&p->out, 60); /* track_descriptor */

	pb_u64(&p->out, 1, track); /* uuid */
	pb_str(&p->out, 2, name);  /* name */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

uint64_t perfetto_thread_track(struct perfetto *p, const struct thread *th)
{
	uint32_t as = p->threads[th->index].as;
	uint64_t track = as + 1;
	size_t packet, at, thread;

	perfetto_name(p, th);
	if (p->threads[as].tracked)
		return track;
	p->threads[as].tracked = true;
	/*
	 * Without a time, Perfetto reads it at the trace's end, and a thread that has ended anew.
	 */
	packet = perfetto_packet(p,
				 th->pid ? perfetto_naming_ts(p, p->m->timeline.threads.v[as]) : 0,
				 WRITER_SYSTEM);
	at = pb_begin(&p->out, 60); /* track_descriptor */
	pb_u64(&p->out, 1, track);  /* uuid */
	if (th->pid) {
		thread = pb_begin(&p->out, 4); /* thread */
		pb_u64(&p->out, 1, th->pid);   /* pid */
		pb_u64(&p->out, 2, th->tid);   /* tid */
		pb_end(&p->out, thread);
	} else {
		perfetto_str(p, &p->out, 2, th->name); /* name */
	}
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
	return track;
}

uint64_t perfetto_thread_text(struct perfetto *p, const struct thread *th)
{
	uint64_t text = perfetto_has_text(p, TEXT_THREAD, th->index);
	struct buf b = {0};

	if (text)
		return text;
	buf_printf(&b, "%s (%" PRIu32 ")", th->name, th->tid);
	text = perfetto_text(p, TEXT_THREAD, th->index, buf_cstr(&b));
	buf_done(&b);
	return text;
}

/* By its index in the model; NULL: the summary has none of its waits. */
static const struct lock_sum *lock_sum(const struct perfetto *p, uint32_t index)
{
	const struct summary *s = p->job->summary;
	size_t at = index < p->m->locks.list.n ? s->lock_at[index] : 0;

	return at ? &s->locks.v[at - 1] : NULL;
}

static void add_lock(struct perfetto *p, struct perfetto_slice *s, uint32_t index)
{
	const struct lock_sum *l = lock_sum(p, index);

	if (!l)
		return;
	s->name = perfetto_text(p, TEXT_NAME_LOCK, index, l->name);
	perfetto_note(p, s, A_LOCK, perfetto_text(p, TEXT_LOCK, index, l->name), 0);
	perfetto_note(p, s, A_KIND, perfetto_text(p, TEXT_KIND, l->kind, lock_kind_words(l->kind)),
		      0);
}

static uint64_t instant_text(struct perfetto *p, enum perfetto_text what, uint32_t lock)
{
	const struct lock_sum *l = lock_sum(p, lock);
	uint64_t text = perfetto_has_text(p, what, lock);
	struct buf b = {0};

	if (text)
		return text;
	buf_printf(&b, "%s %s", what == TEXT_NAME_FREED ? "lets go of" : "has", l ? l->name : "it");
	text = perfetto_text(p, what, lock, buf_cstr(&b));
	buf_done(&b);
	return text;
}

static void put_instant(struct perfetto *p, uint64_t flow, enum perfetto_text what, uint32_t lock,
			const struct thread *th, uint64_t ts)
{
	struct perfetto_slice s = {.flow = flow, .name = instant_text(p, what, lock)};

	perfetto_category(p, &s, CATEGORY_LOCK);
	s.track = perfetto_thread_track(p, th);
	put_track_event(p, &s, ts, INSTANT);
}

/* The slice, and where its flow ends. */
static void put_lock_wait(struct perfetto *p, struct perfetto_slice *s, uint32_t lock,
			  const struct thread *holder, const struct waker *w)
{
	bool freed =
		w && w->known && w->release && w->ctx == WAKE_TASK && w->thread && w->ts <= p->to;

	if (holder)
		perfetto_note(p, s, A_HOLDER, perfetto_thread_text(p, holder), 0);
	if (freed || holder)
		s->flow = ++p->flows;
	perfetto_slice(p, s);
	if (freed)
		put_instant(p, s->flow, TEXT_NAME_FREED, lock, w->thread, w->ts);
	else if (holder)
		put_instant(p, s->flow, TEXT_NAME_HELD, lock, holder, s->start);
}

static void add_waker(struct perfetto *p, struct perfetto_slice *s, const struct waker *w)
{
	if (!w->known)
		return;
	if (w->ctx != WAKE_TASK)
		perfetto_note(p, s, A_WAKER, perfetto_text(p, TEXT_WORDS, 0, "an interrupt"), 0);
	else if (w->thread)
		perfetto_note(p, s, A_WAKER, perfetto_thread_text(p, w->thread), 0);
}

/* As locks_wait() and summary_locks() count. */
static bool counts_as_lock(const struct perfetto *p, const struct interval *iv,
			   const struct verdict *v)
{
	if (!iv->lock)
		return v->reason == REASON_KERNEL_LOCK && v->evidence == EVIDENCE_KSTACK;
	return !locks_at(&p->m->locks, iv->lock)->kernel || iv->open;
}

void perfetto_wait(struct perfetto *p, const struct interval *iv)
{
	const struct wait_row *r = &p->m->tally.waits.v[iv->row];
	enum reason reason = r->verdict.reason;
	bool all = EXPORT_HAS(p->job->kinds, EXPORT_WAIT);
	bool counts = counts_as_lock(p, iv, &r->verdict);
	struct perfetto_slice s = {.start = iv->start, .end = iv->end};
	uint32_t holder;

	if (!all && (!EXPORT_HAS(p->job->kinds, EXPORT_LOCK) || !reason_has(reason, TRAIT_LOCK)))
		return;
	s.track = perfetto_thread_track(p, iv->thread);
	s.stack = perfetto_stack(p, iv->kstack, iv->ustack, true);
	s.name = perfetto_text(p, TEXT_NAME_REASON, reason, reason_label(reason));
	perfetto_category(p, &s, CATEGORY_WAIT);
	if (counts)
		perfetto_category(p, &s, CATEGORY_LOCK);
	perfetto_note(p, &s, A_REASON, perfetto_text(p, TEXT_REASON, reason, reason_name(reason)),
		      0);
	add_waker(p, &s, &iv->waker);
	if (iv->lock)
		add_lock(p, &s, iv->lock - 1);
	if (!iv->lock || !counts) {
		perfetto_slice(p, &s);
		return;
	}
	holder = holders_interval(&p->holders, iv);
	put_lock_wait(p, &s, iv->lock - 1, holder ? p->m->timeline.threads.v[holder - 1] : NULL,
		      &iv->waker);
}

static uint64_t klock_key(uint64_t addr, unsigned kind, unsigned what, uint64_t of)
{
	return map_mix(map_mix(map_mix(addr) + kind) + map_mix(of + ((uint64_t)what << 56)));
}

/* Which lock of the model an event is about; UINT32_MAX: none of it. */
static uint32_t klock_index(const struct perfetto *p, const struct ev_klocked *e)
{
	enum lock_kind kind = klock_kind(e->flags);
	uint64_t *at = map_get(&p->klocks, klock_key(e->addr, kind, e->what, e->of));

	if (!at)
		at = map_get(&p->klocks, klock_key(e->addr, kind, KLOCK_ANY, 0));
	return at ? (uint32_t)*at - 1 : UINT32_MAX;
}

void perfetto_klocked(struct perfetto *p, const struct event *ev)
{
	const struct ev_klocked *e = &ev->klocked;
	const struct thread *th = perfetto_thread(p, e->tid), *holder;
	uint64_t took = e->took_ns < ev->ts ? e->took_ns : ev->ts;
	struct perfetto_slice s = {.start = ev->ts - took, .end = ev->ts};
	bool interrupt = e->flags & KLOCK_IN_INTERRUPT;
	uint32_t lock = klock_index(p, e);

	if (!EXPORT_HAS(p->job->kinds, EXPORT_LOCK) || !th || !export_wants(p->job, th) ||
	    (interrupt && p->job->thread))
		return;
	holder = e->owner && e->owner != e->tid ? perfetto_thread(p, e->owner) : NULL;
	s.track = perfetto_thread_track(p, th);
	s.stack = perfetto_stack(p, e->kstack, 0, true);
	s.name = perfetto_text(p, TEXT_NAME_REASON, REASON_KERNEL_LOCK,
			       reason_label(REASON_KERNEL_LOCK));
	perfetto_category(p, &s, CATEGORY_LOCK);
	perfetto_note(p, &s, A_REASON,
		      interrupt ? perfetto_text(p, TEXT_WORDS, 1, "an interrupt wanted it")
				: perfetto_text(p, TEXT_REASON, REASON_KERNEL_LOCK,
						reason_name(REASON_KERNEL_LOCK)),
		      0);
	add_lock(p, &s, lock);
	if (e->more)
		perfetto_note(p, &s, A_TIMES, 0, (uint64_t)e->more + 1);
	put_lock_wait(p, &s, lock, holder, NULL);
}

static void index_klocks(struct perfetto *p)
{
	const struct locks *l = &p->m->locks;

	for (size_t i = 0; i < l->list.n; i++) {
		const struct lock *k = &l->list.v[i];
		uint32_t index = locks_index(l, (uint32_t)i + 1);

		if (!k->kernel)
			continue;
		*map_put(&p->klocks, klock_key(k->addr, k->kind, KLOCK_ANY, 0), NULL) = index + 1;
		*map_put(&p->klocks, klock_key(k->addr, k->kind, k->what, k->of), NULL) = index + 1;
	}
}

void perfetto_slices_begin(struct perfetto *p)
{
	index_klocks(p);
	if (EXPORT_HAS(p->job->kinds, EXPORT_WAIT) || EXPORT_HAS(p->job->kinds, EXPORT_LOCK))
		perfetto_stalls(p);
}

void perfetto_slices_done(struct perfetto *p)
{
	map_done(&p->klocks);
}
