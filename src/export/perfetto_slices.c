// SPDX-License-Identifier: MIT
/*
 * Waits, locks and stalls as slices.
 *
 * A wait is a slice on its thread's track, in the category "wait", named by its reason or by the
 * lock that it is for. What counts as waiting for a lock is in the category "lock": sleeps on locks
 * of programs, and for locks of the kernel the time from the first attempt to the lock, as the
 * kernel itself says (sleeps on them are waits within). A flow leads from there to who had the
 * lock: to the moment at which it let go, or, if nobody was seen to do so, to what it did when the
 * wait began. Stalls have a track of their own, or more where they overlap.
 */
#include "export/perfetto.h"

#include <inttypes.h>

#include "base/pb.h"
#include "view/lead.h"

/* TrackEvent.type */
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

enum category { CATEGORY_WAIT, CATEGORY_LOCK, CATEGORY_STALL };
static const char *const categories[] = {
	[CATEGORY_WAIT] = "wait",
	[CATEGORY_LOCK] = "lock",
	[CATEGORY_STALL] = "stall",
};

enum annotation { A_REASON, A_LOCK, A_KIND, A_HOLDER, A_WAKER, A_WHAT, A_THREADS, A_CPUS };
static const char *const annotations[] = {
	[A_REASON] = "reason",	 [A_LOCK] = "lock",	    [A_KIND] = "kind",
	[A_HOLDER] = "holder",	 [A_WAKER] = "waker",	    [A_WHAT] = "what",
	[A_THREADS] = "threads", [A_CPUS] = "cpus_running",
};

/* One slice, put together before its packets: what is new in it stands in front of it. */
struct slice {
	uint64_t start, end;
	uint64_t track, name, stack;
	uint64_t flow; /* 0: none */
	uint64_t category[2];
	unsigned categories, notes;
	struct {
		uint64_t name, text; /* text 0: a number */
		uint64_t number;
	} note[ARRAY_LEN(annotations)];
};

static void add_category(struct perfetto *p, struct slice *s, enum category c)
{
	s->category[s->categories++] = perfetto_text(p, TEXT_CATEGORY, c, categories[c]);
}

static void add_note(struct perfetto *p, struct slice *s, enum annotation a, uint64_t text,
		     uint64_t number)
{
	s->note[s->notes].name = perfetto_text(p, TEXT_ANNOTATION, a, annotations[a]);
	s->note[s->notes].text = text;
	s->note[s->notes++].number = number;
}

static void put_track_event(struct perfetto *p, const struct slice *s, uint64_t ts, unsigned type)
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

static void put_slice(struct perfetto *p, const struct slice *s)
{
	put_track_event(p, s, s->start, SLICE_BEGIN);
	put_track_event(p, s, s->end, SLICE_END);
}

