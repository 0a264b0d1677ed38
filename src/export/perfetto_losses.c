// SPDX-License-Identifier: MIT
/*
 * When the recording began and ended, and what it lacks.
 *
 * A loss is a slice on a track of its own, with its cause in words and what was lost; the time of a
 * thread of which nothing is known is a slice below the thread's. A loss is also written in the
 * form that Perfetto counts as loss of data, and warns of: lost_events of the CPU (stats:
 * ftrace_cpu_has_data_loss), and for samples kernel_records_lost (perf_cpu_lost_records). Stacks
 * that were lost are slices only.
 */
#include "export/perfetto.h"

#include "base/pb.h"

/* Overlapping losses that get tracks of their own; the overlap of further ones is cut off. */
#define LOSS_TRACKS (TRACKS_FIXED - TRACK_LOSSES)

/* Marks where the window starts and ends, whatever else happened then. */
void perfetto_recording(struct perfetto *p)
{
	struct perfetto_slice s = {
		.start = p->from, .end = p->to, .track = perfetto_track(p, TRACK_RECORDING)};

	perfetto_named_track(p, s.track, "recording");
	s.name = perfetto_text(p, TEXT_NAME_LOSS, 0, "recording");
	perfetto_category(p, &s, CATEGORY_RECORDING);
	perfetto_slice(p, &s);
}

/* A track whose last loss has ended; losses come in the order of their ends. */
static uint64_t loss_track(struct perfetto *p, uint64_t *start, uint64_t end)
{
	size_t i = 0;

	while (i < p->losses_end.n && p->losses_end.v[i] > *start)
		i++;
	if (i == LOSS_TRACKS)
		*start = p->losses_end.v[--i];
	if (i == p->losses_end.n) {
		vec_push(&p->losses_end, end);
		perfetto_named_track(p, perfetto_track(p, TRACK_LOSSES + (unsigned)i), "losses");
	}
	p->losses_end.v[i] = end;
	return perfetto_track(p, TRACK_LOSSES + (unsigned)i);
}

static void put_slice(struct perfetto *p, const struct event *ev, uint64_t start, uint64_t end)
{
	const struct ev_lost *e = &ev->lost;
	struct perfetto_slice s = {.end = end};

	s.track = loss_track(p, &start, end);
	s.start = start;
	s.name = perfetto_text(p, TEXT_NAME_LOSS, 1, "not recorded");
	perfetto_category(p, &s, CATEGORY_LOST);
	perfetto_note(
		p, &s, A_CAUSE,
		perfetto_text(p, TEXT_WORDS, (uint64_t)2 << 32 | e->cause, loss_words(e->cause)),
		0);
	if (ev->cpu != EVENT_ALL_CPUS)
		perfetto_note(p, &s, A_CPU, 0, ev->cpu);
	if (e->kind && e->kind < EV_KINDS)
		perfetto_note(p, &s, A_EVENT,
			      perfetto_text(p, TEXT_WORDS, (uint64_t)3 << 32 | e->kind,
					    model_event_name(e->kind)),
			      0);
	if (e->count)
		perfetto_note(p, &s, A_COUNT, 0, e->count);
	perfetto_slice(p, &s);
}

static void lost_samples(struct perfetto *p, const struct event *ev, uint64_t ts)
{
	size_t packet, at;

	if (!ev->lost.count || !EXPORT_HAS(p->job->kinds, EXPORT_CPU))
		return;
	packet = perfetto_packet(p, ts, WRITER_EVENTS);
	at = pb_begin(&p->out, 66); /* perf_sample */
	if (ev->cpu != EVENT_ALL_CPUS)
		pb_u64(&p->out, 1, ev->cpu); /* cpu */
	pb_u64(&p->out, 17, ev->lost.count); /* kernel_records_lost */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

static void lost_events(struct perfetto *p, uint16_t cpu)
{
	uint64_t cpus = p->cpus.n > p->m->facts.cpus ? p->cpus.n : p->m->facts.cpus;

	if (cpu < PERFETTO_CPUS)
		perfetto_lost_events(p, cpu);
	for (uint32_t i = 0; cpu == EVENT_ALL_CPUS && i < cpus && i < PERFETTO_CPUS; i++)
		perfetto_lost_events(p, i);
}

void perfetto_loss(struct perfetto *p, const struct event *ev)
{
	static const enum loss_class classes[LOSS_CAUSES] = {
#define LOSS(id, UPPER, name, class, words, advice) [id] = LOSS_CLASS_##class,
#include "wire/loss.def"
	};
	const struct ev_lost *e = &ev->lost;
	enum loss_class class = e->cause < LOSS_CAUSES ? classes[e->cause] : LOSS_CLASS_EVENT;
	uint64_t start = ev->ts - (e->span_ns < ev->ts ? e->span_ns : ev->ts), end = ev->ts;

	if (end < p->from || start >= p->to)
		return;
	start = start < p->from ? p->from : start;
	end = end > p->to ? p->to : end;
	put_slice(p, ev, start, end);
	if (class == LOSS_CLASS_SAMPLE || e->kind == EV_SAMPLE)
		lost_samples(p, ev, end);
	else if (class == LOSS_CLASS_EVENT)
		lost_events(p, ev->cpu);
}

/* Not the track of waits: a lock wanted before a loss and got within it would cut the slice. */
static uint64_t lost_track(struct perfetto *p, const struct thread *th)
{
	uint32_t as = p->threads[th->index].as;
	uint64_t track = (uint64_t)1 << 32 | as, parent = perfetto_thread_track(p, th);
	size_t packet, at;

	if (p->threads[as].lost_tracked)
		return track;
	p->threads[as].lost_tracked = true;
	packet = perfetto_packet(p, 0, WRITER_SYSTEM);
	at = pb_begin(&p->out, 60);   /* track_descriptor */
	pb_u64(&p->out, 1, track);    /* uuid */
	pb_str(&p->out, 2, "losses"); /* name */
	pb_u64(&p->out, 5, parent);   /* parent_uuid */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
	return track;
}

void perfetto_lost_time(struct perfetto *p, const struct interval *iv)
{
	struct perfetto_slice s = {.start = iv->start, .end = iv->end};

	s.track = lost_track(p, iv->thread);
	s.name = perfetto_text(p, TEXT_NAME_LOSS, 1, "not recorded");
	perfetto_category(p, &s, CATEGORY_LOST);
	perfetto_slice(p, &s);
}
