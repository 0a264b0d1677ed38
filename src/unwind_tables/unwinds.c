// SPDX-License-Identifier: MIT
#include "unwind_tables/unwinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "unwind/walk.h"
#include "unwind_tables/kept.h"
#include "unwind_tables/objects.h"

/* How long freed mappings rest before reuse: any walk that saw them is over by then. */
#define REST_NS NSEC_PER_SEC
#define IDLE_NS (2 * NSEC_PER_MSEC)
#define WALK_NS (2 * NSEC_PER_MSEC)  /* outlasts every walk that has begun */
#define RESET_NS (10 * NSEC_PER_SEC) /* between two resets for want of room, at least */
#define MODEST 256		     /* a process with more mappings may use half of the room */
#define CLASSES 13		     /* spaces hold 1 << class mappings */

struct freed {
	uint32_t space;
	uint64_t ts;
};

struct table_slot {
	uint32_t refs; /* processes */
	uint32_t class;
};

struct unwind_tables {
	struct engine *e;
	struct procs *procs;
	struct unwind_arrays a;
	struct objects *objects;
	struct map execs;    /* pid -> number of execs, as far as the stream has come; missing: 0 */
	struct map dirty;    /* pids that have mapped something since they were published */
	struct map versions; /* pid -> state_of() what is published */
	struct map roomless; /* pids for which there was no room */
	struct table_slot slots[UNWIND_SPACES];
	VEC(struct freed) freed[CLASSES];
	size_t freed_head[CLASSES];
	uint32_t next_space, next_mapping;
	unwinds_idle_fn *idle;
	void *idle_ctx;
	unwinds_miss_fn *miss;
	void *miss_ctx;
	struct pr_copy *held; /* copy of the record being walked, if that takes long */
	uint64_t next_second_ns;
	uint64_t rest_until_ns; /* mappings of before a reset may still be looked at */
	uint64_t next_reset_ns;
	bool starved; /* a modest process got no room */
	uint64_t copies, copy_bytes, published, resets;
};

static void tell_silent(void *tables, uint32_t module, uint32_t pid)
{
	struct unwind_tables *t = tables;

	procs_module_silent(t->procs, module, pid);
}

struct unwind_tables *unwinds_new(struct engine *e, struct procs *p,
				  const struct unwinds_opts *opts)
{
	struct objects_opts objects = {.share = opts->share};
	struct unwind_arrays a;
	struct unwind_tables *t;

	if (!e->ops->unwind_arrays || !e->ops->unwind_arrays(e, &a))
		return NULL;
	t = mem_zalloc(sizeof(*t));
	t->a = a;
	t->e = e;
	t->procs = p;
	objects.kept = kept_for(opts->dir);
	objects.on_silent = tell_silent;
	objects.ctx = t;
	t->objects = objects_new(&t->a, &objects);
	t->next_space = 1;
	t->next_mapping = 1; /* the searches may look at the one before the first */
	return t;
}

void unwinds_free(struct unwind_tables *t)
{
	if (!t)
		return;
	objects_free(t->objects);
	map_done(&t->versions);
	map_done(&t->execs);
	map_done(&t->dirty);
	map_done(&t->roomless);
	for (int i = 0; i < CLASSES; i++)
		vec_done(&t->freed[i]);
	free(t->held);
	free(t);
}

void unwinds_set_idle(struct unwind_tables *t, unwinds_idle_fn *fn, void *ctx)
{
	if (!t)
		return;
	t->idle = fn;
	t->idle_ctx = ctx;
}

void unwinds_set_miss(struct unwind_tables *t, unwinds_miss_fn *fn, void *ctx)
{
	if (!t)
		return;
	t->miss = fn;
	t->miss_ctx = ctx;
}

/* ---- spaces ---- */

static struct unwind_proc *proc_of(struct unwind_tables *t, uint32_t pid)
{
	return &t->a.procs[pid & (t->a.n_procs - 1)];
}

