// SPDX-License-Identifier: MIT
/*
 * Intervals of a thread come in the order of time, but a wait comes only after samples that were
 * taken after it (see timeline/life.c). So samples are queued until their interval is known, which
 * also tells how much CPU time was used between two of them.
 */
#include "export/spool.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/err.h"
#include "export/holders.h"

/* A thread with this many queued samples surely runs: they are written at once. */
enum { WAITING_SAMPLES = 1 << 16 };

struct waiting {
	uint64_t ts;
	uint32_t row;
};

struct spool_lane {
	struct spool *spool;
	const struct thread *thread;
	struct buf packed;
	VEC(struct waiting) samples;
	uint64_t last;	 /* start of the last packed */
	uint64_t cpu;	 /* used, and not in any record */
	uint64_t ran_to; /* up to here it is */
	uint64_t until;	 /* end of the last interval, at first the thread's start */
};

struct spool {
	const struct export_job *job;
	const struct spool_opts *opts;
	struct spool_lane *lanes;
	size_t n;
	size_t first, end; /* those that this walk keeps */
	uint32_t *lane_of; /* by thread, + 1 */
	size_t kept;	   /* bytes */
	bool too_large;	   /* lane `first` alone does not fit */
	struct holders holders;
	spooled_fn direct; /* not NULL: records of lane `first` go there */
	void *direct_arg;
	double shown, shown_before; /* of the progress: now, and when this walk began */
};

static struct spool_lane *lane_of(struct spool *s, const struct thread *th)
{
	uint32_t i = s->lane_of[th->index];

	return i && i - 1 >= s->first && i - 1 < s->end ? &s->lanes[i - 1] : NULL;
}

static void spool_drop(struct spool *s, struct spool_lane *l)
{
	s->kept -= l->packed.room;
	buf_done(&l->packed);
}

/* Leaves the last threads to a later walk. */
static int spool_make_room(struct spool *s)
{
	while (s->kept > s->opts->room && s->end > s->first + 1)
		spool_drop(s, &s->lanes[--s->end]);
	if (s->kept <= s->opts->room)
		return 0;
	spool_drop(s, &s->lanes[s->first]);
	s->too_large = true;
	return -ECANCELED;
}

static int spool_put(struct spool_lane *l, const struct spooled *rec)
{
	struct spool *s = l->spool;
	size_t room = l->packed.room;

	if (s->direct)
		return s->direct(s->direct_arg, rec);
	if (l >= s->lanes + s->end)
		return 0; /* dropped just now */
	buf_put_u8(&l->packed, (uint8_t)(rec->kind | rec->by << 4));
	buf_put_varint(&l->packed, zigzag((int64_t)(rec->start - l->last)));
	buf_put_varint(&l->packed, rec->end - rec->start);
	buf_put_varint(&l->packed, rec->cpu);
	buf_put_varint(&l->packed, rec->row);
	if (rec->kind == SPOOLED_WAIT) {
		buf_put_varint(&l->packed, rec->holder);
		buf_put_varint(&l->packed, rec->waker);
	}
	l->last = rec->start;
	s->kept += l->packed.room - room;
	return s->kept > s->opts->room ? spool_make_room(s) : 0;
}

static int spool_unpack(const struct spool_lane *l, spooled_fn fn, void *arg)
{
	struct cursor c = cur_init(l->packed.p, l->packed.len);
	uint64_t last = 0;
	int rc = 0;

	while (!rc && !cur_end(&c)) {
		uint8_t head = cur_u8(&c);
		struct spooled rec = {.kind = head & 15, .by = head >> 4};

		rec.start = last + (uint64_t)unzigzag(cur_varint(&c));
		rec.end = rec.start + cur_varint(&c);
		rec.cpu = cur_varint(&c);
		rec.row = (uint32_t)cur_varint(&c);
		if (rec.kind == SPOOLED_WAIT) {
			rec.holder = (uint32_t)cur_varint(&c);
			rec.waker = (uint32_t)cur_varint(&c);
		}
		last = rec.start;
		rc = fn(arg, &rec);
	}
	return rc;
}

static int put_with_cpu(struct spool_lane *l, struct spooled *rec)
{
	rec->cpu = l->cpu;
	l->cpu = 0;
	return spool_put(l, rec);
}

