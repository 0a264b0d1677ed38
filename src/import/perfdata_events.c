// SPDX-License-Identifier: MIT
/*
 * Records in the order of time become events. Threads and mappings that were there before stand in
 * the file with the time 0: they are told when the recording begins, as is what came before.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "capture/perf_stream.h"
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
static uint32_t walk(struct pd_import *i, const struct pd_sample *s)
{
	struct perf_record r = {.pid = s->pid, .tid = s->tid};
	uint64_t ips[STACK_FRAMES_MAX];
	enum unwind_stop stop;
	size_t n;

	r.sample.user = true;
	r.sample.bx = s->bx;
	r.sample.di = s->di;
	r.sample.bp = s->bp;
	r.sample.sp = s->sp;
	r.sample.ip = s->pc;
	r.sample.stack = s->stack;
	r.sample.stack_len = s->n_stack;
	if (!i->copy)
		i->copy = mem_zalloc(sizeof(*i->copy));
	perf_stream_copy(&r, i->copy);
	pd_process_known(i, s->pid);
	n = tables_walk(i->tables, i->copy, ips, STACK_FRAMES_MAX, &stop);
	return user_stack(i, s->pid, ips, n, stop);
}

void pd_stacks(struct pd_import *i, const struct pd_sample *s, uint32_t *ret_k, uint32_t *ret_u)
{
	uint64_t frames[2][STACK_FRAMES_MAX];
	size_t n[2] = {0};
	bool kernel = (s->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	bool skip = false;

	for (uint64_t k = 0; k < s->n_chain; k++) {
		uint64_t ip;

		memcpy(&ip, s->chain + 8 * k, sizeof(ip));
		/* Markers say whose the following addresses are. */
		if (ip >= PERF_CONTEXT_MAX) {
			kernel = ip == PERF_CONTEXT_KERNEL;
			skip = !kernel && ip != PERF_CONTEXT_USER;
		} else if (!skip && n[kernel] < STACK_FRAMES_MAX) {
			frames[kernel][n[kernel]++] = ip;
		}
	}
	if (!n[0] && !n[1] && s->ip)
		frames[kernel][n[kernel]++] = s->ip;
	*ret_k = kernel_stack(i, frames[1], n[1]);
	*ret_u = i->tables && s->user && s->pid
			 ? walk(i, s)
			 : user_stack(i, s->pid, frames[0], n[0], UNWIND_STOP_NONE);
}

/* ---- records ---- */

static void on_sample(struct pd_import *i, const struct pd_attr *a, const uint8_t *rec, size_t len,
		      uint64_t ts)
{
	struct pd_sample s;
	struct event ev = {.ts = ts, .kind = EV_SAMPLE};

	if (a->role == PD_NOTHING)
		return;
	if (!pd_sample_parse(a, rec, len, &s)) {
		i->damaged++;
		return;
	}
	if (a->role == PD_OFFCPU) {
		pd_wait_over(i, &s, ts);
		return;
	}
	pd_cpu(i, pd_cpu_of(i, s.cpu, s.tid))->last_ts = ts;
	if (a->role != PD_SAMPLE) {
		pd_sched(i, a, &s, ts);
		return;
	}
	if (!s.tid || s.tid == PD_NOBODY) {
		i->idle++;
		return;
	}
	pd_tell_thread(i, s.tid, s.pid, ts);
	ev.cpu = pd_cpu_of(i, s.cpu, s.tid);
	ev.sample.tid = s.tid;
	pd_stacks(i, &s, &ev.sample.kstack, &ev.sample.ustack);
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

static bool on_map(struct pd_import *i, const struct perf_event_header *h, struct cursor c,
		   uint64_t ts)
{
	const uint8_t *who = NULL;
	uint32_t pid = cur_u32(&c), prot = PROT_EXEC;
	struct mapping m = {0};
	struct event ev = {.ts = ts, .kind = EV_MAP};

	cur_skip(&c, 4);
	m.start = cur_u64(&c);
	m.len = cur_u64(&c);
	m.pgoff = cur_u64(&c);
	if (h->type == PERF_RECORD_MMAP2) {
		who = cur_bytes(&c, 24); /* size and build id, or device and inode */
		prot = cur_u32(&c);
		cur_skip(&c, 4);
	} else if (h->misc & PERF_RECORD_MISC_MMAP_DATA) {
		prot = 0;
	}
	m.path = (const char *)c.base + c.pos;
	if (!cur_left(&c) || !memchr(m.path, '\0', cur_left(&c)) || m.start + m.len < m.start)
		return false;
	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL ||
	    pid == PD_NOBODY) {
		on_kernel_map(i, m.pgoff, m.path);
		return true;
	}
	if (!(prot & PROT_EXEC))
		return true;
	if (who && h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && who[0] <= BUILD_ID_MAX) {
		m.build_id = who + 4;
		m.build_id_len = who[0];
	} else {
		m.build_id = build_id_of(i, m.path)->id;
		m.build_id_len = build_id_of(i, m.path)->len;
	}
	pd_process_known(i, pid);
	ev.map = (struct ev_map){.pid = pid, .addr = m.start, .len = m.len, .pgoff = m.pgoff};
	ev.map.module = procs_map(i->s.procs, pid, &m);
	tables_mapped(i->tables, pid);
	if (i->begun)
		sink_put(&i->s, &ev);
	return true;
}

