// SPDX-License-Identifier: MIT
#include "unwind_tables/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/vec.h"
#include "scout/silent.h"
#include "symbol/opener.h"
#include "unwind_tables/builder.h"
#include "unwind_tables/kept.h"

#define RETRIES_MAX 6u /* after 1, 2, 4 ... 64 seconds, and so on */
/* After 10, 20, 40 and 80 seconds; each try may leave a process behind that waits for the file. */
#define SILENT_RETRIES_MAX 4u

enum object_state {
	OBJECT_IS_NEW,
	OBJECT_IS_ASKED_FOR, /* the builder has it */
	OBJECT_IS_READY,
	OBJECT_IS_BARE,	  /* it has no table */
	OBJECT_IS_LARGE,  /* it has one that did not fit */
	OBJECT_IS_SILENT, /* its file does not answer */
};

struct object {
	enum object_state state;
	uint32_t number; /* of READY */
	struct unwind_table table;
	struct shelf_parts parts;
	uint64_t retry_ns; /* of LARGE and SILENT: 0: never */
	size_t size;	   /* of LARGE, in words */
	unsigned tries;
	uint32_t module;
};

struct free_number {
	uint32_t number;
	uint64_t since;
};

struct objects {
	struct unwind_arrays a;
	struct shelves *shelves;
	struct builder *builder;
	struct kept *kept;
	struct object **by_module;
	size_t n_modules;
	struct object *by_number[UNWIND_OBJECTS];
	uint32_t next_number;
	VEC(struct free_number) freed;
	size_t freed_head;
	bool is_gone[UNWIND_OBJECTS];
	size_t wanted;	/* words: of tables that did not fit, but may later */
	size_t waiting; /* objects with a retry_ns */
	objects_silent_fn *on_silent;
	void *ctx;
	uint64_t version, cpu_ns, child_ns;
	struct objects_stats st;
};

struct objects *objects_new(const struct unwind_arrays *a, const struct objects_opts *opts)
{
	struct objects *o = mem_zalloc(sizeof(*o));

	o->a = *a;
	o->kept = opts->kept;
	o->on_silent = opts->on_silent;
	o->ctx = opts->ctx;
	o->shelves = shelves_new(a);
	o->builder = builder_new(&(struct builder_opts){.shelves = o->shelves,
							.kept = opts->kept,
							.free_ns = BUILDER_FREE_NS,
							.share = opts->share});
	o->next_number = OBJECT_FIRST;
	return o;
}

static void object_free(struct object *ob)
{
	if (!ob)
		return;
	free(ob->table.loads);
	vec_done(&ob->parts.list);
	free(ob);
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	builder_free(o->builder);
	kept_close(o->kept);
	for (size_t i = 0; i < o->n_modules; i++)
		object_free(o->by_module[i]);
	free(o->by_module);
	shelves_free(o->shelves);
	vec_done(&o->freed);
	free(o);
}

static struct object *object_of(struct objects *o, uint32_t module)
{
	if (module >= o->n_modules) {
		size_t n = module + 64;

		o->by_module = mem_grow(o->by_module, n, sizeof(*o->by_module));
		memset(o->by_module + o->n_modules, 0, (n - o->n_modules) * sizeof(*o->by_module));
		o->n_modules = n;
	}
	if (!o->by_module[module]) {
		o->by_module[module] = mem_zalloc(sizeof(struct object));
		o->by_module[module]->module = module;
	}
	return o->by_module[module];
}

/* ---- building ---- */

/* If the process is gone, takes the file at its path here: the builder compares build ids. */
static struct build_job *job_for(uint32_t pid, const struct proc_range *r)
{
	struct opener_want w = procs_want(pid, r);
	struct build_job *job = build_job_new(r->kind == MODULE_VDSO ? NULL : &w);

	job->module = r->module;
	return job;
}

/* A number that no walk uses any more; 0: there is none. */
static uint32_t number_take(struct objects *o)
{
	if (o->next_number < UNWIND_OBJECTS)
		return o->next_number++;
	if (o->freed_head < o->freed.n &&
	    clock_mono_ns() - o->freed.v[o->freed_head].since > SHELVES_REST_NS)
		return o->freed.v[o->freed_head++].number;
	return 0;
}

static void number_give_back(struct objects *o, uint32_t number, uint64_t now)
{
	if (o->freed_head > o->freed.n / 2) {
		o->freed.n -= o->freed_head;
		memmove(o->freed.v, o->freed.v + o->freed_head, o->freed.n * sizeof(*o->freed.v));
		o->freed_head = 0;
	}
	o->by_number[number] = NULL;
	vec_push(&o->freed, (struct free_number){number, now});
}

static uint32_t seconds(const struct objects *o)
{
	return __atomic_load_n(o->a.now, __ATOMIC_RELAXED);
}

