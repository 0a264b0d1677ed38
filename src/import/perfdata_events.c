// SPDX-License-Identifier: MIT
/*
 * Records in the order of time become events. Threads and mappings from before the recording have
 * the time 0 in the file: they become events when the recording begins.
 */
#include <string.h>
#include <sys/mman.h>

#include "engine/perf_stream.h"
#include "import/perfdata.h"
#include "wire/state.h"

/* ---- stacks ---- */

static uint32_t kernel_stack(struct pd_import *i, const uint64_t *ips, size_t n)
{
	uint64_t id = map_hash_bytes(ips, n * sizeof(*ips)) | 1;

	if (!n)
		return 0;
	stacks_add(i->s.stacks, id, ips, n, 0);
	return stacks_kernel(i->s.stacks, id);
}

static uint32_t user_stack(struct pd_import *i, uint32_t pid, const uint64_t *ips, size_t n,
			   enum unwind_stop stop)
{
	uint64_t id = (map_hash_bytes(ips, n * sizeof(*ips)) ^ map_mix(stop)) | 1;

	if (!n || !pid)
		return 0;
	pd_process_known(i, pid);
	stacks_add(i->s.stacks, id, ips, n, stop);
	return stacks_user(i->s.stacks, id, pid);
}

/* From the registers and the copy of the stack. */
static uint32_t perfdata_events_walk(struct pd_import *i, const struct perf_record *r)
{
	uint64_t ips[STACK_FRAMES_MAX];
	enum unwind_stop stop;
	size_t n;

	if (!i->copy)
		i->copy = mem_zalloc(sizeof(*i->copy));
	perf_stream_copy(r, i->copy);
	pd_process_known(i, r->pid);
	n = unwinds_walk(i->tables, i->copy, ips, STACK_FRAMES_MAX, &stop);
	return user_stack(i, r->pid, ips, n, stop);
}

void pd_stacks(struct pd_import *i, const struct perf_record *r, uint32_t *ret_k, uint32_t *ret_u)
{
	bool in_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	uint64_t kernel[STACK_FRAMES_MAX], user[STACK_FRAMES_MAX];
	size_t n_kernel = perf_chain(r, true, kernel, STACK_FRAMES_MAX);
	size_t n_user = perf_chain(r, false, user, STACK_FRAMES_MAX);

	if (!n_kernel && !n_user && r->sample.ip && in_kernel)
		kernel[n_kernel++] = r->sample.ip;
	else if (!n_kernel && !n_user && r->sample.ip)
		user[n_user++] = r->sample.ip;
	*ret_k = kernel_stack(i, kernel, n_kernel);
	*ret_u = i->tables && r->sample.user && r->pid
			 ? perfdata_events_walk(i, r)
			 : user_stack(i, r->pid, user, n_user, UNWIND_STOP_NONE);
}

/* ---- records ---- */

static void import_on_sample(struct pd_import *i, const struct pd_attr *a,
			     const struct perf_record *r, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_SAMPLE};

	pd_cpu(i, pd_cpu_of(i, r->cpu, r->tid))->last_ts = ts;
	if (a->role != PD_SAMPLE) {
		pd_sched(i, a, r, ts);
		return;
	}
	if (!r->tid || r->tid == PD_NOBODY) {
		i->idle++;
		return;
	}
	pd_tell_thread(i, r->tid, r->pid, ts);
	ev.cpu = pd_cpu_of(i, r->cpu, r->tid);
	ev.sample.tid = r->tid;
	pd_stacks(i, r, &ev.sample.kstack, &ev.sample.ustack);
	i->s.res->samples++;
	sink_put(&i->s, &ev);
}

static const struct pd_build_id *build_id_of(const struct pd_import *i, const char *path)
{
	static const struct pd_build_id none;
	uint64_t *k = map_get(&i->f->build_ids, map_hash_bytes(path, strlen(path)));

	return k ? &i->f->ids_of.v[*k - 1] : &none;
}

static void on_kernel_map(struct pd_import *i, uint64_t pgoff, const char *path)
{
	if (!strcmp(path, "[kernel.kallsyms]_text"))
		i->kernel_at = pgoff;
}

