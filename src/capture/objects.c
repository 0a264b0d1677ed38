// SPDX-License-Identifier: MIT
#include "capture/objects.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "capture/builder.h"
#include "capture/procfs.h"

struct object {
	bool tried;
	bool asked;		  /* the builder has it */
	uint32_t number;	  /* OBJECT_* */
	struct unwind_table view; /* of the arrays */
	VEC(struct load) loads;
};

struct objects {
	struct unwind_arrays a;
	struct builder *builder;
	struct object **by_module;
	size_t n_modules;
	struct map rules; /* a rule's bytes -> its index */
	uint32_t next_object, next_row, next_block, next_rule;
	uint64_t version, build_ns, cpu_ns;
	uint64_t era; /* a table that was asked for before the last reset is not wanted any more */
	bool full;
};

struct objects *objects_new(const struct unwind_arrays *a)
{
	struct objects *o = mem_zalloc(sizeof(*o));

	o->a = *a;
	o->builder = builder_new();
	objects_reset(o);
	return o;
}

void objects_reset(struct objects *o)
{
	for (size_t i = 0; i < o->n_modules; i++) {
		if (!o->by_module[i])
			continue;
		vec_done(&o->by_module[i]->loads);
		free(o->by_module[i]);
		o->by_module[i] = NULL;
	}
	map_clear(&o->rules);
	/* Row 0 and rule 0 say that nothing is known. */
	memset(&o->a.rows[0], 0, sizeof(o->a.rows[0]));
	memset(&o->a.rules[0], 0, sizeof(o->a.rules[0]));
	*map_put(&o->rules, 0, NULL) = 0;
	o->next_object = OBJECT_FIRST;
	o->next_row = 1;
	o->next_block = 0;
	o->next_rule = 1;
	o->full = false;
	o->version++;
	o->era++;
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	builder_free(o->builder);
	objects_reset(o);
	free(o->by_module);
	map_done(&o->rules);
	free(o);
}

bool objects_full(const struct objects *o)
{
	return o->full;
}

static struct object *object_of(struct objects *o, uint32_t module)
{
	if (module >= o->n_modules) {
		size_t n = module + 64;

		o->by_module = mem_grow(o->by_module, n, sizeof(*o->by_module));
		memset(o->by_module + o->n_modules, 0, (n - o->n_modules) * sizeof(*o->by_module));
		o->n_modules = n;
	}
	if (!o->by_module[module])
		o->by_module[module] = mem_zalloc(sizeof(struct object));
	return o->by_module[module];
}

/* ---- building ---- */

static uint32_t rule_index(struct objects *o, const struct unwind_rule *rule)
{
	uint64_t key, *slot;
	bool fresh;

	_Static_assert(sizeof(*rule) == sizeof(key), "a rule is its own key");
	memcpy(&key, rule, sizeof(key));
	slot = map_put(&o->rules, key, &fresh);
	if (fresh) {
		if (o->next_rule == UNWIND_RULES) {
			map_del(&o->rules, key);
			return 0;
		}
		o->a.rules[o->next_rule] = *rule;
		*slot = o->next_rule++;
	}
	return (uint32_t)*slot;
}

/* Puts a table into the arrays. False if there is no room. */
static bool place(struct objects *o, struct object *ob, const struct unwind_table *t)
{
	uint32_t *indices = mem_alloc(t->n_rules * sizeof(*indices));
	struct unwind_object *to;

	if (o->next_object >= UNWIND_OBJECTS || o->next_row + t->n_rows > o->a.n_rows ||
	    o->next_block + t->n_blocks + 1 > o->a.n_blocks ||
	    o->next_rule + t->n_rules > UNWIND_RULES) {
		free(indices);
		return false;
	}
	for (size_t i = 0; i < t->n_rules; i++)
		indices[i] = rule_index(o, &t->rules[i]);
	for (size_t i = 0; i < t->n_rows; i++)
		o->a.rows[o->next_row + i] = (struct unwind_row){
			.pc = t->rows[i].pc, .rule = (uint16_t)indices[t->rows[i].rule]};
	for (size_t i = 0; i <= t->n_blocks; i++)
		o->a.blocks[o->next_block + i] = o->next_row + t->blocks[i];
	free(indices);
	ob->number = o->next_object++;
	ob->view = (struct unwind_table){.first = t->first,
					 .rows = o->a.rows,
					 .n_rows = o->next_row + t->n_rows,
					 .rules = o->a.rules,
					 .n_rules = UNWIND_RULES,
					 .blocks = &o->a.blocks[o->next_block],
					 .n_blocks = t->n_blocks};
	to = &o->a.objects[ob->number];
	*to = (struct unwind_object){
		.first = t->first, .block = o->next_block, .n_blocks = (uint32_t)t->n_blocks};
	o->next_row += t->n_rows;
	o->next_block += t->n_blocks + 1;
	/* Nothing names the object before a space does, which is published by a full barrier. */
	return true;
}