static bool on_comm(struct pd_import *i, const struct perf_event_header *h, struct cursor c,
		    uint16_t cpu, uint64_t ts)
{
	uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
	size_t n = cur_left(&c) < 16 ? cur_left(&c) : 16;
	bool exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
	struct event ev = {.ts = ts, .kind = exec ? EV_EXEC : EV_RENAME, .cpu = cpu};
	struct pd_thread *t;

	if (!cur_ok(&c))
		return false;
	if (tid == PD_NOBODY || !tid)
		return true;
	t = pd_thread(i, tid, pid);
	memset(t->comm, 0, sizeof(t->comm));
	cur_copy(&c, t->comm, n);
	if (exec) {
		pd_process_known(i, pid);
		procs_exec(i->s.procs, pid);
		tables_exec(i->tables, pid, 0);
	}
	if (!t->told && i->begun)
		pd_introduce(i, t, ts);
	if (!t->told)
		return true;
	if (exec)
		ev.exec = (struct ev_exec){.tid = tid, .old_tid = tid, .name = t->comm};
	else
		ev.rename = (struct ev_rename){.tid = tid, .name = t->comm};
	sink_put(&i->s, &ev);
	return true;
}

static bool on_fork(struct pd_import *i, struct cursor c, uint16_t cpu, uint64_t ts, bool no_time)
{
	uint32_t pid = cur_u32(&c), ppid = cur_u32(&c), tid = cur_u32(&c), ptid = cur_u32(&c);
	struct event ev = {.ts = ts, .kind = EV_FORK, .cpu = cpu};
	struct pd_thread *t, *parent;

	if (!cur_ok(&c))
		return false;
	if (!tid || tid == PD_NOBODY)
		return true;
	if (no_time) {
		t = pd_thread(i, tid, pid);
		t->kernel = ppid == 2 || pid == 2;
		return true;
	}
	pd_forget(i, tid); /* somebody else had the number before */
	if (pid != ppid) {
		pd_process_known(i, ppid);
		procs_fork(i->s.procs, pid, ppid);
		tables_fork(i->tables, pid);
	}
	t = pd_thread(i, tid, pid);
	parent = pd_thread_known(i, ptid);
	if (parent && !t->comm[0])
		memcpy(t->comm, parent->comm, sizeof(t->comm));
	if (!i->begun)
		return true;
	t->told = true;
	ev.fork = (struct ev_fork){.tid = tid, .pid = pid, .parent = ptid, .name = t->comm};
	sink_put(&i->s, &ev);
	pd_runs(i, t, ts);
	return true;
}