static void space_put(struct unwind_tables *t, uint32_t space)
{
	struct table_slot *s = &t->slots[space % UNWIND_SPACES];
	size_t *head;

	if (!space || space == SPACE_NONE || !s->refs || --s->refs)
		return;
	/* Drop what has been taken again, or the list would grow as processes come and go. */
	head = &t->freed_head[s->class];
	if (*head > t->freed[s->class].n / 2) {
		t->freed[s->class].n -= *head;
		memmove(t->freed[s->class].v, t->freed[s->class].v + *head,
			t->freed[s->class].n * sizeof(*t->freed[0].v));
		*head = 0;
	}
	vec_push(&t->freed[s->class], (struct freed){space, clock_mono_ns()});
}

/* Forgets all processes. Their room is not used again while a walk may still look at it. */
static void unwinds_reset(struct unwind_tables *t)
{
	uint64_t now;

	for (uint32_t i = 0; i < t->a.n_procs; i++)
		__atomic_store_n(&t->a.procs[i].space, 0, __ATOMIC_SEQ_CST);
	now = clock_mono_ns();
	t->rest_until_ns = now + WALK_NS;
	t->next_reset_ns = now + RESET_NS;
	t->starved = false;
	map_clear(&t->versions);
	memset(t->slots, 0, sizeof(t->slots));
	for (int i = 0; i < CLASSES; i++) {
		t->freed[i].n = 0;
		t->freed_head[i] = 0;
	}
	t->next_space = 1;
	t->next_mapping = 1;
	t->resets++;
}

/* A space for n mappings, or 0 when there is no room. */
static uint32_t space_take(struct unwind_tables *t, size_t n)
{
	uint32_t class = 0, space;

	while ((1u << class) < n)
		class ++;
	if (t->freed_head[class] < t->freed[class].n) {
		struct freed *f = &t->freed[class].v[t->freed_head[class]];

		if (clock_mono_ns() - f->ts > REST_NS) {
			space = f->space;
			if (++t->freed_head[class] == t->freed[class].n)
				t->freed_head[class] = t->freed[class].n = 0;
			return space;
		}
	}
	if (t->next_space >= UNWIND_SPACES ||
	    t->next_mapping + (1u << class) > t->a.n_mappings / (n > MODEST ? 2 : 1))
		return 0;
	space = t->next_space++;
	t->a.spaces[space].first = t->next_mapping;
	t->slots[space].class = class;
	t->next_mapping += 1u << class;
	return space;
}

/*
 * The same, where room is short. Anybody can make processes with thousands of mappings: those have
 * to do without, and nobody else is forgotten for them. SPACE_NONE: no room; 0: not now.
 */
static uint32_t space_for(struct unwind_tables *t, size_t n)
{
	uint64_t now = clock_mono_ns();
	uint32_t space;

	if (n > SPACE_MAPPINGS_MAX)
		return SPACE_NONE;
	if (now < t->rest_until_ns)
		return 0;
	space = space_take(t, n ? n : 1);
	if (space)
		return space;
	if (n <= MODEST && now >= t->next_reset_ns) {
		unwinds_reset(t);
		return 0;
	}
	t->starved |= n <= MODEST;
	return SPACE_NONE;
}

struct filling {
	struct unwind_tables *t;
	struct unwind_mapping *to;
	size_t n, room;
};

static void add_mapping(void *ctx, const struct proc_range *r)
{
	struct filling *f = ctx;
	struct unwind_mapping *m;
	uint64_t bias;

	/* The searches work below 2^63, which excludes [vsyscall]. */
	if (f->n == f->room || r->end >> 63)
		return;
	m = &f->to[f->n++];
	m->start = r->start;
	m->end = r->end;
	/* Objects are built when a walk meets them, not here. */
	m->object = objects_known(f->t->objects, r, &bias);
	m->bias = bias;
}

