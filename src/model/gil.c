// SPDX-License-Identifier: MIT
#include "model/gil.h"

#include <string.h>

#include "model/model.h"
#include "timeline/machine.h"

#define RUNTIME "_PyRuntime"
#define AGAIN_NS 200000
#define CMD_WAIT_BITSET 9 /* as condition variables sleep; the mutex between the two does not */

void gils_done(struct gils *g)
{
	vec_done(&g->list);
	map_done(&g->by_process);
	vec_done(&g->waited);
}

/* From the first condition to the second. */
static uint64_t gil_step(const struct model *m)
{
	return m->arch->libc.condvar_size + m->arch->libc.mutex_size;
}

static uint64_t condition_of(const struct model *m, uint64_t word)
{
	return (word & ~7ull) - m->arch->libc.condvar_words;
}

/* Is the memory of this place the interpreter's? Asked once for each place. */
static bool in_runtime(struct model *m, struct lock_place *p)
{
	const struct frame_source *src = &m->names.source;
	const struct data_symbol *d;

	if (!p->asked) {
		d = p->kind == PLACE_MODULE && src->data ? src->data(src->arg, p->module, p->offset)
							 : NULL;
		/* With debug information: _PyRuntime.ceval.gil.cond */
		p->in_runtime = d && !strncmp(d->name, RUNTIME, strlen(RUNTIME)) &&
				strchr(".", d->name[strlen(RUNTIME)]);
		p->asked = true;
	}
	return p->in_runtime;
}

bool gil_is_condition(struct model *m, const struct ev_futex *e, struct lock_place *p,
		      uint64_t *ret)
{
	if (!p || !m->arch || (e->op & FUTEX_OP_CMD) != CMD_WAIT_BITSET || !in_runtime(m, p))
		return false;
	*ret = condition_of(m, e->addr);
	return true;
}

static struct gil *gil_of(const struct model *m, uint32_t process)
{
	uint64_t *at = map_get(&m->gils.by_process, process);

	return at ? &m->gils.list.v[*at - 1] : NULL;
}

static struct gil *gil_found(struct model *m, uint64_t condition, uint32_t process, uint32_t lock)
{
	struct gil *g = gil_of(m, process);

	if (!g) {
		vec_push(&m->gils.list,
			 ((struct gil){.condition = condition, .process = process, .lock = lock}));
		*map_put(&m->gils.by_process, process, NULL) = m->gils.list.n;
		return &m->gils.list.v[m->gils.list.n - 1];
	}
	if (condition < g->condition) {
		g->condition = condition;
		g->lock = lock;
	}
	return g;
}

/* A wake on this lock tells that the waker has taken a GIL: its index + 1; 0: it does not. */
static uint32_t gil_taken(const struct model *m, uint32_t lock)
{
	const struct lock *l = &m->locks.list.v[lock];
	const struct gil *g = l->families == FAMILY_GIL ? gil_of(m, l->process) : NULL;

	return g && l->addr == g->condition + gil_step(m) ? g->lock + 1 : 0;
}

void gil_waited(struct model *m, const struct interval *iv)
{
	while (m->gils.waited.n <= iv->thread->index)
		vec_push(&m->gils.waited, (struct gil_waiter){0});
	m->gils.waited.v[iv->thread->index] = (struct gil_waiter){iv->end, iv->lock};
}

/* The last wait of a thread; it may not have been handed out yet. */
static struct gil_waiter last_wait(const struct model *m, const struct thread *th)
{
	const struct life *l = th->life;

	for (unsigned i = l->held_n; i-- > 0;)
		if (l->held[i].kind == INTERVAL_WAITING)
			return (struct gil_waiter){l->held[i].end, l->held[i].lock};
	return th->index < m->gils.waited.n ? m->gils.waited.v[th->index] : (struct gil_waiter){0};
}

/*
 * It waited for the GIL before, and has since run longer than it would have taken to wait again: so
 * it had the GIL.
 */
static bool has_had_it(const struct model *m, const struct thread *th, uint64_t ts)
{
	struct gil_waiter last = last_wait(m, th);

	return last.lock && m->locks.list.v[last.lock - 1].families == FAMILY_GIL &&
	       ts > last.end + AGAIN_NS;
}

void gil_sleep(struct model *m, uint64_t condition, struct thread *th, uint32_t lock, uint64_t ts)
{
	const struct gil *g = gil_found(m, condition, m->locks.list.v[lock].process, lock);

	if (gil_taken(m, lock) || has_had_it(m, th, ts))
		chain_seen(&m->chain, g->lock, ts, SEEN_HAD, th);
}

bool gil_wakes(struct model *m, uint32_t lock, struct thread *waker, uint64_t ts)
{
	uint32_t taken = gil_taken(m, lock);

	if (!taken)
		return false;
	gil_of(m, m->locks.list.v[lock].process)->taker = waker->tid;
	chain_seen(&m->chain, taken - 1, ts, SEEN_TAKEN, waker);
	return true;
}

void gil_switch(struct model *m, const struct ev_switch_ *e, uint64_t ts)
{
	struct thread *th = life_alive(&m->timeline, e->prev);
	uint32_t process = th ? processes_of(&m->processes, th) : 0;
	struct gil *g = process ? gil_of(m, process) : NULL;

	if (!g || g->taker != e->prev || e->state & STATE_PREEMPTED || !(e->state & STATE_MASK))
		return;
	g->taker = 0;
	chain_seen(&m->chain, g->lock, ts, SEEN_HAD, th);
}

/* Sleeps recorded before the memory was identified have locks of their own: join them. */
static bool belongs(const struct model *m, const struct gil *g, const struct lock *l)
{
	uint64_t condition;

	if (l->kernel || l->process != g->process || l->shared)
		return false;
	if (l->families == FAMILY_GIL)
		return true;
	condition = condition_of(m, l->addr);
	return !l->place && (condition == g->condition || condition == g->condition + gil_step(m));
}

void gil_join(struct model *m)
{
	struct locks *all = &m->locks;

	for (uint32_t i = 0; m->gils.list.n && i < all->list.n; i++) {
		struct lock *l = &all->list.v[i];
		const struct gil *g = gil_of(m, l->process);

		if (!g || !belongs(m, g, l))
			continue;
		l->kind = LOCK_GIL;
		l->evidence = EVIDENCE_NAME;
		l->alias = i == g->lock ? 0 : g->lock + 1;
	}
}