static bool on_end(struct pd_import *i, struct cursor c, uint16_t cpu, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_EXIT, .cpu = cpu};
	struct pd_thread *t;
	uint32_t tid;

	cur_skip(&c, 8);
	tid = cur_u32(&c);
	if (!cur_ok(&c))
		return false;
	t = pd_thread_known(i, tid);
	if (!i->begun)
		pd_forget(i, tid);
	if (!i->begun || !t || t->dying || !t->told)
		return true;
	ev.exit.tid = tid;
	sink_put(&i->s, &ev);
	t->dying = true;
	/* Without a CPU's own records its last switch is not told. */
	if (i->switch_records && !i->wide) {
		pd_emit_switch(i, ts, cpu, tid, PD_NOBODY, STATE_DEAD);
		pd_cpu(i, cpu)->tid = PD_NOBODY;
	}
	pd_bury(i, t);
	return true;
}

static bool on_lost(struct pd_import *i, uint32_t type, struct cursor c, uint16_t cpu, uint64_t ts)
{
	struct pd_cpu *now = pd_cpu(i, cpu);
	struct ev_lost lost = {.cause = LOSS_RING_FULL, .kind = i->has_switches ? 0 : EV_SAMPLE};

	cur_skip(&c, type == PERF_RECORD_LOST ? 8 : 0);
	lost.count = cur_u64(&c);
	if (!cur_ok(&c))
		return false;
	/* Both count the same, if both are there. */
	if (type == PERF_RECORD_LOST)
		i->lost_told = true;
	else if (i->lost_told)
		return true;
	else
		lost.cause = LOSS_THROTTLED;
	sink_lost(&i->s, ts, cpu, &lost);
	if (type == PERF_RECORD_LOST && i->has_switches && now->last_ts < ts) {
		lost.count = 0;
		lost.kind = 0;
		lost.span_ns = ts - now->last_ts;
		sink_lost(&i->s, ts, cpu, &lost);
		now->tid = PD_NOBODY;
	}
	return true;
}

static bool on_other(struct pd_import *i, const struct pd_attr *a,
		     const struct perf_event_header *h, const uint8_t *rec, size_t len, uint64_t ts,
		     bool no_time)
{
	struct pd_context ctx;
	struct cursor c;
	size_t body;
	uint16_t cpu;
	bool ok = true;

	if (!pd_context_parse(a, rec, len, &ctx, &body))
		return false;
	cpu = pd_cpu_of(i, ctx.cpu, ctx.tid);
	c = cur_init(rec + sizeof(*h), body - sizeof(*h));
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ok = on_map(i, h, c, ts);
		break;
	case PERF_RECORD_COMM:
		ok = on_comm(i, h, c, cpu, ts);
		break;
	case PERF_RECORD_FORK:
		ok = on_fork(i, c, cpu, ts, no_time);
		break;
	case PERF_RECORD_EXIT:
		ok = on_end(i, c, cpu, ts);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		ok = !i->begun || on_lost(i, h->type, c, cpu, ts);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (i->switch_records && i->begun)
			ok = pd_switched(i, h, c, &ctx, ts);
		break;
	}
	if (i->begun && !no_time)
		pd_cpu(i, cpu)->last_ts = ts;
	return ok;
}

void pd_event(void *import, const uint8_t *rec, size_t len, uint64_t ts)
{
	struct pd_import *i = import;
	const struct pd_attr *a = pd_attr_of(i->f, rec, len);
	struct perf_event_header h;
	bool no_time = !ts;

	memcpy(&h, rec, sizeof(h));
	if (!a || ts >= PD_NO_TIME || (i->f->last_sample && i->scheduler && ts > i->f->last_sample))
		return;
	/* The scheduler's tracepoints are switched on later than what tells of threads. */
	if (!i->begun && ts &&
	    (!i->scheduler || (h.type == PERF_RECORD_SAMPLE && a->role != PD_NOTHING)))
		pd_begin(i,
			 i->waits && pd_waits_first(i->waits) < ts ? pd_waits_first(i->waits) : ts);
	if (no_time)
		ts = i->s.last_ts;
	else if (i->waits && i->begun)
		pd_waits_until(i, ts);
	if (h.type == PERF_RECORD_SAMPLE && i->begun)
		on_sample(i, a, rec, len, ts);
	else if (h.type == PERF_RECORD_SAMPLE)
		return;
	else if (!on_other(i, a, &h, rec, len, ts, no_time))
		i->damaged++;
}