/* Puts the object where the probes find it. */
static bool number_object(struct objects *o, struct object *ob, struct build_job *job)
{
	uint32_t number = number_take(o);

	if (!number)
		return false;
	ob->state = OBJECT_IS_READY;
	ob->tries = 0;
	ob->number = number;
	ob->table = job->table;
	ob->parts = job->parts;
	job->table.loads = NULL;
	job->parts = (struct shelf_parts){0};
	o->by_number[number] = ob;
	o->a.objects[number] = (struct unwind_object){.first = ob->table.first,
						      .dir = ob->parts.dir,
						      .n_leaves = (uint32_t)ob->table.n_leaves,
						      .rules = ob->parts.rules,
						      .used = seconds(o)};
	o->st.objects++;
	o->st.rows += ob->table.n_rows;
	o->st.bytes += ob->parts.words * 4;
	/* No barrier needed: only a space names the object, and is published by a full barrier. */
	return true;
}

static void no_room(struct objects *o, struct object *ob, size_t size, bool ever)
{
	uint64_t pause = NSEC_PER_SEC << (ob->tries < RETRIES_MAX ? ob->tries++ : RETRIES_MAX);

	ob->state = OBJECT_IS_LARGE;
	ob->size = size;
	/* The room of evicted tables is usable after its rest. */
	ob->retry_ns = ever ? clock_mono_ns() + SHELVES_REST_NS / 16 + pause : 0;
	if (ever)
		o->wanted += size;
	o->waiting += ever;
	o->st.refused++;
}

/* Whatever opens a silent file may wait forever, so retries are few and late. */
static void no_answer(struct objects *o, struct object *ob)
{
	uint64_t pause = SILENT_SPARE_NS << ob->tries;
	bool ever = ob->tries++ < SILENT_RETRIES_MAX;

	ob->state = OBJECT_IS_SILENT;
	ob->retry_ns = ever ? clock_mono_ns() + pause : 0;
	o->waiting += ever;
}

/* Puts the result of a job into the arrays. */
static void objects_finish(struct objects *o, struct build_job *job)
{
	struct object *ob = object_of(o, job->module);

	ob->state = OBJECT_IS_BARE;
	if (job->silent) {
		no_answer(o, ob);
		if (o->on_silent)
			o->on_silent(o->ctx, job->module, job->want.pid);
	} else if (job->has_table && job->rc) {
		no_room(o, ob, job->size, job->rc != -EFBIG);
	} else if (job->has_table && !number_object(o, ob, job)) {
		shelves_give_back(o->shelves, &job->parts, clock_mono_ns());
		no_room(o, ob, job->size, true);
	}
	o->st.read += job->read;
	o->st.built += job->built;
	o->version++;
	o->st.build_ns += job->took_ns;
	o->cpu_ns += job->cpu_ns;
	o->child_ns += job->child_ns;
	build_job_free(job);
}

void objects_collect(struct objects *o, uint64_t wait_ns)
{
	struct build_job *job;

	for (; o->builder && (job = builder_take(o->builder, wait_ns)); wait_ns = 0)
		objects_finish(o, job);
}

void objects_hurry(struct objects *o)
{
	if (o->builder)
		builder_hurry(o->builder);
}

bool objects_rest(struct objects *o)
{
	return o->builder && builder_rests(o->builder);
}

void objects_end(struct objects *o)
{
	uint32_t module, pid;

	objects_collect(o, 0);
	if (o->on_silent && o->builder && builder_waits(o->builder, &module, &pid))
		o->on_silent(o->ctx, module, pid);
}

static void objects_start(struct objects *o, struct object *ob, uint32_t pid,
			  const struct proc_range *r)
{
	struct build_job *job = NULL;

	if (r->silent && !ob->tries) {
		no_answer(o, ob);
		o->version++;
		return;
	}
	job = job_for(pid, r);
	if (!o->builder) {
		build_job_free(job);
		ob->state = OBJECT_IS_BARE;
		o->version++;
	} else if (builder_put(o->builder, job)) {
		ob->state = OBJECT_IS_ASKED_FOR;
	} else {
		build_job_free(job);
	}
}

/* ---- asking ---- */

static bool bias_of(const struct object *ob, const struct proc_range *r, uint64_t *ret)
{
	uint64_t off = r->kind == MODULE_VDSO ? 0 : r->pgoff;

	for (size_t i = 0; i < ob->table.n_loads; i++) {
		const struct unwind_load *l = &ob->table.loads[i];
		uint64_t page = l->offset & -(uint64_t)ARCH_PAGE;

		if (off >= page && off < l->offset + l->size) {
			*ret = r->start - (l->vaddr + (off - l->offset));
			return true;
		}
	}
	return false;
}

uint32_t objects_known(struct objects *o, const struct proc_range *r, uint64_t *ret_bias)
{
	struct object *ob;

	*ret_bias = 0;
	if (r->kind == MODULE_ANON || r->kind == MODULE_UNKNOWN)
		return OBJECT_ANON;
	ob = object_of(o, r->module);
	switch (ob->state) {
	case OBJECT_IS_NEW:
	case OBJECT_IS_ASKED_FOR:
		return OBJECT_NOT_READY;
	case OBJECT_IS_LARGE:
		return OBJECT_NO_ROOM;
	case OBJECT_IS_SILENT:
		return OBJECT_SILENT;
	case OBJECT_IS_BARE:
		return OBJECT_NO_TABLE;
	case OBJECT_IS_READY:
		break;
	}
	return bias_of(ob, r, ret_bias) ? ob->number : OBJECT_NO_TABLE;
}