/* Writes the samples before `until`; if `running`, CPU time passes between them. */
static int spool_put_samples(struct spool_lane *l, uint64_t until, bool running)
{
	size_t n = 0;
	int rc = 0;

	for (; n < l->samples.n && l->samples.v[n].ts < until && !rc; n++) {
		uint64_t ts = l->samples.v[n].ts;
		struct spooled rec = {.kind = SPOOLED_SAMPLE, .start = ts, .end = ts};

		if (running && ts > l->ran_to) {
			l->cpu += ts - l->ran_to;
			l->ran_to = ts;
		}
		rec.row = l->samples.v[n].row;
		rc = put_with_cpu(l, &rec);
	}
	if (!n)
		return rc;
	memmove(l->samples.v, l->samples.v + n, (l->samples.n - n) * sizeof(*l->samples.v));
	l->samples.n -= n;
	return rc;
}

static int spool_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			   uint32_t row)
{
	struct spool *s = arg;
	struct spool_lane *l = lane_of(s, th);
	uint64_t sample_ns = s->job->model->timeline.sample_ns;

	if (!l || !EXPORT_HAS(s->job->kinds, EXPORT_CPU))
		return 0;
	if (sample_ns) {
		struct spooled rec = {.kind = SPOOLED_SAMPLE,
				      .start = ts,
				      .end = ts,
				      .cpu = sample_ns,
				      .row = row};

		l->until = ts;
		return spool_put(l, &rec);
	}
	vec_push(&l->samples, (struct waiting){ts, row});
	if (l->samples.n < WAITING_SAMPLES)
		return 0;
	if (l->ran_to < l->until)
		l->ran_to = l->until;
	return spool_put_samples(l, UINT64_MAX, true);
}

static void take_waker(struct spooled *rec, const struct waker *w)
{
	if (!w->known)
		return;
	rec->by = w->ctx != WAKE_TASK || !w->tid ? SPOOLED_INTERRUPT
		  : w->thread			 ? SPOOLED_THREAD
						 : SPOOLED_FOREIGN;
	rec->waker = rec->by == SPOOLED_THREAD	  ? w->thread->index
		     : rec->by == SPOOLED_FOREIGN ? w->tid
						  : 0;
}

static bool spool_wanted(const struct spool *s, const struct interval *iv)
{
	const struct wait_row *r;

	if (!s->opts->waits)
		return false;
	if (EXPORT_HAS(s->job->kinds, EXPORT_WAIT))
		return true;
	if (!EXPORT_HAS(s->job->kinds, EXPORT_LOCK) || iv->kind != INTERVAL_WAITING)
		return false;
	r = &s->job->model->tally.waits.v[iv->row];
	return reason_has(r->verdict.reason, TRAIT_LOCK);
}

static int take_running(struct spool_lane *l, const struct interval *iv)
{
	int rc;

	if (l->ran_to < iv->start)
		l->ran_to = iv->start;
	rc = spool_put_samples(l, iv->end, true);
	if (l->ran_to < iv->end)
		l->cpu += iv->end - l->ran_to;
	l->ran_to = iv->end;
	return rc;
}

static int take_off(struct spool_lane *l, const struct interval *iv)
{
	struct spooled rec = {.start = iv->start, .end = iv->end};
	int rc = 0;

	if (spool_wanted(l->spool, iv)) {
		rec.kind = iv->kind == INTERVAL_WAITING	   ? SPOOLED_WAIT
			   : iv->kind == INTERVAL_RUNNABLE ? SPOOLED_RUNNABLE
							   : SPOOLED_LOST;
		rec.row = iv->kind == INTERVAL_WAITING ? iv->row : !!(iv->state & STATE_THROTTLED);
		if (iv->kind == INTERVAL_WAITING)
			take_waker(&rec, &iv->waker);
		if (iv->kind == INTERVAL_WAITING && l->spool->opts->holders)
			rec.holder = holders_interval(&l->spool->holders, iv);
		rc = put_with_cpu(l, &rec);
	}
	return rc ? rc : spool_put_samples(l, iv->end, false);
}

static int spool_on_interval(void *arg, const struct interval *iv)
{
	struct spool *s = arg;
	struct spool_lane *l = lane_of(s, iv->thread);
	int rc;

	/* Without switches, one interval covers the whole life and tells nothing. */
	if (!l || s->job->model->timeline.sample_ns)
		return 0;
	rc = spool_put_samples(l, iv->start, false);
	if (!rc)
		rc = iv->kind == INTERVAL_RUNNING ? take_running(l, iv) : take_off(l, iv);
	l->until = iv->end;
	return rc;
}

static int spool_on_event(void *arg, const struct event *ev, bool inside)
{
	struct spool *s = arg;

	holders_event(&s->holders, ev);
	return 0;
}