/* What a process was published with: its execs, and the mappings and tables known then. */
static uint64_t state_of(const struct unwind_tables *t, uint64_t version, uint32_t execs)
{
	return (uint64_t)execs << 32 |
	       (uint32_t)map_mix(version << 20 ^ objects_version(t->objects));
}

/* Both halves of an unwind_proc at once. */
typedef uint64_t __attribute__((may_alias)) proc_word;

static proc_word word_of(uint32_t space, uint32_t execs)
{
	struct unwind_proc p = {.space = space, .execs = execs};
	proc_word w;

	memcpy(&w, &p, sizeof(w));
	return w;
}

/* `execs`: how often the process had called exec() when it had these mappings. */
static void publish(struct unwind_tables *t, uint32_t pid, uint32_t execs)
{
	uint64_t version = procs_version(t->procs, pid);
	struct unwind_proc *p = proc_of(t, pid);
	struct filling f = {.t = t};
	uint32_t space, was;
	proc_word old;
	bool fresh;

	if (!t->a.n_procs)
		return;
	f.room = procs_ranges(t->procs, pid, NULL, NULL);
	space = space_for(t, f.room);
	if (!space)
		return;
	if (space == SPACE_NONE && f.room <= SPACE_MAPPINGS_MAX)
		map_put(&t->roomless, pid, NULL);
	if (space != SPACE_NONE) {
		f.to = &t->a.mappings[t->a.spaces[space].first];
		procs_ranges(t->procs, pid, add_mapping, &f);
		t->a.spaces[space].n = (uint32_t)f.n;
		t->a.spaces[space].misses = 0;
		t->slots[space].refs = 1;
	}
	was = __atomic_load_n(&p->space, __ATOMIC_ACQUIRE);
	old = word_of(was, execs);
	/* If the process has called exec() since, these mappings are outdated. */
	if (!__atomic_compare_exchange_n((proc_word *)p, &old, word_of(space, execs), false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		space_put(t, space);
		return;
	}
	t->published++;
	space_put(t, was);
	*map_put(&t->versions, pid, &fresh) = state_of(t, version, execs);
}

static bool published(struct unwind_tables *t, uint32_t pid)
{
	uint64_t *v = map_get(&t->versions, pid);

	return v && t->a.n_procs && __atomic_load_n(&proc_of(t, pid)->space, __ATOMIC_RELAXED) &&
	       *v == state_of(t, procs_version(t->procs, pid), (uint32_t)(*v >> 32));
}

void unwinds_fork(struct unwind_tables *t, uint32_t pid)
{
	struct unwind_proc *p;
	uint32_t space;

	if (!t || !t->a.n_procs)
		return;
	/* The probe has given the child its parent's space. If that is gone, the child must ask. */
	p = proc_of(t, pid);
	space = __atomic_load_n(&p->space, __ATOMIC_ACQUIRE);
	map_del(&t->execs, pid);
	map_del(&t->versions, pid);
	if (!space || space == SPACE_NONE)
		return;
	if (t->slots[space % UNWIND_SPACES].refs)
		t->slots[space % UNWIND_SPACES].refs++;
	else
		__atomic_compare_exchange_n(&p->space, &space, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
}

void unwinds_exec(struct unwind_tables *t, uint32_t pid, uint32_t execs)
{
	if (!t || !t->a.n_procs)
		return;
	*map_put(&t->execs, pid, NULL) = execs;
	map_del(&t->versions, pid);
	map_put(&t->dirty, pid, NULL);
}

void unwinds_exit(struct unwind_tables *t, uint32_t pid)
{
	if (!t || !t->a.n_procs)
		return;
	space_put(t, __atomic_exchange_n(&proc_of(t, pid)->space, 0, __ATOMIC_SEQ_CST));
	map_del(&t->execs, pid);
	map_del(&t->dirty, pid);
	map_del(&t->roomless, pid);
	map_del(&t->versions, pid);
}

void unwinds_mapped(struct unwind_tables *t, uint32_t pid)
{
	if (t && t->a.n_procs)
		map_put(&t->dirty, pid, NULL);
}

/* ---- room for tables ---- */

/* Evicts tables that were unused for a while; a walk that needs one again asks for it. */
static void unwinds_make_room(struct unwind_tables *t)
{
	const bool *is_gone;

	if (!objects_choose_gone(t->objects, &is_gone))
		return;
	for (uint32_t i = 1; t->a.n_procs && i < t->next_mapping; i++) {
		uint32_t object = t->a.mappings[i].object;

		if (object < UNWIND_OBJECTS && is_gone[object])
			__atomic_store_n(&t->a.mappings[i].object, OBJECT_NOT_READY,
					 __ATOMIC_RELAXED);
	}
	objects_let_go(t->objects, clock_mono_ns());
}

static void look_after_room(struct unwind_tables *t)
{
	uint64_t now = clock_mono_ns();
	struct map_slot *slot;

	if (now >= t->next_second_ns) {
		t->next_second_ns = now + NSEC_PER_SEC;
		objects_second(t->objects);
		/* Others may have left meanwhile. */
		for (size_t i = 0; map_next(&t->roomless, &i, &slot);)
			map_put(&t->dirty, slot->key, NULL);
		map_clear(&t->roomless);
	}
	if (t->starved && now >= t->next_reset_ns)
		unwinds_reset(t);
	if (objects_retry(t->objects, now))
		for (size_t i = 0; map_next(&t->versions, &i, &slot);)
			map_put(&t->dirty, slot->key, NULL);
	unwinds_make_room(t);
}

void unwinds_settle(struct unwind_tables *t)
{
	struct map_slot *slot;

	if (!t)
		return;
	objects_collect(t->objects, 0);
	look_after_room(t);
	if (!t->dirty.n)
		return;
	for (size_t i = 0; map_next(&t->dirty, &i, &slot);) {
		uint32_t pid = (uint32_t)slot->key;
		uint64_t *execs = map_get(&t->execs, pid);

		if (procs_known(t->procs, pid))
			publish(t, pid, execs ? (uint32_t)*execs : 0);
	}
	map_clear(&t->dirty);
}

void unwinds_hurry(struct unwind_tables *t)
{
	if (t)
		objects_hurry(t->objects);
}

/* ---- copies ---- */

struct copy_walk {
	struct unwind_tables *t;
	const struct pr_copy *copy;
	bool late; /* a table was not ready in time */
	bool no_room, silent;
	bool cut; /* the walk needed words past the end of the copy */
};

/* The record itself does not outlive an idle call. */
static void unwinds_hold(struct copy_walk *w)
{
	if (w->copy == w->t->held)
		return;
	if (!w->t->held)
		w->t->held = mem_alloc(sizeof(*w->t->held));
	memcpy(w->t->held, w->copy, PR_LEN(w->copy->h.hdr));
	w->copy = w->t->held;
}

static const struct unwind_table *table_of(struct copy_walk *w, const struct proc_range *r,
					   uint64_t *ret_bias)
{
	const struct unwind_table *table;
	enum objects_answer answer;
	struct unwind_tables *t = w->t;

	while ((answer = objects_need(t->objects, w->copy->pid, r, &table, ret_bias)) ==
	       OBJECTS_LATER) {
		unwinds_hold(w);
		if (w->late || objects_rest(t->objects) || (t->idle && !t->idle(t->idle_ctx))) {
			w->late = true;
			return NULL;
		}
		objects_collect(t->objects, IDLE_NS);
	}
	w->no_room = answer == OBJECTS_NO_ROOM;
	w->silent = answer == OBJECTS_SILENT;
	return table;
}

static struct unwind_place unwinds_find(void *ctx, uint64_t pc)
{
	struct copy_walk *w = ctx;
	struct unwind_place place = {.kind = UNWIND_CODE_NONE};
	struct proc_range r;

	if (!procs_range_at(w->t->procs, w->copy->pid, pc, &r) &&
	    (!w->t->miss || !w->t->miss(w->t->miss_ctx, w->copy->pid) ||
	     !procs_range_at(w->t->procs, w->copy->pid, pc, &r)))
		return place;
	if (r.kind == MODULE_ANON || r.kind == MODULE_UNKNOWN) {
		place.kind = UNWIND_CODE_ANON;
		return place;
	}
	place.table = table_of(w, &r, &place.bias);
	/* As in the probes: a file of code made at run time counts as code without a file. */
	place.kind = place.table || w->late || w->no_room || w->silent ? UNWIND_CODE_FILE
								       : UNWIND_CODE_ANON;
	return place;
}

static int read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct copy_walk *w = ctx;
	const struct pr_copy *copy = w->copy;
	uint64_t at = addr - (copy->sp & -(uint64_t)COPY_CHUNK);
	uint64_t len = PR_LEN(copy->h.hdr) - PR_COPY_HEAD;

	if (at >= len || len - at < sizeof(*ret)) {
		w->cut |= at < UNWIND_STACK_MAX;
		return -1;
	}
	if (addr & 7 || at >= COPY_MAX || !(copy->have >> at / COPY_CHUNK & 1))
		return -1;
	memcpy(ret, copy->stack + at, sizeof(*ret));
	return 0;
}

/* Why there was no table where the walk stopped. */
static enum unwind_stop stop_for(const struct copy_walk *w)
{
	if (w->no_room)
		return UNWIND_STOP_NO_ROOM;
	if (w->silent)
		return UNWIND_STOP_NO_ANSWER;
	return w->late ? UNWIND_STOP_NOT_READY : UNWIND_STOP_NO_TABLE;
}

size_t unwinds_walk(struct unwind_tables *t, const struct pr_copy *copy, uint64_t *ips, size_t max,
		    enum unwind_stop *ret_stop)
{
	static const struct unwind_ops ops = {.find = unwinds_find, .read = read_word};
	struct unwind_regs regs = {.pc = copy->pc,
				   .sp = copy->sp,
				   .bp = copy->bp,
				   .di = copy->di,
				   .bx = copy->bx,
				   .exact = 1};
	struct copy_walk w = {.t = t, .copy = copy};
	size_t n;

	t->copies++;
	t->copy_bytes += PR_LEN(copy->h.hdr);
	(void)procs_version(t->procs, copy->pid); /* reads a stranger's mappings */
	if (copy->need)
		(void)unwinds_find(&w, copy->need);
	n = unwind_walk(&ops, &w, regs, ips, max, ret_stop);
	if (*ret_stop == UNWIND_STOP_NO_TABLE)
		*ret_stop = stop_for(&w);
	if (w.cut && (*ret_stop == UNWIND_STOP_READ || *ret_stop == UNWIND_STOP_FP_END))
		*ret_stop = UNWIND_STOP_COPY_END;
	if (!published(t, w.copy->pid))
		publish(t, w.copy->pid, w.copy->execs);
	return n;
}

void unwinds_end(struct unwind_tables *t)
{
	if (t)
		objects_end(t->objects);
}

void unwinds_forget(struct unwind_tables *t)
{
	if (!t)
		return;
	unwinds_reset(t);
	map_clear(&t->execs);
	map_clear(&t->dirty);
}

uint64_t unwinds_cpu_ns(const struct unwind_tables *t)
{
	return t ? objects_cpu_ns(t->objects) : 0;
}

uint64_t unwinds_child_ns(const struct unwind_tables *t)
{
	return t ? objects_child_ns(t->objects) : 0;
}

void unwinds_stats(const struct unwind_tables *t, struct unwinds_stats *ret)
{
	*ret = (struct unwinds_stats){0};
	if (!t)
		return;
	objects_stats(t->objects, &ret->objects);
	ret->copies = t->copies;
	ret->copy_bytes = t->copy_bytes;
	ret->published = t->published;
	ret->resets = t->resets;
}
