// SPDX-License-Identifier: MIT
#include "model/wait/tally.h"

#include "wire/event.h"

/* The upper bits, which index `recent`, depend on all three; the map mixes once more. */
static inline uint64_t tally_key_of(uint64_t a, uint64_t b, uint64_t c)
{
	return (((a * 0x9e3779b97f4a7c15ull ^ b) * 0xbf58476d1ce4e5b9ull) ^ c) *
	       0x94d049bb133111ebull;
}

/*
 * Finds the row that `same` accepts among those with this key, or makes room for one: the loop of
 * all three tables. Evaluates to the row's index; *fresh tells a new one, whose row the caller
 * appends.
 */
#define ROW(rm, rows, key, same, fresh)                                                            \
	({                                                                                         \
		uint64_t key_ = (key), *slot_;                                                     \
		typeof(&(rm)->recent[0]) recent_ =                                                 \
			&(rm)->recent[key_ / (UINT64_MAX / TALLY_RECENT + 1)];                     \
		size_t at_ = (size_t)recent_->row - 1;                                             \
                                                                                                   \
		(fresh) = false;                                                                   \
		if (!recent_->row || recent_->of != key_ || !(same)) {                             \
			recent_->of = key_;                                                        \
			for (;; key_++) {                                                          \
				slot_ = map_put(&(rm)->map, key_, &(fresh));                       \
				if (fresh)                                                         \
					*slot_ = (rows)->n;                                        \
				at_ = *slot_;                                                      \
				if (fresh || (same))                                               \
					break;                                                     \
			}                                                                          \
			recent_->row = (uint32_t)at_ + 1;                                          \
		}                                                                                  \
		at_;                                                                               \
	})

uint32_t tally_sample(struct tally *t, const struct thread *th, uint32_t kstack, uint32_t ustack)
{
	uint64_t stacks = (uint64_t)kstack << 32 | ustack;
	bool fresh;
	size_t i = ROW(&t->sample_map, &t->samples, tally_key_of(th->index, stacks, 0),
		       t->samples.v[at_].thread == th && t->samples.v[at_].kstack == kstack &&
			       t->samples.v[at_].ustack == ustack,
		       fresh);

	if (fresh)
		vec_push(&t->samples,
			 (struct sample_row){.thread = th, .kstack = kstack, .ustack = ustack});
	t->samples.v[i].count++;
	return (uint32_t)i;
}

uint32_t tally_wait_row(struct tally *t, const struct interval *iv)
{
	uint64_t stacks = (uint64_t)iv->kstack << 32 | iv->ustack;
	uint64_t how = (uint64_t)iv->lock << 36 ^ (uint64_t)iv->call << 20 ^ iv->state;
	bool fresh;
	size_t i =
		ROW(&t->wait_map, &t->waits, tally_key_of(iv->thread->index, stacks, how),
		    t->waits.v[at_].thread == iv->thread && t->waits.v[at_].state == iv->state &&
			    t->waits.v[at_].call == iv->call && t->waits.v[at_].lock == iv->lock &&
			    t->waits.v[at_].kstack == iv->kstack &&
			    t->waits.v[at_].ustack == iv->ustack,
		    fresh);

	if (fresh)
		vec_push(&t->waits, (struct wait_row){.thread = iv->thread,
						      .state = iv->state,
						      .call = iv->call,
						      .lock = iv->lock,
						      .kstack = iv->kstack,
						      .ustack = iv->ustack});
	return (uint32_t)i;
}

static struct waker_row *waker_row(struct tally *t, size_t wait, const struct waker *w)
{
	bool interrupt = w->ctx != WAKE_TASK || !w->tid, fresh;
	uint32_t tid = interrupt ? 0 : w->tid;
	const struct thread *th = interrupt ? NULL : w->thread;
	size_t i = ROW(&t->waker_map, &t->wakers, tally_key_of(wait, tid, th ? th->index + 1 : 0),
		       t->wakers.v[at_].wait == wait && t->wakers.v[at_].tid == tid &&
			       t->wakers.v[at_].thread == th &&
			       t->wakers.v[at_].interrupt == interrupt,
		       fresh);

	if (fresh)
		vec_push(&t->wakers, (struct waker_row){.wait = (uint32_t)wait,
							.thread = th,
							.tid = tid,
							.interrupt = interrupt});
	return &t->wakers.v[i];
}

static void tally_waker(struct tally *t, size_t wait, const struct interval *iv)
{
	struct waker_row *r = waker_row(t, wait, &iv->waker);

	r->total += iv->end - iv->start;
	r->count += !iv->more;
	if (!r->kstack && !r->ustack) {
		r->kstack = iv->waker.kstack;
		r->ustack = iv->waker.ustack;
	}
}

uint32_t tally_wait(struct tally *t, const struct interval *iv)
{
	uint64_t ns = iv->end - iv->start;
	uint32_t i = tally_wait_row(t, iv);
	struct wait_row *r = &t->waits.v[i];

	r->total += ns;
	r->count += !iv->more;
	r->open += iv->open && !iv->more;
	r->last = iv->end;
	if (iv->file)
		r->file = iv->file;
	if (ns > r->max) {
		r->max = ns;
		r->max_start = iv->start;
		r->max_waker = iv->waker;
	}
	if (iv->waker.known)
		tally_waker(t, i, iv);
	return i;
}

void tally_outside(struct tally *t, const struct interval *iv, uint64_t inside)
{
	uint64_t ns = iv->end - iv->start - inside, count = !inside && !iv->more;
	uint32_t i = tally_wait_row(t, iv);
	struct waker_row *w;

	t->waits.v[i].outside += ns;
	t->waits.v[i].outside_count += count;
	if (!iv->waker.known)
		return;
	w = waker_row(t, i, &iv->waker);
	w->outside += ns;
	w->outside_count += count;
}

void tally_not_woken(struct tally *t, uint32_t row, const struct waker *w, uint64_t ns)
{
	struct wait_row *r = &t->waits.v[row];
	struct waker_row *by = waker_row(t, row, w);

	r->open++;
	by->total -= ns;
	by->count--;
	if (r->max_waker.known && r->max_waker.ts == w->ts)
		r->max_waker = (struct waker){0};
}

void tally_done(struct tally *t)
{
	vec_done(&t->samples);
	vec_done(&t->waits);
	vec_done(&t->wakers);
	map_done(&t->sample_map.map);
	map_done(&t->wait_map.map);
	map_done(&t->waker_map.map);
}
