// SPDX-License-Identifier: MIT
/*
 * Stalls and blackouts as slices on tracks of their own; overlapping stalls on several, since
 * Perfetto nests the slices of one track.
 */
#include "export/perfetto.h"

#include "base/sort.h"
#include "report/lead.h"

static int perfetto_stalls_by_start(const void *pa, const void *pb)
{
	const struct stall *a = *(const struct stall *const *)pa;
	const struct stall *b = *(const struct stall *const *)pb;

	return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
				    : (a > b) - (a < b);
}

static void put_stall(struct perfetto *p, const struct stall *st, size_t number, uint64_t track)
{
	const struct summary *sum = p->job->summary;
	struct perfetto_slice s = {.start = st->start, .end = st->start + st->ns, .track = track};
	struct buf b = {0};

	lead_stall(sum, st, &b);
	s.name = perfetto_text(p, TEXT_NAME_STALL, 0, "stall");
	perfetto_category(p, &s, CATEGORY_STALL);
	perfetto_note(p, &s, A_WHAT, perfetto_text(p, TEXT_WORDS, 2 + number, buf_cstr(&b)), 0);
	perfetto_note(p, &s, A_THREADS, 0, st->threads);
	if (st->lock < sum->locks.n)
		perfetto_note(p, &s, A_LOCK,
			      perfetto_text(p, TEXT_WORDS, (uint64_t)1 << 32 | st->lock,
					    sum->locks.v[st->lock].name),
			      0);
	if (st->culprit)
		perfetto_note(p, &s, A_HOLDER, perfetto_thread_text(p, st->culprit), 0);
	s.stack = perfetto_stack(p, st->kstack, st->ustack, true);
	perfetto_slice(p, &s);
	buf_done(&b);
}

/* Times at which nothing came from any CPU; they do not overlap. */
static void put_blackouts(struct perfetto *p, uint64_t track)
{
	const struct stalls *all = &p->job->summary->stalls;

	if (all->blackouts.n)
		perfetto_named_track(p, track, "blackouts");
	for (size_t i = 0; i < all->blackouts.n; i++) {
		const struct blackout *o = &all->blackouts.v[i];
		struct perfetto_slice s = {
			.start = o->start, .end = o->start + o->ns, .track = track};

		s.name = perfetto_text(p, TEXT_NAME_STALL, 1, "blackout");
		perfetto_category(p, &s, CATEGORY_STALL);
		perfetto_note(p, &s, A_CPUS, 0, o->running);
		perfetto_slice(p, &s);
	}
}

/* A track whose last stall has ended, or a new one. */
static uint64_t stall_track(struct perfetto *p, uint64_t *ends, size_t *n, const struct stall *st)
{
	uint64_t first = perfetto_track(p, TRACKS_FIXED);
	size_t i = 0;

	while (i < *n && ends[i] > st->start)
		i++;
	ends[i] = st->start + st->ns;
	if (i == *n)
		perfetto_named_track(p, first + (*n)++, "stalls");
	return first + i;
}

void perfetto_stalls(struct perfetto *p)
{
	const struct stalls *all = &p->job->summary->stalls;
	const struct stall **list = mem_zalloc((all->list.n + 1) * sizeof(*list));
	uint64_t *ends = mem_zalloc((all->list.n + 1) * sizeof(*ends));
	size_t tracks = 0;

	for (size_t i = 0; i < all->list.n; i++)
		list[i] = &all->list.v[i];
	sort_by(list, all->list.n, sizeof(*list), perfetto_stalls_by_start);
	for (size_t i = 0; i < all->list.n; i++)
		put_stall(p, list[i], i, stall_track(p, ends, &tracks, list[i]));
	put_blackouts(p, perfetto_track(p, TRACK_BLACKOUTS));
	free(list);
	free(ends);
}