/* Its number, made known if it is not yet. */
static uint64_t thread_track(struct perfetto *p, const struct thread *th)
{
	uint64_t track = th->index + 1;
	size_t packet, at, thread;

	if (p->threads[th->index].tracked)
		return track;
	p->threads[th->index].tracked = true;
	perfetto_name(p, th);
	packet = perfetto_packet(p, 0, WRITER_SYSTEM);
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

static uint64_t thread_text(struct perfetto *p, const struct thread *th)
{
	struct buf b = {0};
	uint64_t text;

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

static void add_lock(struct perfetto *p, struct slice *s, uint32_t index)
{
	const struct lock_sum *l = lock_sum(p, index);

	if (!l)
		return;
	s->name = perfetto_text(p, TEXT_NAME_LOCK, index, l->name);
	add_note(p, s, A_LOCK, perfetto_text(p, TEXT_LOCK, index, l->name), 0);
	add_note(p, s, A_KIND, perfetto_text(p, TEXT_KIND, l->kind, lock_kind_words(l->kind)), 0);
}

static void put_instant(struct perfetto *p, const struct slice *of, enum perfetto_text what,
			uint32_t lock, const struct thread *th, uint64_t ts)
{
	const struct lock_sum *l = lock_sum(p, lock);
	struct slice s = {.flow = of->flow};
	struct buf b = {0};

	buf_printf(&b, "%s %s", what == TEXT_NAME_FREED ? "lets go of" : "has", l ? l->name : "it");
	s.name = perfetto_text(p, what, lock, buf_cstr(&b));
	buf_done(&b);
	add_category(p, &s, CATEGORY_LOCK);
	s.track = thread_track(p, th);
	put_track_event(p, &s, ts, INSTANT);
}

/* The slice, and where its flow ends. */
static void put_lock_wait(struct perfetto *p, struct slice *s, uint32_t lock,
			  const struct thread *holder, const struct waker *w)
{
	bool freed = w && w->known && w->release && w->ctx == WAKE_TASK && w->thread;

	if (holder)
		add_note(p, s, A_HOLDER, thread_text(p, holder), 0);
	if (freed || holder)
		s->flow = ++p->flows;
	put_slice(p, s);
	if (freed)
		put_instant(p, s, TEXT_NAME_FREED, lock, w->thread, w->ts);
	else if (holder)
		put_instant(p, s, TEXT_NAME_HELD, lock, holder, s->start);
}

static void add_waker(struct perfetto *p, struct slice *s, const struct waker *w)
{
	if (!w->known)
		return;
	if (w->ctx != WAKE_TASK)
		add_note(p, s, A_WAKER, perfetto_text(p, TEXT_WORDS, 0, "an interrupt"), 0);
	else if (w->thread)
		add_note(p, s, A_WAKER, thread_text(p, w->thread), 0);
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
	struct slice s = {.start = iv->start, .end = iv->end};
	uint32_t holder;

	if (!all && (!EXPORT_HAS(p->job->kinds, EXPORT_LOCK) || !export_is_lock(reason)))
		return;
	s.track = thread_track(p, iv->thread);
	s.stack = perfetto_stack(p, iv->kstack, iv->ustack, true);
	s.name = perfetto_text(p, TEXT_NAME_REASON, reason, reason_label(reason));
	add_category(p, &s, CATEGORY_WAIT);
	if (counts)
		add_category(p, &s, CATEGORY_LOCK);
	add_note(p, &s, A_REASON, perfetto_text(p, TEXT_REASON, reason, reason_name(reason)), 0);
	add_waker(p, &s, &iv->waker);
	if (iv->lock)
		add_lock(p, &s, iv->lock - 1);
	if (!iv->lock || !counts) {
		put_slice(p, &s);
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
	struct slice s = {.start = ev->ts - took, .end = ev->ts};
	bool interrupt = e->flags & KLOCK_IN_INTERRUPT;
	uint32_t lock = klock_index(p, e);

	if (!EXPORT_HAS(p->job->kinds, EXPORT_LOCK) || !th || !export_wants(p->job, th) ||
	    (interrupt && p->job->thread))
		return;
	holder = e->owner && e->owner != e->tid ? perfetto_thread(p, e->owner) : NULL;
	s.track = thread_track(p, th);
	s.stack = perfetto_stack(p, e->kstack, 0, true);
	s.name = perfetto_text(p, TEXT_NAME_REASON, REASON_KERNEL_LOCK,
			       reason_label(REASON_KERNEL_LOCK));
	add_category(p, &s, CATEGORY_LOCK);
	add_note(p, &s, A_REASON,
		 interrupt ? perfetto_text(p, TEXT_WORDS, 1, "an interrupt wanted it")
			   : perfetto_text(p, TEXT_REASON, REASON_KERNEL_LOCK,
					   reason_name(REASON_KERNEL_LOCK)),
		 0);
	add_lock(p, &s, lock);
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

static int by_start(const void *pa, const void *pb)
{
	const struct stall *a = *(const struct stall *const *)pa;
	const struct stall *b = *(const struct stall *const *)pb;

	return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
				    : (a > b) - (a < b);
}

static void put_stall(struct perfetto *p, const struct stall *st, size_t number, uint64_t track)
{
	const struct summary *sum = p->job->summary;
	struct slice s = {.start = st->start, .end = st->start + st->ns, .track = track};
	struct buf b = {0};

	lead_stall(sum, st, &b);
	s.name = perfetto_text(p, TEXT_NAME_STALL, 0, "stall");
	add_category(p, &s, CATEGORY_STALL);
	add_note(p, &s, A_WHAT, perfetto_text(p, TEXT_WORDS, 2 + number, buf_cstr(&b)), 0);
	add_note(p, &s, A_THREADS, 0, st->threads);
	if (st->lock < sum->locks.n)
		add_note(p, &s, A_LOCK,
			 perfetto_text(p, TEXT_WORDS, (uint64_t)1 << 32 | st->lock,
				       sum->locks.v[st->lock].name),
			 0);
	if (st->culprit)
		add_note(p, &s, A_HOLDER, thread_text(p, st->culprit), 0);
	s.stack = perfetto_stack(p, st->kstack, st->ustack, true);
	put_slice(p, &s);
	buf_done(&b);
}

static void put_track(struct perfetto *p, uint64_t track, const char *name)
{
	size_t packet = perfetto_packet(p, 0, WRITER_SYSTEM);
	size_t at = pb_begin(&p->out, 60); /* track_descriptor */

	pb_u64(&p->out, 1, track); /* uuid */
	pb_str(&p->out, 2, name);  /* name */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

/* Times at which nothing came from any CPU; they do not overlap. */
static void put_blackouts(struct perfetto *p, uint64_t track)
{
	const struct stalls *all = &p->job->summary->stalls;

	if (all->blackouts.n)
		put_track(p, track, "blackouts");
	for (size_t i = 0; i < all->blackouts.n; i++) {
		const struct blackout *o = &all->blackouts.v[i];
		struct slice s = {.start = o->start, .end = o->start + o->ns, .track = track};

		s.name = perfetto_text(p, TEXT_NAME_STALL, 1, "blackout");
		add_category(p, &s, CATEGORY_STALL);
		add_note(p, &s, A_CPUS, 0, o->running);
		put_slice(p, &s);
	}
}

/* A track on which nothing is going on any more, or a new one. */
static uint64_t stall_track(struct perfetto *p, uint64_t *ends, size_t *n, const struct stall *st)
{
	uint64_t first = p->m->timeline.threads.n + 2;
	size_t i = 0;

	while (i < *n && ends[i] > st->start)
		i++;
	ends[i] = st->start + st->ns;
	if (i == *n)
		put_track(p, first + (*n)++, "stalls");
	return first + i;
}

static void put_stalls(struct perfetto *p)
{
	const struct stalls *all = &p->job->summary->stalls;
	const struct stall **list = mem_zalloc((all->list.n + 1) * sizeof(*list));
	uint64_t *ends = mem_zalloc((all->list.n + 1) * sizeof(*ends));
	size_t tracks = 0;

	for (size_t i = 0; i < all->list.n; i++)
		list[i] = &all->list.v[i];
	qsort(list, all->list.n, sizeof(*list), by_start);
	for (size_t i = 0; i < all->list.n; i++)
		put_stall(p, list[i], i, stall_track(p, ends, &tracks, list[i]));
	put_blackouts(p, p->m->timeline.threads.n + 1);
	free(list);
	free(ends);
}

void perfetto_slices_begin(struct perfetto *p)
{
	index_klocks(p);
	if (EXPORT_HAS(p->job->kinds, EXPORT_WAIT) || EXPORT_HAS(p->job->kinds, EXPORT_LOCK))
		put_stalls(p);
}

void perfetto_slices_done(struct perfetto *p)
{
	map_done(&p->klocks);
}
