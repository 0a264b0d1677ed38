// SPDX-License-Identifier: MIT
/* The table of locks, the sums of waits on them, and what is known of the memory they are in. */
#include "model/lock/locks.h"

#include <stdlib.h>

#include "model/lock/sum.h"

struct lock *locks_find(struct locks *l, uint64_t key, uint32_t *ret_index)
{
	struct key_asked *a = &l->keys_asked[key % LOCKS_ASKED];
	uint64_t *slot;

	if (!a->lock || a->key != key) {
		slot = map_get(&l->by_key, key);
		if (!slot)
			return NULL;
		*a = (struct key_asked){key, (uint32_t)*slot};
	}
	*ret_index = a->lock - 1;
	return &l->list.v[a->lock - 1];
}

struct lock *locks_make(struct locks *l, uint64_t key, uint32_t *ret_index)
{
	uint64_t *slot = map_put(&l->by_key, key, NULL);
	uint32_t life = *slot ? l->list.v[*slot - 1].life + 1 : 1;
	struct lock *lock = vec_add(&l->list);

	*slot = l->list.n;
	l->keys_asked[key % LOCKS_ASKED] = (struct key_asked){key, (uint32_t)*slot};
	lock->life = life;
	*ret_index = (uint32_t)l->list.n - 1;
	return lock;
}

uint32_t locks_index(const struct locks *l, uint32_t lock)
{
	uint32_t i = lock - 1;

	return l->list.v[i].alias ? l->list.v[i].alias - 1 : i;
}

struct lock *locks_at(const struct locks *l, uint32_t lock)
{
	return &l->list.v[locks_index(l, lock)];
}

static struct lock_row *find_row(struct locks *l, uint32_t index, const struct thread *th)
{
	uint64_t key = (uint64_t)index << 32 | (th ? th->index : UINT32_MAX);
	bool fresh;
	uint64_t *slot = map_put(&l->by_row, key, &fresh);

	if (fresh) {
		*slot = l->rows.n;
		vec_push(&l->rows, (struct lock_row){.lock = index, .thread = th});
	}
	return &l->rows.v[*slot];
}

struct lock_row *locks_row(struct locks *l, uint32_t index, const struct thread *th)
{
	struct lock_row *r;

	if (!th)
		return find_row(l, index, th);
	while (l->recent.n <= th->index)
		vec_push(&l->recent, 0);
	r = l->recent.v[th->index] ? &l->rows.v[l->recent.v[th->index] - 1] : NULL;
	if (!r || r->lock != index) {
		r = find_row(l, index, th);
		l->recent.v[th->index] = (uint32_t)(r - l->rows.v) + 1;
	}
	return r;
}

void lock_row_add(struct lock_row *r, uint32_t n, uint64_t ns, uint64_t start)
{
	uint32_t bucket = hist_bucket(ns);
	size_t i = 0;

	if (ns > r->max || !r->max_start) {
		r->max = ns;
		r->max_start = start;
	}
	r->count += n;
	while (i < r->hist.n && r->hist.v[i].bucket != bucket)
		i++;
	if (i == r->hist.n)
		vec_push(&r->hist, (struct hist_bucket){.bucket = bucket});
	r->hist.v[i].count += n;
	r->hist.v[i].ns += n * ns;
}

/* A wait in pieces counts once, with its last piece. */
void locks_wait(struct locks *l, const struct interval *iv, uint64_t whole)
{
	uint64_t ns = iv->end - iv->start;
	struct lock_row *r;

	/* Kernel locks are counted when KLOCKED says that a thread got one. */
	if (whole < l->min_wait || (l->list.v[iv->lock - 1].kernel && !iv->open))
		return;
	r = locks_row(l, iv->lock - 1, iv->thread);
	r->total += ns;
	if (iv->more)
		return;
	lock_row_add(r, 1, ns, iv->start);
	r->open += iv->open;
}

void locks_brief(struct locks *l, const struct thread *th, uint32_t lock, uint64_t ts)
{
	if (!l->min_wait && !l->list.v[lock - 1].kernel)
		lock_row_add(locks_row(l, lock - 1, th), 1, 0, ts);
}

static uint64_t place_key(uint32_t process, uint64_t addr)
{
	return map_mix(addr) + process;
}

static struct place_asked *place_asked(struct locks *l, uint64_t addr)
{
	return &l->places_asked[addr / sizeof(uint32_t) % LOCKS_ASKED];
}

void locks_add_place(struct locks *l, const struct lock_place *p)
{
	*map_put(&l->by_place, place_key(p->process, p->addr), NULL) = l->places.n + 1;
	vec_push(&l->places, *p);
	*place_asked(l, p->addr) = (struct place_asked){0};
}

static uint32_t find_place(const struct locks *l, uint32_t process, uint64_t addr)
{
	uint64_t *slot = map_get(&l->by_place, place_key(process, addr));
	const struct lock_place *p = slot ? &l->places.v[*slot - 1] : NULL;

	return p && p->addr == addr && p->process == process ? (uint32_t)*slot : 0;
}

uint32_t locks_place(struct locks *l, uint32_t process, uint64_t addr)
{
	struct place_asked *a = place_asked(l, addr);

	if (a->addr != addr || a->process != process)
		*a = (struct place_asked){addr, process, find_place(l, process, addr)};
	return a->place;
}

void locks_done(struct locks *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		vec_done(&l->rows.v[i].hist);
	vec_done(&l->list);
	vec_done(&l->places);
	vec_done(&l->rows);
	map_done(&l->by_key);
	map_done(&l->by_place);
	map_done(&l->by_row);
	vec_done(&l->recent);
}