/* Else the mark that a record has one says nothing. */
static bool asks_build_ids(const struct pd_file *f)
{
	for (size_t i = 0; i < f->attrs.n; i++)
		if (f->attrs.v[i].a.build_id)
			return true;
	return false;
}

static bool on_map(struct pd_import *i, const struct perf_record *r, uint64_t ts)
{
	const struct perf_mmap *p = &r->mmap;
	const struct pd_build_id *known = build_id_of(i, p->path);
	bool told = p->build_id && asks_build_ids(i->f);
	struct mapping m = {.start = p->addr,
			    .len = p->len,
			    .pgoff = p->pgoff,
			    .path = p->path,
			    .build_id = told ? p->build_id : known->id,
			    .build_id_len = told ? p->build_id_len : known->len};
	struct event ev = {.ts = ts, .kind = EV_MAP};

	if (m.start + m.len < m.start)
		return false;
	if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL ||
	    p->pid == PD_NOBODY) {
		on_kernel_map(i, m.pgoff, m.path);
		return true;
	}
	if (!(p->prot & PROT_EXEC))
		return true;
	pd_process_known(i, p->pid);
	ev.map = (struct ev_map){.pid = p->pid, .addr = m.start, .len = m.len, .pgoff = m.pgoff};
	ev.map.module = procs_map(i->s.procs, p->pid, &m);
	unwinds_mapped(i->tables, p->pid);
	if (i->begun)
		sink_put(&i->s, &ev);
	return true;
}

static void on_comm(struct pd_import *i, const struct perf_record *r, uint16_t cpu, uint64_t ts)
{
	uint32_t pid = r->comm.pid, tid = r->comm.tid;
	bool exec = r->comm.exec;
	struct event ev = {.ts = ts, .kind = exec ? EV_EXEC : EV_RENAME, .cpu = cpu};
	struct pd_thread *t;

	if (tid == PD_NOBODY || !tid)
		return;
	t = pd_thread(i, tid, pid);
	memcpy(t->comm, r->comm.name, sizeof(t->comm));
	if (exec) {
		pd_process_known(i, pid);
		procs_exec(i->s.procs, pid);
		unwinds_exec(i->tables, pid, 0);
	}
	if (!t->told && i->begun)
		pd_introduce(i, t, ts);
	if (!t->told)
		return;
	if (exec)
		ev.exec = (struct ev_exec){.tid = tid, .old_tid = tid, .name = t->comm};
	else
		ev.rename = (struct ev_rename){.tid = tid, .name = t->comm};
	sink_put(&i->s, &ev);
}

static void import_on_fork(struct pd_import *i, const struct perf_record *r, uint16_t cpu,
			   uint64_t ts, bool no_time)
{
	uint32_t pid = r->task.pid, ppid = r->task.ppid, tid = r->task.tid, ptid = r->task.ptid;
	struct event ev = {.ts = ts, .kind = EV_FORK, .cpu = cpu};
	struct pd_thread *t, *parent;

	if (!tid || tid == PD_NOBODY)
		return;
	if (no_time) {
		t = pd_thread(i, tid, pid);
		t->kernel = ppid == 2 || pid == 2;
		return;
	}
	pd_forget(i, tid); /* somebody else had the number before */
	if (pid != ppid) {
		pd_process_known(i, ppid);
		procs_fork(i->s.procs, pid, ppid);
		unwinds_fork(i->tables, pid);
	}
	t = pd_thread(i, tid, pid);
	parent = pd_thread_known(i, ptid);
	if (parent && !t->comm[0])
		memcpy(t->comm, parent->comm, sizeof(t->comm));
	if (!i->begun)
		return;
	t->told = true;
	ev.fork = (struct ev_fork){.tid = tid, .pid = pid, .parent = ptid, .name = t->comm};
	sink_put(&i->s, &ev);
	pd_runs(i, t, ts);
}