static int spool_on_seen(void *arg, const struct seen *seen)
{
	struct spool *s = arg;

	holders_seen(&s->holders, seen);
	return 0;
}

static int finish_lane(struct spool_lane *l)
{
	int rc = spool_put_samples(l, UINT64_MAX, false);
	struct spooled rec = {.kind = SPOOLED_REST, .start = l->until, .end = l->until};

	return rc || !l->cpu ? rc : put_with_cpu(l, &rec);
}

/* Never back. */
static void spool_show(struct spool *s, double done)
{
	if (done > s->shown)
		s->shown = done;
	if (s->job->progress)
		s->job->progress(s->job->progress_arg, s->shown);
}

/* The number of walks is not known: each gets a share of the rest of the bar. */
static void on_progress(void *arg, double done)
{
	struct spool *s = arg;
	double part = s->direct ? 0.1 : 0.4;

	spool_show(s, s->shown_before + (1 - s->shown_before) * part * done);
}

static int spool_walk(struct spool *s)
{
	bool holders = s->opts->waits && s->opts->holders;
	uint64_t from = model_window_start(s->job->model);
	struct walk w = {
		.event = holders ? spool_on_event : NULL,
		.interval = spool_on_interval,
		.sample = spool_on_sample,
		.seen = holders ? spool_on_seen : NULL,
		.arg = s,
		.progress = on_progress,
		.progress_arg = s,
	};
	int rc;

	for (size_t i = s->first; i < s->end; i++) {
		struct spool_lane *l = &s->lanes[i];

		l->samples.n = 0;
		l->last = l->cpu = l->ran_to = 0;
		l->until = l->thread->start > from ? l->thread->start : from;
	}
	s->shown_before = s->shown;
	rc = model_walk(s->job->model, s->job->reader, &w);
	for (size_t i = s->first; i < s->end && !rc; i++)
		rc = finish_lane(&s->lanes[i]);
	holders_done(&s->holders);
	return rc;
}

int spool_each(struct spool_lane *l, spooled_fn fn, void *arg)
{
	struct spool *s = l->spool;
	int rc;

	if (!s->too_large)
		return spool_unpack(l, fn, arg);
	s->direct = fn;
	s->direct_arg = arg;
	rc = spool_walk(s);
	s->direct = NULL;
	return rc;
}

static struct spool *spool_new(const struct export_job *job, const struct spool_opts *opts)
{
	struct spool *s = mem_zalloc(sizeof(*s));
	const struct summary *sum = job->summary;

	s->job = job;
	s->opts = opts;
	s->lanes = mem_zalloc((sum->threads.n + 1) * sizeof(*s->lanes));
	s->lane_of = mem_zalloc((job->model->timeline.threads.n + 1) * sizeof(*s->lane_of));
	for (size_t i = 0; i < sum->threads.n; i++) {
		if (!export_wants(job, sum->threads.v[i]))
			continue;
		s->lanes[s->n] = (struct spool_lane){.spool = s, .thread = sum->threads.v[i]};
		s->lane_of[sum->threads.v[i]->index] = (uint32_t)++s->n;
	}
	return s;
}

static void lane_done(struct spool_lane *l)
{
	buf_done(&l->packed);
	vec_done(&l->samples);
}

static void spool_free(struct spool *s)
{
	for (size_t i = 0; i < s->n; i++)
		lane_done(&s->lanes[i]);
	free(s->lanes);
	free(s->lane_of);
	free(s);
}

static int some(struct spool *s, spool_thread_fn fn, void *arg)
{
	int rc;

	s->end = s->n;
	s->too_large = false;
	s->kept = 0;
	rc = s->opts->waits || EXPORT_HAS(s->job->kinds, EXPORT_CPU) ? spool_walk(s) : 0;
	if (rc && !s->too_large)
		return rc;
	for (rc = 0; s->first < s->end && !rc; s->first++) {
		struct spool_lane *l = &s->lanes[s->first];

		s->end = s->too_large ? s->first + 1 : s->end;
		rc = fn(arg, l->thread, l);
		lane_done(l);
		spool_show(s, (double)(s->first + 1) / (double)s->n);
	}
	return rc;
}

int spool_run(const struct export_job *job, const struct spool_opts *opts, spool_thread_fn fn,
	      void *arg)
{
	struct spool *s = spool_new(job, opts);
	int rc = 0;

	while (s->first < s->n && !rc)
		rc = some(s, fn, arg);
	spool_free(s);
	return rc;
}
