// SPDX-License-Identifier: MIT
#include "model/model.h"

#include <stdlib.h>

#include "model/lock_events.h"
#include "store/inspect.h"

static const struct {
	const char *name, *words, *advice;
	enum loss_class class;
} causes[LOSS_CAUSES] = {
#define LOSS(id, UPPER, name, class, words, advice)                                                \
	[id] = {name, words, advice, LOSS_CLASS_##class},
#include "wire/loss.def"
};

const char *loss_name(uint32_t cause)
{
	return cause < LOSS_CAUSES && causes[cause].name ? causes[cause].name : "unknown";
}

const char *loss_words(uint32_t cause)
{
	return cause < LOSS_CAUSES && causes[cause].words
		       ? causes[cause].words
		       : "a cause that this version does not know";
}

const char *loss_advice(uint32_t cause)
{
	return cause < LOSS_CAUSES && causes[cause].advice ? causes[cause].advice : "";
}

/* Is it of interest to killed.c? Most waits are not. */
static inline bool may_be_killed(const struct model *m, const struct interval *iv)
{
	uint32_t i = iv->thread->index;

	return (iv->lock && !iv->waker.release) ||
	       (i < m->last_waits.n && m->last_waits.v[i].thread);
}

static void model_on_interval(void *arg, const struct interval *iv)
{
	struct model *m = arg;
	uint32_t row = 0;

	if (m->times_only) {
		m->sink(m->sink_arg, iv);
		return;
	}
	if (iv->kind == INTERVAL_WAITING) {
		row = tally_wait(&m->tally, iv);
		if (m->gils.list.n)
			gil_waited(m, iv);
		if (iv->lock && !m->reasons_only)
			locks_wait(&m->locks, iv, timeline_whole_ns(&m->timeline, iv));
		if (iv->open && !iv->more && !m->reasons_only) {
			/* The wait's real begin, even if the window cuts it. */
			uint64_t cut = timeline_cut_before(&m->timeline, iv->thread, iv->start);

			vec_push(&m->open, (struct open_wait){.thread = iv->thread,
							      .start = iv->start - cut,
							      .lock = iv->lock,
							      .row = row,
							      .file = iv->file});
		}
		if (!m->reasons_only && may_be_killed(m, iv))
			killed_waited(m, iv, row);
	}
	if (!m->reasons_only && (iv->thread->watched || iv->lock ||
				 (iv->state & ~(uint32_t)STATE_INTERRUPTIBLE &&
				  timeline_whole_ns(&m->timeline, iv) >= STALL_MIN_NS)))
		chain_interval(&m->chain, iv, row);
	if (m->sink && iv->kind != INTERVAL_WAITING) {
		m->sink(m->sink_arg, iv);
	} else if (m->sink) {
		struct interval with = *iv;

		with.row = row;
		m->sink(m->sink_arg, &with);
	}
}

static void on_did(void *arg, const struct thread *th, enum interval_kind kind, uint64_t start,
		   uint64_t end)
{
	struct model *m = arg;

	chain_did(&m->chain, th, kind, start, end);
}

static void on_outside(void *arg, const struct interval *iv, uint64_t inside)
{
	struct model *m = arg;

	tally_outside(&m->tally, iv, inside);
}

static void on_brief(void *arg, const struct thread *th, uint32_t lock, uint64_t ts)
{
	struct model *m = arg;

	if (ts >= m->timeline.from && ts < m->timeline.to)
		locks_brief(&m->locks, th, lock, ts);
}

/* A thread had left its CPU without a record: it does not count as running in those gaps. */
static void on_not_running(void *arg, uint64_t from, uint64_t to)
{
	struct model *m = arg;

	for (size_t i = m->gaps.n; i && m->gaps.v[i - 1].end > from; i--) {
		struct gap *g = &m->gaps.v[i - 1];

		if (g->start < to && g->running)
			g->running--;
	}
}

static void facts_init(struct facts *f)
{
	f->has_switches = true;
	f->path = mem_strdup("");
	f->host = mem_strdup("");
	f->kernel = mem_strdup("");
	f->foreign = mem_strdup("");
	f->engine = mem_strdup("");
	f->damage = mem_strdup("");
	f->not_followed = mem_strdup("");
	f->scope = mem_strdup("");
	f->target_command = mem_strdup("");
}

static void facts_done(struct facts *f)
{
	free(f->path);
	free(f->host);
	free(f->kernel);
	free(f->foreign);
	free(f->engine);
	free(f->damage);
	guarded_done(&f->guard);
	free(f->not_followed);
	for (size_t i = 0; i < f->command.n; i++)
		free(f->command.v[i]);
	vec_done(&f->command);
	for (size_t i = 0; i < f->targets.n; i++)
		free(f->targets.v[i]);
	vec_done(&f->targets);
	free(f->scope);
	free(f->target_command);
}

struct model *model_new(const struct model_opts *opts)
{
	struct model *m = mem_zalloc(sizeof(*m));

	timeline_init(&m->timeline, model_on_interval, m);
	m->timeline.brief = opts && (opts->times_only || opts->reasons_only) ? NULL : on_brief;
	m->timeline.not_running = opts && opts->times_only ? NULL : on_not_running;
	m->timeline.outside = opts && opts->times_only ? NULL : on_outside;
	m->timeline.did = opts && opts->sink ? NULL : on_did;
	names_init(&m->names, opts ? opts->frames : NULL);
	m->arch = arch_find(opts ? opts->machine : NULL);
	facts_init(&m->facts);
	chain_init(&m->chain, &m->timeline, &m->tally, &m->locks);
	classify_init(&m->classify, &m->names);
	classify_calls(&m->classify, m->arch);
	if (opts) {
		m->locks.min_wait = opts->min_lock_wait;
		m->timeline.window_from = opts->from;
		m->timeline.window_to = opts->to;
		m->timeline.sample_ns = opts->sample_ns;
		m->times_only = opts->times_only && opts->sink;
		m->reasons_only = m->chain.off = opts->reasons_only;
		m->sink = opts->sink;
		m->sample_sink = opts->sample_sink;
		m->chain.sink = opts->seen_sink;
		m->klocked_sink = opts->klocked_sink;
		m->sink_arg = m->chain.sink_arg = opts->sink_arg;
	}
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	timeline_done(&m->timeline);
	tally_done(&m->tally);
	names_done(&m->names);
	processes_done(&m->processes);
	waited_files_done(&m->files);
	locks_done(&m->locks);
	gils_done(&m->gils);
	chain_done(&m->chain);
	suspects_done(&m->suspects);
	classify_done(&m->classify);
	vec_done(&m->used);
	vec_done(&m->gaps);
	vec_done(&m->open);
	vec_done(&m->last_waits);
	for (size_t i = 0; i < m->steps.n; i++)
		free(m->steps.v[i].note);
	vec_done(&m->steps);
	facts_done(&m->facts);
	free(m);
}

void model_add_loss_span(struct model *m, uint32_t cpu, uint64_t start, uint64_t end)
{
	spans_add(&m->timeline.spans, cpu, start, end);
}

/* Lost names and mappings, samples and stacks leave the threads' time as it is. */
bool model_loses_time(const struct event *ev)
{
	const struct ev_lost *e = &ev->lost;

	if (ev->kind != EV_LOST)
		return false;
	if (e->kind && e->kind != EV_SWITCH && e->kind != EV_WAKING)
		return false;
	if (e->cause < LOSS_CAUSES && causes[e->cause].class != LOSS_CLASS_EVENT)
		return false;
	return e->span_ns && e->cause != LOSS_SIDEBAND;
}

void model_add_loss(struct model *m, const struct event *ev)
{
	uint64_t span = ev->lost.span_ns < ev->ts ? ev->lost.span_ns : ev->ts;

	if (model_loses_time(ev))
		model_add_loss_span(m, ev->cpu == EVENT_ALL_CPUS ? SPAN_ALL_CPUS : ev->cpu,
				    ev->ts - span, ev->ts);
}

static void count_loss(struct model *m, const struct event *ev)
{
	const struct timeline *t = &m->timeline;
	const struct ev_lost *e = &ev->lost;
	uint64_t first = ev->ts - (e->span_ns < ev->ts ? e->span_ns : ev->ts);

	if (ev->ts < t->from || first >= t->to)
		return;
	m->losses.by_kind[e->kind < EV_KINDS ? e->kind : 0] += e->count;
	if (e->cause < LOSS_CAUSES && causes[e->cause].name) {
		m->losses.by_cause[e->cause] += e->count;
		m->losses.by_class[causes[e->cause].class] += e->count;
	} else {
		m->losses.unknown += e->count;
		m->losses.by_class[LOSS_CLASS_EVENT] += e->count;
	}
}

static void count_sample(struct model *m, const struct event *ev)
{
	struct thread *th = timeline_thread(&m->timeline, ev->sample.tid);
	uint32_t row;

	if (!th || ev->ts < m->timeline.from || ev->ts >= m->timeline.to)
		return;
	th->samples++;
	m->samples++;
	if (m->times_only || m->reasons_only)
		return;
	row = tally_sample(&m->tally, th, ev->sample.kstack, ev->sample.ustack);
	if (th->watched)
		chain_sample(&m->chain, th, ev->ts, row);
	if (ev->sample.kstack)
		suspects_sample(&m->suspects, &m->locks, th, row);
	if (m->sample_sink)
		m->sample_sink(m->sink_arg, th, ev->ts, ev->cpu, row);
}

static __attribute__((noinline)) void count_new(struct model *m, enum stack_use use,
						uint32_t ustack)
{
	ustack = names_may_be_stack(&m->names, ustack) ? ustack : 0;
	while (m->used.n <= ustack)
		vec_push(&m->used, (struct stack_used){0});
	m->used.v[ustack].n[use]++;
}

static inline void count_use(struct model *m, const struct event *ev, enum stack_use use,
			     uint32_t ustack)
{
	if (!ustack || m->reasons_only || ev->ts < m->timeline.from || ev->ts >= m->timeline.to)
		return;
	if (__builtin_expect(ustack < m->used.n, 1))
		m->used.v[ustack].n[use]++;
	else
		count_new(m, use, ustack);
}

static void sum_ends(struct model *m)
{
	const struct frame_source *src = &m->names.source;

	for (uint32_t i = 0; src->stop && i < m->used.n; i++) {
		uint32_t stop = src->stop(src->arg, i);
		bool guessed = src->guessed && src->guessed(src->arg, i);

		for (unsigned use = 0; use < STACK_USES; use++) {
			m->ends.by_stop[use][stop < UNWIND_STOPS ? stop : 0] += m->used.v[i].n[use];
			m->ends.guessed[use] += guessed ? m->used.v[i].n[use] : 0;
		}
	}
}

static const struct {
	const char *name, *words;
	bool whole;
} stops[UNWIND_STOPS] = {
#define STOP(id, UPPER, name, whole, words) [id] = {name, words, whole},
#include "wire/stop.def"
};

bool model_stop_whole(unsigned stop)
{
	return stop < UNWIND_STOPS && stops[stop].whole;
}

const char *model_stop_name(unsigned stop)
{
	return stop < UNWIND_STOPS ? stops[stop].name : "unknown";
}

const char *model_stop_words(unsigned stop)
{
	return stop < UNWIND_STOPS ? stops[stop].words
				   : "for a reason that this version does not know";
}

/* Notes gaps that may be blackouts; stalls.c decides which are long enough. */
static __attribute__((noinline)) void note_gap(struct model *m, uint64_t ts)
{
	struct timeline *t = &m->timeline;
	uint64_t start = t->now > t->from ? t->now : t->from, end = ts < t->to ? ts : t->to;
	uint32_t running = 0;

	if (!t->now || ts <= t->now)
		return;
	/* A CPU that had stopped sampling before the gap runs no thread. */
	for (size_t i = 0; i < t->cpus.n; i++)
		running += t->cpus.v[i].cur && t->now - t->cpus.v[i].last < BLACKOUT_MIN_NS;
	if (running && start < end && end - start >= BLACKOUT_MIN_NS && !t->end)
		vec_push(&m->gaps, (struct gap){start, end, running});
}

static void note_step(struct model *m, const struct event *ev)
{
	struct model_step *s;

	if (ev->mark.what != MARK_STEP)
		return;
	s = vec_add(&m->steps);
	s->ts = ev->ts;
	s->mark = ev->mark;
	s->note = mem_strdup(ev->mark.note ? ev->mark.note : "");
	s->mark.note = s->note;
}

uint64_t model_gave_up(const struct model *m, uint32_t step)
{
	for (size_t i = 0; i < m->steps.n; i++)
		if (m->steps.v[i].mark.step == step)
			return m->steps.v[i].ts - m->timeline.begin;
	return UINT64_MAX;
}

static __attribute__((noinline)) void times_event(struct model *m, const struct event *ev)
{
	timeline_event(&m->timeline, ev);
	m->events++;
	if (ev->kind == EV_SAMPLE)
		count_sample(m, ev);
}

static void model_rare_event(struct model *m, const struct event *ev)
{
	timeline_event(&m->timeline, ev);
	switch (ev->kind) {
	case EV_ASLEEP:
		count_use(m, ev, STACK_OF_WAIT, ev->asleep.ustack);
		break;
	case EV_FILE:
		waited_file_event(&m->files, &m->timeline, &ev->file);
		break;
	case EV_SAMPLE:
		count_use(m, ev, STACK_OF_SAMPLE, ev->sample.ustack);
		count_sample(m, ev);
		break;
	case EV_LOST:
		count_loss(m, ev);
		break;
	case EV_MARK:
		note_step(m, ev);
		break;
	case EV_THREAD:
	case EV_FORK:
	case EV_EXEC:
		processes_event(&m->processes, &m->timeline, ev);
		break;
	case EV_FUTEX:
	case EV_KLOCK:
	case EV_KLOCKED:
	case EV_PLACE:
		locks_event(m, ev);
		break;
	}
}

/* Nearly all events are of three kinds. */
void model_event(struct model *m, const struct event *ev)
{
	if (__builtin_expect(m->times_only, 0)) {
		times_event(m, ev);
		return;
	}
	if (__builtin_expect(ev->ts - m->timeline.now >= BLACKOUT_MIN_NS, 0))
		note_gap(m, ev->ts);
	if (__builtin_expect(m->chain.notes.n >= m->chain.notes_max, 0))
		chain_charge(&m->chain, false);
	m->events++;
	if (ev->kind == EV_SWITCH) {
		if (__builtin_expect(m->gils.list.n != 0, 0))
			gil_switch(m, &ev->switch_, ev->ts);
		timeline_event(&m->timeline, ev);
		m->switches++;
	} else if (ev->kind == EV_WAKING) {
		if (ev->waking.ctx & WAKE_RELEASE)
			locks_waking(m, &ev->waking, ev->ts);
		timeline_event(&m->timeline, ev);
		m->wakings++;
		count_use(m, ev, STACK_OF_WAKER, ev->waking.ustack);
	} else if (ev->kind == EV_WAIT) {
		timeline_event(&m->timeline, ev);
		count_use(m, ev, STACK_OF_WAIT, ev->wait.ustack);
	} else {
		model_rare_event(m, ev);
	}
}

void model_finish(struct model *m)
{
	timeline_finish(&m->timeline);
	if (!m->times_only) {
		sum_ends(m);
		killed_settle(m);
		model_decide(m);
		m->chain.decided = true;
		chain_charge(&m->chain, true);
	}
	m->losses.late = m->timeline.late;
	m->losses.odd = m->timeline.odd;
}

uint64_t model_window_start(const struct model *m)
{
	const struct timeline *t = &m->timeline;

	return t->from < t->end ? t->from : t->end;
}

uint64_t model_window_ns(const struct model *m)
{
	const struct timeline *t = &m->timeline;
	uint64_t end = t->to < t->end ? t->to : t->end;

	return t->from < end ? end - t->from : 0;
}

uint64_t model_unix_ns(const struct model *m, uint64_t ts)
{
	return m->facts.unix_ns ? m->facts.unix_ns + (ts - m->facts.mono_ns) : 0;
}

const char *model_call_name(const struct model *m, uint32_t call)
{
	uint32_t nr = call & CALL_NR;

	return nr && m->arch && !(call & CALL_COMPAT) ? arch_call(m->arch, nr - 1) : NULL;
}

const char *model_event_name(unsigned kind)
{
	return event_name(kind);
}
