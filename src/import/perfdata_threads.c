// SPDX-License-Identifier: MIT
/*
 * The threads and processes of a perf.data file. A thread is introduced as soon as its process is
 * known. The importer never asks this machine's /proc: the tids are of another machine, or of
 * another time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "import/perfdata.h"
#include "wire/state.h"

void pd_process_known(struct pd_import *i, uint32_t pid)
{
	if (!procs_known(i->s.procs, pid)) {
		procs_thread(i->s.procs, pid);
		procs_exec(i->s.procs, pid);
	}
}

struct pd_thread *pd_thread_known(const struct pd_import *i, uint32_t tid)
{
	uint64_t *slot = map_get(&i->by_tid, tid);

	return slot ? (struct pd_thread *)(uintptr_t)*slot : NULL;
}

struct pd_thread *pd_thread(struct pd_import *i, uint32_t tid, uint32_t pid)
{
	bool fresh;
	uint64_t *slot = map_put(&i->by_tid, tid, &fresh);
	struct pd_thread *t = (struct pd_thread *)(uintptr_t)*slot;

	if (fresh) {
		t = mem_zalloc(sizeof(*t));
		t->tid = tid;
		t->cpu = (uint16_t)(i->by_tid.n % PD_CPUS_MAX);
		*slot = (uintptr_t)t;
		i->s.res->threads += tid != 0;
	}
	if (!t->pid && pid) {
		t->pid = pid;
		if (procs_known(i->s.procs, pid))
			procs_thread(i->s.procs, pid);
		else
			pd_process_known(i, pid);
	}
	return t;
}

void pd_forget(struct pd_import *i, uint32_t tid)
{
	struct pd_thread *t = pd_thread_known(i, tid);

	if (!t)
		return;
	if (t->pid) {
		procs_thread_end(i->s.procs, t->pid);
		if (!procs_known(i->s.procs, t->pid))
			unwinds_exit(i->tables, t->pid);
	}
	map_del(&i->by_tid, tid);
	free(t);
}

/* Remembers an ended thread for a while: more of its records may follow. */
void pd_bury(struct pd_import *i, struct pd_thread *t)
{
	uint32_t *place = &i->buried[i->n_buried++ % ARRAY_LEN(i->buried)];
	struct pd_thread *old = pd_thread_known(i, *place);

	if (old && old->dying && old != t)
		pd_forget(i, *place);
	*place = t->tid;
}

void pd_introduce(struct pd_import *i, struct pd_thread *t, uint64_t ts)
{
	struct event ev = {.ts = ts,
			   .kind = EV_THREAD,
			   .thread = {.tid = t->tid,
				      .pid = t->pid,
				      .state = STATE_INTERRUPTIBLE,
				      .flags = t->kernel ? THREAD_KERNEL : 0,
				      .name = t->comm}};

	t->told = true;
	if (!t->tid)
		return;
	sink_put(&i->s, &ev);
	pd_runs(i, t, ts);
}

void pd_runs(struct pd_import *i, struct pd_thread *t, uint64_t ts)
{
	if (i->waits && i->has_switches && !t->waiting)
		pd_emit_switch(i, ts, t->cpu, PD_NOBODY, t->tid, 0);
}

void pd_tell_thread(struct pd_import *i, uint32_t tid, uint32_t pid, uint64_t ts)
{
	struct pd_thread *t;

	if (!tid || tid == PD_NOBODY)
		return;
	t = pd_thread(i, tid, pid);
	if (!t->told && t->pid)
		pd_introduce(i, t, ts);
}

void pd_name_thread(struct pd_import *i, struct pd_thread *t, const char *name, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_RENAME, .rename = {.tid = t->tid, .name = name}};

	if (t->comm[0] || !name[0])
		return;
	memcpy(t->comm, name, sizeof(t->comm));
	sink_put(&i->s, &ev);
}

struct pd_cpu *pd_cpu(struct pd_import *i, uint32_t cpu)
{
	cpu = pd_cpu_number(cpu);
	while (i->cpus.n <= cpu)
		vec_push(&i->cpus, (struct pd_cpu){.tid = PD_NOBODY, .last_ts = i->s.first_ts});
	return &i->cpus.v[cpu];
}

uint16_t pd_cpu_of(struct pd_import *i, uint32_t cpu, uint32_t tid)
{
	if (!i->no_cpus)
		return pd_cpu_number(cpu);
	return tid && tid != PD_NOBODY ? pd_thread(i, tid, 0)->cpu : 0;
}

static int by_tid(const void *pa, const void *pb)
{
	const struct pd_thread *a = *(const struct pd_thread *const *)pa;
	const struct pd_thread *b = *(const struct pd_thread *const *)pb;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

struct telling {
	struct pd_import *i;
	uint32_t pid;
};

static void tell_range(void *ctx, const struct proc_range *r)
{
	struct telling *t = ctx;
	struct event ev = {.ts = t->i->s.last_ts,
			   .kind = EV_MAP,
			   .map = {.pid = t->pid,
				   .addr = r->start,
				   .len = r->end - r->start,
				   .pgoff = r->pgoff,
				   .module = r->module}};

	sink_put(&t->i->s, &ev);
}

void pd_begin(struct pd_import *i, uint64_t ts)
{
	VEC(struct pd_thread *) all = {0};
	struct telling t = {.i = i};
	struct map_slot *slot;

	i->begun = true;
	sink_begin(&i->s, ts);
	for (size_t k = 0; map_next(&i->by_tid, &k, &slot);)
		vec_push(&all, (struct pd_thread *)(uintptr_t)slot->val);
	sort_by(all.v, all.n, sizeof(*all.v), by_tid);
	for (size_t k = 0; k < all.n; k++) {
		if (all.v[k]->pid && !all.v[k]->told)
			pd_introduce(i, all.v[k], ts);
		t.pid = all.v[k]->pid;
		if (t.pid == all.v[k]->tid)
			procs_ranges(i->s.procs, t.pid, tell_range, &t);
	}
	vec_done(&all);
}

void pd_threads_free(struct pd_import *i)
{
	struct map_slot *slot;

	for (size_t k = 0; map_next(&i->by_tid, &k, &slot);)
		free((void *)(uintptr_t)slot->val);
	map_done(&i->by_tid);
	vec_done(&i->cpus);
}