static void on_end(struct pd_import *i, uint32_t tid, uint16_t cpu, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_EXIT, .cpu = cpu};
	struct pd_thread *t = pd_thread_known(i, tid);

	if (!i->begun)
		pd_forget(i, tid);
	if (!i->begun || !t || t->dying || !t->told)
		return;
	ev.exit.tid = tid;
	sink_put(&i->s, &ev);
	t->dying = true;
	/* Only records of a whole CPU would show the thread's last switch. */
	if (i->switch_records && !i->wide) {
		pd_emit_switch(i, ts, cpu, tid, PD_NOBODY, STATE_DEAD);
		pd_cpu(i, cpu)->tid = PD_NOBODY;
	}
	pd_bury(i, t);
}

static void on_lost(struct pd_import *i, const struct perf_record *r, uint16_t cpu, uint64_t ts)
{
	struct pd_cpu *now = pd_cpu(i, cpu);
	struct ev_lost lost = {
		.cause = LOSS_RING_FULL, .count = r->lost, .kind = i->has_switches ? 0 : EV_SAMPLE};

	/* If both kinds are there, they count the same losses. */
	if (r->type == PERF_RECORD_LOST)
		i->lost_told = true;
	else if (i->lost_told)
		return;
	else
		lost.cause = LOSS_THROTTLED;
	sink_lost(&i->s, ts, cpu, &lost);
	if (r->type == PERF_RECORD_LOST && i->has_switches && now->last_ts < ts) {
		lost.count = 0;
		lost.kind = 0;
		lost.span_ns = ts - now->last_ts;
		sink_lost(&i->s, ts, cpu, &lost);
		now->tid = PD_NOBODY;
	}
}

static bool on_other(struct pd_import *i, const struct perf_record *r, uint64_t ts, bool no_time)
{
	uint16_t cpu = pd_cpu_of(i, r->cpu, r->tid);
	bool ok = true;

	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ok = on_map(i, r, ts);
		break;
	case PERF_RECORD_COMM:
		on_comm(i, r, cpu, ts);
		break;
	case PERF_RECORD_FORK:
		import_on_fork(i, r, cpu, ts, no_time);
		break;
	case PERF_RECORD_EXIT:
		on_end(i, r->task.tid, cpu, ts);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		if (i->begun)
			on_lost(i, r, cpu, ts);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (i->switch_records && i->begun)
			pd_switched(i, r, ts);
		break;
	}
	if (i->begun && !no_time)
		pd_cpu(i, cpu)->last_ts = ts;
	return ok;
}

/* False: it is damaged. */
static bool pd_take(struct pd_import *i, const struct pd_attr *a, const uint8_t *rec, size_t len,
		    uint64_t ts, bool no_time)
{
	struct perf_record r;

	if (a->role == PD_OFFCPU && pd_is_sample(rec)) {
		if (!pd_wait_parse(a, rec, len, &r))
			return false;
		pd_wait_over(i, &r, ts);
		return true;
	}
	if (perf_record_parse(&a->a, rec, len, &r))
		return false;
	if (r.type != PERF_RECORD_SAMPLE)
		return on_other(i, &r, ts, no_time);
	import_on_sample(i, a, &r, ts);
	return true;
}

void pd_event(void *import, const uint8_t *rec, size_t len, uint64_t ts)
{
	struct pd_import *i = import;
	const struct pd_attr *a = pd_attr_of(i->f, rec, len);
	bool no_time = !ts, sample = pd_is_sample(rec);

	if (!a || ts >= PD_NO_TIME || (i->f->last_sample && i->scheduler && ts > i->f->last_sample))
		return;
	/* The scheduler's tracepoints are switched on later than what tells of threads. */
	if (!i->begun && ts && (!i->scheduler || (sample && a->role != PD_NOTHING)))
		pd_begin(i,
			 i->waits && pd_waits_first(i->waits) < ts ? pd_waits_first(i->waits) : ts);
	if (no_time)
		ts = i->s.last_ts;
	else if (i->waits && i->begun)
		pd_waits_until(i, ts);
	if (sample && (!i->begun || a->role == PD_NOTHING))
		return;
	if (!pd_take(i, a, rec, len, ts, no_time))
		i->damaged++;
}