enum objects_answer objects_need(struct objects *o, uint32_t pid, const struct proc_range *r,
				 const struct unwind_table **ret_table, uint64_t *ret_bias)
{
	struct object *ob = object_of(o, r->module);

	*ret_table = NULL;
	if (ob->state == OBJECT_IS_NEW)
		objects_start(o, ob, pid, r);
	if (ob->state == OBJECT_IS_NEW || ob->state == OBJECT_IS_ASKED_FOR)
		return OBJECTS_LATER;
	if (ob->state == OBJECT_IS_LARGE)
		return OBJECTS_NO_ROOM;
	if (ob->state == OBJECT_IS_SILENT)
		return OBJECTS_SILENT;
	if (ob->state == OBJECT_IS_BARE || !bias_of(ob, r, ret_bias))
		return OBJECTS_NO_TABLE;
	*ret_table = &ob->table;
	__atomic_store_n(&o->a.objects[ob->number].used, seconds(o), __ATOMIC_RELAXED);
	return OBJECTS_TABLE;
}

/* ---- making room ---- */

void objects_second(struct objects *o)
{
	__atomic_store_n(o->a.now, seconds(o) + 1, __ATOMIC_RELAXED);
}

bool objects_retry(struct objects *o, uint64_t now)
{
	bool again = false;

	for (size_t i = 0; o->waiting && i < o->n_modules; i++) {
		struct object *ob = o->by_module[i];

		if (!ob || !ob->retry_ns || now < ob->retry_ns)
			continue;
		if (ob->state == OBJECT_IS_LARGE)
			o->wanted -= ob->size;
		ob->state = OBJECT_IS_NEW;
		ob->retry_ns = 0;
		o->waiting--;
		o->version++;
		again = true;
	}
	return again;
}

static uint32_t unused_for(const struct objects *o, uint32_t number)
{
	return seconds(o) - __atomic_load_n(&o->a.objects[number].used, __ATOMIC_RELAXED);
}

struct object_candidate {
	uint32_t number, unused;
};

static int by_use(const void *a, const void *b)
{
	const struct object_candidate *x = a, *y = b;

	return x->unused > y->unused ? -1 : x->unused < y->unused;
}

bool objects_choose_gone(struct objects *o, const bool **ret_is_gone)
{
	size_t limit = shelves_limit(o->shelves), left = shelves_left(o->shelves);
	bool no_number = o->next_number == UNWIND_OBJECTS && o->freed_head == o->freed.n;
	VEC(struct object_candidate) may = {0};
	/* Evict a quarter at once, because each eviction looks at every mapping. */
	size_t n = 0, want = o->wanted + o->wanted / 16;

	if (left >= limit / 16 && left >= want && !no_number)
		return false;
	if (want < limit / 4)
		want = limit / 4;
	for (uint32_t i = OBJECT_FIRST; i < o->next_number; i++) {
		o->is_gone[i] = false;
		if (o->by_number[i] && unused_for(o, i) >= OBJECTS_UNUSED_S)
			vec_push(&may, (struct object_candidate){i, unused_for(o, i)});
	}
	sort_by(may.v, may.n, sizeof(*may.v), by_use);
	for (; n < may.n && (left < want || (no_number && n < UNWIND_OBJECTS / 4)); n++) {
		o->is_gone[may.v[n].number] = true;
		left += o->by_number[may.v[n].number]->parts.words;
	}
	vec_done(&may);
	*ret_is_gone = o->is_gone;
	return n;
}

void objects_let_go(struct objects *o, uint64_t now)
{
	for (uint32_t i = OBJECT_FIRST; i < o->next_number; i++) {
		struct object *ob = o->by_number[i];

		if (!o->is_gone[i] || !ob)
			continue;
		o->is_gone[i] = false;
		o->st.objects--;
		o->st.rows -= ob->table.n_rows;
		o->st.bytes -= ob->parts.words * 4;
		o->st.evicted++;
		shelves_give_back(o->shelves, &ob->parts, now);
		free(ob->table.loads);
		ob->table = (struct unwind_table){0};
		ob->state = OBJECT_IS_NEW;
		number_give_back(o, i, now);
	}
	o->version++;
}

/* ---- telling ---- */

uint64_t objects_cpu_ns(const struct objects *o)
{
	return o->cpu_ns;
}

uint64_t objects_child_ns(const struct objects *o)
{
	return o->child_ns;
}

uint64_t objects_version(const struct objects *o)
{
	return o->version;
}

void objects_stats(const struct objects *o, struct objects_stats *ret)
{
	*ret = o->st;
}