/* Of a process that is gone, the file that has the path here: the builder compares build ids. */
static int open_mapped(uint32_t pid, const struct proc_range *r)
{
	int fd = procfs_open_mapped(pid, r->start, r->end, r->path);

	return fd >= 0 ? fd : procfs_open_regular(r->path);
}

static struct build_job *job_for(const struct objects *o, uint32_t pid, const struct proc_range *r)
{
	bool vdso = r->kind == MODULE_VDSO;
	int fd = vdso ? -1 : open_mapped(pid, r);
	struct build_job *job;

	if (!vdso && fd < 0)
		return NULL;
	job = build_job_new(fd);
	job->module = r->module;
	job->era = o->era;
	job->build_id_len = r->build_id_len;
	if (r->build_id_len)
		memcpy(job->build_id, r->build_id, r->build_id_len);
	return job;
}

/* What came of it, into the arrays. */
static void finish(struct objects *o, struct build_job *job)
{
	struct object *ob = object_of(o, job->module);

	if (job->era == o->era) {
		ob->asked = false;
		ob->tried = true;
		ob->number = OBJECT_NO_TABLE;
		for (size_t i = 0; i < job->loads.n; i++)
			vec_push(&ob->loads, job->loads.v[i]);
		if (job->table && !place(o, ob, job->table)) {
			o->full = true;
			ob->tried = false;
			ob->number = OBJECT_NOT_READY;
			vec_done(&ob->loads);
		}
		o->version++;
	}
	o->build_ns += job->took_ns;
	o->cpu_ns += job->cpu_ns;
	build_job_free(job);
}

void objects_collect(struct objects *o, uint64_t wait_ns)
{
	struct build_job *job;

	for (; o->builder && (job = builder_take(o->builder, wait_ns)); wait_ns = 0)
		finish(o, job);
}

/* Asks for it, or makes it where nobody can be asked. */
static void start(struct objects *o, struct object *ob, uint32_t pid, const struct proc_range *r)
{
	struct build_job *job = job_for(o, pid, r);

	if (!job) {
		ob->tried = true;
		ob->number = OBJECT_NO_TABLE;
		o->version++;
	} else if (!o->builder) {
		build_job_run(job);
		finish(o, job);
	} else if (builder_put(o->builder, job)) {
		ob->asked = true;
	} else {
		build_job_free(job);
	}
}

/* ---- asking ---- */

static bool bias_of(const struct object *ob, const struct proc_range *r, uint64_t *ret)
{
	uint64_t off = r->kind == MODULE_VDSO ? 0 : r->pgoff;

	for (size_t i = 0; i < ob->loads.n; i++) {
		const struct load *l = &ob->loads.v[i];
		uint64_t page = l->offset & ~4095ull;

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
	if (!ob->tried)
		return OBJECT_NOT_READY;
	return bias_of(ob, r, ret_bias) ? ob->number : OBJECT_NO_TABLE;
}

bool objects_need(struct objects *o, uint32_t pid, const struct proc_range *r,
		  const struct unwind_table **ret_table, uint64_t *ret_bias)
{
	struct object *ob = object_of(o, r->module);

	if (!ob->tried && !ob->asked && !o->full)
		start(o, ob, pid, r);
	*ret_table = ob->number >= OBJECT_FIRST && bias_of(ob, r, ret_bias) ? &ob->view : NULL;
	return ob->tried || o->full;
}

uint64_t objects_cpu_ns(const struct objects *o)
{
	return o->cpu_ns;
}

uint64_t objects_version(const struct objects *o)
{
	return o->version;
}

void objects_stats(const struct objects *o, uint64_t *ret_objects, uint64_t *ret_rows,
		   uint64_t *ret_bytes, uint64_t *ret_build_ns)
{
	*ret_objects = o->next_object - OBJECT_FIRST;
	*ret_rows = o->next_row;
	*ret_bytes = o->next_row * sizeof(struct unwind_row) + o->next_block * sizeof(uint32_t) +
		     o->next_rule * sizeof(struct unwind_rule);
	*ret_build_ns = o->build_ns;
}
