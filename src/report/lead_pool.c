// SPDX-License-Identifier: MIT
/*
 * A pool of threads that wait for work looks like a crowd of threads that wait for room in a full
 * queue: both sleep on a condition at one place, and are woken one by one by somebody else.
 * model/idle.c takes the pool for likelier, but that is no proof that all is well. So the lead
 * names the waker and what it does: a reader knows which of the two it is.
 */
#include "report/lead.h"

#include <string.h>

#include "model/summary/parts.h"
#include "report/words.h"

enum { TEXT = 128 };

struct idle_pool {
	const struct map *chosen; /* threads, by index */
	uint32_t pid, function;
	uint64_t total;
	const struct wait_row *row; /* the longest of its waits */
	size_t threads, alike;	    /* of them, named like the row's */
	bool same_lock;		    /* they all wait for the same */
	const struct thread *waker; /* who woke them most */
};

/* What it waits for, whether that is idleness or not. */
static enum reason waits_in(const struct wait_row *r)
{
	return r->verdict.reason == REASON_IDLE ? r->in : r->verdict.reason;
}

/* Does it wait until another thread says so? Idleness of that kind is a guess; and a thread that
 * waits at two such places is not idle at either. */
static bool is_guess(const struct wait_row *r)
{
	enum reason in = r->verdict.reason;

	if (in == REASON_IDLE && r->verdict.evidence == EVIDENCE_HABIT && !r->home)
		in = r->in;
	else if (in == REASON_PIPE)
		return false;
	return in == REASON_CONDVAR || in == REASON_SEMAPHORE || in == REASON_FUTEX ||
	       in == REASON_PIPE;
}

static uint32_t guessed_in(const struct summary *s, const struct map *chosen,
			   const struct wait_row *r)
{
	return is_guess(r) && map_get(chosen, r->thread->index)
		       ? where_function(&s->model->names, r->kstack, r->ustack)
		       : UINT32_MAX;
}

/* Waits that no thread chose itself. */
static uint64_t imposed_ns(const struct summary *s)
{
	uint64_t ns = s->total[INTERVAL_WAITING];

	for (unsigned r = 0; r < REASONS; r++)
		if (reason_has(r, TRAIT_CHOSEN))
			ns -= s->reasons[r];
	return ns;
}

/* The function with the longest such waits; false: they are not most of the waiting. */
static bool find_pool(const struct summary *s, struct idle_pool *p)
{
	const struct tally *t = &s->model->tally;
	struct map sums = {0};
	uint64_t all = 0;

	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wait_row *r = &t->waits.v[i];
		uint32_t function = guessed_in(s, p->chosen, r);
		uint64_t *sum;

		if (function == UINT32_MAX)
			continue;
		all += r->total;
		sum = map_put(&sums, (uint64_t)r->thread->pid << 32 | function, NULL);
		*sum += r->total;
		if (*sum > p->total)
			*p = (struct idle_pool){.chosen = p->chosen,
						.pid = r->thread->pid,
						.function = function,
						.total = *sum,
						.row = r,
						.same_lock = true};
	}
	map_done(&sums);
	return p->row && all >= imposed_ns(s) / 2;
}

static bool in_pool(const struct summary *s, const void *arg, const struct wait_row *r)
{
	const struct idle_pool *p = arg;

	return r->thread->pid == p->pid && guessed_in(s, p->chosen, r) == p->function;
}

static uint32_t pool_lock(const struct summary *s, const struct wait_row *r)
{
	return r->lock ? locks_index(&s->model->locks, r->lock) + 1 : 0;
}

static uint64_t stem_of(const struct wait_row *r)
{
	return map_hash_bytes(r->thread->name, finding_stem(r->thread->name));
}

/* How many members have a name of each stem: by its hash. */
static void count_stems(const struct summary *s, struct idle_pool *p, struct map *stems)
{
	const struct tally *t = &s->model->tally;
	struct map members = {0};

	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wait_row *r = &t->waits.v[i];
		bool fresh;

		if (!in_pool(s, p, r))
			continue;
		p->same_lock &= pool_lock(s, r) == pool_lock(s, p->row);
		map_put(&members, r->thread->index, &fresh);
		p->threads += fresh;
		*map_put(stems, stem_of(r), NULL) += fresh;
	}
	map_done(&members);
}

/* Those of whom most have one name stand for all: the longest of their waits. */
static void find_members(const struct summary *s, struct idle_pool *p)
{
	const struct tally *t = &s->model->tally;
	struct map stems = {0};

	count_stems(s, p, &stems);
	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wait_row *r = &t->waits.v[i];
		size_t alike = in_pool(s, p, r) ? *map_get(&stems, stem_of(r)) : 0;

		if (alike < p->alike || !alike || (alike == p->alike && r->total <= p->row->total))
			continue;
		p->alike = alike;
		p->row = r;
	}
	map_done(&stems);
}

static void say_pool(const struct summary *s, const struct idle_pool *p, struct buf *b)
{
	const struct wait_row *r = p->row;
	size_t lock = r->lock ? summary_lock(s, r->lock - 1) : SIZE_MAX;
	char text[TEXT];

	lead_say_some(b, r->thread, p->threads, p->alike);
	buf_printf(b, p->threads == 1 ? " was mostly " : " were mostly ");
	buf_printf(b, "%s", words_doing(text, sizeof(text), INTERVAL_WAITING, waits_in(r)));
	if (p->same_lock && lock < s->locks.n && s->locks.v[lock].named)
		buf_printf(b, " (%s)", words_safe(text, sizeof(text), s->locks.v[lock].name, 60));
	lead_in(b, s, p->function, r->kstack, r->ustack);
	lead_say_wakers(s, p->waker, b);
	buf_printf(b,
		   ". Whether for work, for room in a queue or for an answer, thaw cannot tell.");
}

bool lead_pool(const struct summary *s, struct buf *b)
{
	struct map chosen = {0};
	struct idle_pool p = {.chosen = &chosen};

	for (size_t i = 0; i < s->threads.n; i++)
		if (thread_is_subject(s->threads.v[i]))
			map_put(&chosen, s->threads.v[i]->index, NULL);
	if (find_pool(s, &p)) {
		find_members(s, &p);
		p.waker = lead_waker(s, in_pool, &p);
	}
	if (p.waker && b)
		say_pool(s, &p, b);
	map_done(&chosen);
	return p.waker != NULL;
}
