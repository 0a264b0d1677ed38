// SPDX-License-Identifier: MIT
#include "model/suspects.h"

#include "timeline/machine.h"
#include "wire/state.h"

void suspects_sleep(struct suspects *s, const struct thread *th, uint32_t lock)
{
	struct slept_on *at = NULL;

	for (size_t i = 0; i < SUSPECT_LOCKS && !at; i++)
		if (s->locks[i].lock == lock)
			at = &s->locks[i];
	if (!at)
		at = &s->locks[s->next++ % SUSPECT_LOCKS];
	*at = (struct slept_on){th, lock};
}

static bool sleeps_still(const struct slept_on *o)
{
	const struct life *l = o->thread ? o->thread->life : NULL;

	return l && l->phase == INTERVAL_WAITING && l->lock == o->lock;
}

/* Only threads of the process can hold what belongs to its memory. */
static bool may_hold(const struct lock *l, const struct thread *th)
{
	return l->what != KLOCK_MMAP_LOCK || th->pid == l->of;
}

void suspects_sample(struct suspects *s, const struct locks *l, const struct thread *th,
		     uint32_t row)
{
	for (size_t i = 0; i < SUSPECT_LOCKS; i++) {
		const struct slept_on *o = &s->locks[i];

		if (o->lock && sleeps_still(o) && may_hold(&l->list.v[o->lock - 1], th))
			++*map_put(&s->samples, (uint64_t)(o->lock - 1) << 32 | row, NULL);
	}
}

static void suspects_add(struct suspect *list, size_t *n, size_t room, const struct suspect *one)
{
	size_t at = *n;

	while (at && list[at - 1].samples < one->samples)
		at--;
	if (at == room)
		return;
	*n += *n < room;
	for (size_t i = *n - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = *one;
}

/* One thread has several rows: adds them up, and keeps the largest. */
struct suspect_sum {
	struct suspect suspect;
	uint64_t most;
};

size_t suspects_of(const struct suspects *s, const struct tally *t, uint32_t lock,
		   struct suspect *ret, size_t room, uint64_t *ret_all)
{
	VEC(struct suspect_sum) sums = {0};
	struct map by_thread = {0};
	struct map_slot *slot;
	uint64_t all = 0;
	size_t n = 0;

	for (size_t i = 0; map_next(&s->samples, &i, &slot);) {
		uint32_t row = (uint32_t)slot->key;
		const struct thread *th = t->samples.v[row].thread;
		struct suspect_sum *sum;
		uint64_t *at;
		bool fresh;

		if (slot->key >> 32 != lock)
			continue;
		at = map_put(&by_thread, th->index, &fresh);
		if (fresh) {
			*at = sums.n;
			sum = vec_add(&sums);
			sum->suspect.thread = th;
		}
		sum = &sums.v[*at];
		sum->suspect.samples += slot->val;
		all += slot->val;
		/* Of equals the first row, so that the same capture gives the same answer. */
		if (slot->val > sum->most || (slot->val == sum->most && row < sum->suspect.row)) {
			sum->most = slot->val;
			sum->suspect.row = row;
		}
	}
	for (size_t i = 0; i < sums.n; i++)
		suspects_add(ret, &n, room, &sums.v[i].suspect);
	map_done(&by_thread);
	vec_done(&sums);
	*ret_all = all;
	return n;
}

void suspects_done(struct suspects *s)
{
	map_done(&s->samples);
}
