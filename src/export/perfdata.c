// SPDX-License-Identifier: MIT
/*
 * perf.data, for perf report, perf script and hotspot: samples as the event cpu-clock, waits as
 * offcpu-time with the nanoseconds waited as their period, as `perf record --off-cpu` has it.
 *
 * The size of the records stands before them, and the file may be a pipe: so the capture is walked
 * twice, the first time only to count. Both walks must do the same.
 *
 * perf wants addresses, a capture has places in modules: each goes where the process has mapped the
 * module at that moment, if the capture says so, and otherwise where nothing else is. A wait is
 * handed out after its end, so mappings from before an exec() are kept.
 */
#include "export/perfdata.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "store/reader.h"
#include "wire/meta.h"

#define PATH_MAX_BYTES (PATH_MAX - 1u)
/* Addresses for modules without a known mapping: above what processes use, 4 GiB each. */
#define MADE_UP 0x600000000000ull
#define MADE_UP_BYTES (1ull << 32)
#define NOBODY UINT32_MAX

struct perf_range {
	uint64_t addr, len, pgoff;
	uint32_t module;
};

/* What a process has mapped since it began its program. */
struct perf_space {
	struct perf_space *before; /* of the last one */
	uint64_t since;
	VEC(struct perf_range) r;
	struct map by_module; /* -> index of the latest + 1 */
};

struct perfdata {
	const struct export_job *job;
	bool counting;
	uint64_t bytes;
	struct buf rec;
	struct map spaces; /* pid -> struct perf_space * */
	struct map pids;   /* of tids */
	uint64_t period;
};

/* ---- records ---- */

static void u32(struct perfdata *p, uint32_t v)
{
	buf_put(&p->rec, &v, sizeof(v));
}

static void u64(struct perfdata *p, uint64_t v)
{
	buf_put(&p->rec, &v, sizeof(v));
}

static void perfdata_begin(struct perfdata *p, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = {.type = type, .misc = misc};

	buf_clear(&p->rec);
	buf_put(&p->rec, &h, sizeof(h));
}

/* Padded to eight bytes, at least one of them NUL. */
static void perfdata_text(struct perfdata *p, const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	buf_put(&p->rec, s, n);
	do
		buf_put_u8(&p->rec, 0);
	while (p->rec.len % 8);
}

static int perfdata_end(struct perfdata *p)
{
	uint16_t size = (uint16_t)p->rec.len;

	memcpy(p->rec.p + offsetof(struct perf_event_header, size), &size, sizeof(size));
	p->bytes += p->rec.len;
	if (!p->counting && fwrite(p->rec.p, 1, p->rec.len, p->job->out) != p->rec.len)
		return -EIO;
	return 0;
}

static void when_and_where(struct perfdata *p, uint64_t ts, uint32_t cpu)
{
	uint64_t has = perfdata_sample(p->job);

	if (has & PERF_SAMPLE_TIME)
		u64(p, ts);
	if (has & PERF_SAMPLE_CPU) {
		u32(p, cpu);
		u32(p, 0);
	}
}

/* Ends a record that is no sample. */
static int end_with(struct perfdata *p, uint32_t pid, uint32_t tid, uint64_t ts, uint32_t cpu)
{
	u32(p, pid);
	u32(p, tid);
	when_and_where(p, ts, cpu);
	u64(p, perfdata_cpu(p->job) ? PERFDATA_CPU : PERFDATA_WAIT);
	return perfdata_end(p);
}

static int put_map(struct perfdata *p, uint32_t pid, const struct perf_range *r, uint64_t ts)
{
	const struct module *m = reader_module(p->job->reader, r->module);
	uint8_t id[24] = {0};
	uint16_t misc = PERF_RECORD_MISC_USER;

	if (m && m->kind == MODULE_FILE && m->build_id_len && m->build_id_len <= 20) {
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		id[0] = m->build_id_len;
		memcpy(id + 4, m->build_id, m->build_id_len);
	}
	perfdata_begin(p, PERF_RECORD_MMAP2, misc);
	u32(p, pid);
	u32(p, pid);
	u64(p, r->addr);
	u64(p, r->len);
	u64(p, r->pgoff);
	buf_put(&p->rec, id, sizeof(id));
	u32(p, PROT_READ | PROT_EXEC);
	u32(p, MAP_PRIVATE);
	perfdata_text(p,
		      !m || !m->path || m->kind == MODULE_UNKNOWN ? "//anon"
		      : m->kind == MODULE_ANON			  ? "//anon"
								  : m->path,
		      PATH_MAX_BYTES);
	return end_with(p, pid, pid, ts, 0);
}

/* perf compares the address of _text to find out how far the kernel was moved at boot. */
static int put_kernel_map(struct perfdata *p)
{
	const char *at = reader_meta(p->job->reader, META_KERNEL_TEXT, 0);
	const struct arch *a = arch_find(reader_meta(p->job->reader, META_MACHINE, 0));

	if (!a)
		return 0;
	perfdata_begin(p, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	u32(p, NOBODY);
	u32(p, 0);
	u64(p, a->kernel_begin);
	u64(p, a->kernel_end - a->kernel_begin);
	u64(p, at ? strtoull(at, NULL, 16) : 0);
	perfdata_text(p, "[kernel.kallsyms]_text", PATH_MAX_BYTES);
	return end_with(p, NOBODY, 0, 0, 0);
}

static int put_comm(struct perfdata *p, uint32_t tid, const char *name, bool exec, uint64_t ts,
		    uint32_t cpu)
{
	uint64_t *pid = map_get(&p->pids, tid);
	uint32_t of = pid ? (uint32_t)*pid : tid;

	if (!name || !*name)
		return 0;
	perfdata_begin(p, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	u32(p, of);
	u32(p, tid);
	perfdata_text(p, name, 15);
	return end_with(p, of, tid, ts, cpu);
}

static int put_task(struct perfdata *p, uint32_t type, uint32_t tid, uint32_t parent, uint64_t ts,
		    uint32_t cpu)
{
	uint64_t *pid = map_get(&p->pids, tid), *ppid = map_get(&p->pids, parent);
	uint32_t of = pid ? (uint32_t)*pid : tid, pof = ppid ? (uint32_t)*ppid : parent;

	perfdata_begin(p, type, 0);
	u32(p, of);
	u32(p, pof);
	u32(p, tid);
	u32(p, parent);
	u64(p, ts);
	return end_with(p, pof, parent, ts, cpu);
}

/* ---- where modules are ---- */

static struct perf_space *space_new(struct perfdata *p, uint32_t pid, uint64_t since)
{
	uint64_t *slot = map_put(&p->spaces, pid, NULL);
	struct perf_space *s = mem_zalloc(sizeof(*s));

	s->before = (struct perf_space *)(uintptr_t)*slot;
	s->since = since;
	*slot = (uintptr_t)s;
	return s;
}

/* The mappings at that moment. */
static struct perf_space *space_at(struct perfdata *p, uint32_t pid, uint64_t ts)
{
	uint64_t *slot = map_get(&p->spaces, pid);
	struct perf_space *s = slot ? (struct perf_space *)(uintptr_t)*slot : space_new(p, pid, 0);

	while (s->before && s->since > ts)
		s = s->before;
	return s;
}

static void add_range(struct perf_space *s, struct perf_range r)
{
	vec_push(&s->r, r);
	*map_put(&s->by_module, r.module, NULL) = s->r.n;
}

static void spaces_free(struct perfdata *p)
{
	struct map_slot *slot;

	for (size_t i = 0; map_next(&p->spaces, &i, &slot);) {
		struct perf_space *s = (struct perf_space *)(uintptr_t)slot->val;

		while (s) {
			struct perf_space *before = s->before;

			vec_done(&s->r);
			map_done(&s->by_module);
			free(s);
			s = before;
		}
	}
	map_done(&p->spaces);
	map_done(&p->pids);
}

static bool perfdata_holds(const struct perf_range *r, uint32_t module, uint64_t offset)
{
	return r->module == module && offset >= r->pgoff && offset - r->pgoff < r->len;
}

static const struct perf_range *perfdata_find(const struct perf_space *s, uint32_t module,
					      uint64_t offset)
{
	uint64_t *at = map_get(&s->by_module, module);

	if (!at)
		return NULL;
	for (size_t i = *at; i-- > 0;)
		if (perfdata_holds(&s->r.v[i], module, offset))
			return &s->r.v[i];
	return NULL;
}

/* Makes up a mapping for a module that has none in the capture. */
static int make_up(struct perfdata *p, struct perf_space *s, uint32_t pid, const struct frame *f,
		   uint64_t ts, const struct perf_range **ret)
{
	struct perf_range r = {.addr = MADE_UP + (f->module & 0xfff) * MADE_UP_BYTES,
			       .len = MADE_UP_BYTES,
			       .pgoff = f->offset & ~(MADE_UP_BYTES - 1),
			       .module = f->module};

	add_range(s, r);
	*ret = &s->r.v[s->r.n - 1];
	return put_map(p, pid, &r, ts);
}

/* The address of a user frame in the process's mappings at that time. */
static int address_of(struct perfdata *p, uint32_t pid, const struct frame *f, uint64_t ts,
		      uint64_t *ret)
{
	const struct module *m = reader_module(p->job->reader, f->module);
	const struct perf_range *r;
	struct perf_space *s;
	int rc = 0;

	*ret = f->offset;
	/* The mark of a guess gets a mapping of its own, since perf names frames by address. */
	if (!m || (m->kind != MODULE_FILE && m->kind != MODULE_VDSO && m->kind != MODULE_GUESS))
		return 0;
	s = space_at(p, pid, ts);
	r = perfdata_find(s, f->module, f->offset);
	if (!r)
		rc = make_up(p, s, pid, f, ts, &r);
	*ret = r->addr + (f->offset - r->pgoff);
	return rc;
}

/* ---- samples ---- */

struct addresses {
	uint64_t v[2 * STACK_FRAMES_MAX + 2];
	size_t n;
};

static int perfdata_add_stack(struct perfdata *p, struct addresses *c, uint32_t stack,
			      uint64_t context, uint32_t pid, uint64_t ts)
{
	const struct frame *f;
	size_t n = reader_stack(p->job->reader, stack, &f);

	if (!n)
		return 0;
	n = n < STACK_FRAMES_MAX ? n : STACK_FRAMES_MAX;
	c->v[c->n++] = context;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = f[i].offset;
		int rc = 0;

		if (context == (uint64_t)PERF_CONTEXT_USER)
			rc = address_of(p, pid, &f[i], ts, &at);
		if (rc)
			return rc;
		/* perf wants return addresses; a capture has the calls before them. */
		c->v[c->n++] = at + (i > 0);
	}
	return 0;
}

struct taken {
	const struct thread *th;
	uint64_t ts, id, period;
	uint32_t cpu, kstack, ustack;
};

static int perfdata_put_sample(struct perfdata *p, const struct taken *t)
{
	uint32_t pid = t->th->pid ? t->th->pid : t->th->tid;
	struct addresses c = {.n = 0};
	int rc = perfdata_add_stack(p, &c, t->kstack, (uint64_t)PERF_CONTEXT_KERNEL, pid, t->ts);
	bool kernel = c.n;

	rc = rc ? rc
		: perfdata_add_stack(p, &c, t->ustack, (uint64_t)PERF_CONTEXT_USER, pid, t->ts);
	if (rc)
		return rc;
	perfdata_begin(p, PERF_RECORD_SAMPLE,
		       kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	u64(p, t->id);
	u64(p, c.n ? c.v[1] : 0);
	u32(p, pid);
	u32(p, t->th->tid);
	when_and_where(p, t->ts, t->cpu);
	u64(p, t->period);
	u64(p, c.n);
	buf_put(&p->rec, c.v, c.n * sizeof(c.v[0]));
	return perfdata_end(p);
}

static int perfdata_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			      uint32_t row)
{
	struct perfdata *p = arg;
	const struct sample_row *r = &p->job->model->tally.samples.v[row];
	struct taken t = {.th = th,
			  .ts = ts,
			  .id = PERFDATA_CPU,
			  .period = p->period,
			  .cpu = cpu,
			  .kstack = r->kstack,
			  .ustack = r->ustack};

	return export_wants(p->job, th) ? perfdata_put_sample(p, &t) : 0;
}

static int perfdata_on_interval(void *arg, const struct interval *iv)
{
	struct perfdata *p = arg;
	const struct export_job *job = p->job;
	struct taken t = {.th = iv->thread,
			  .ts = iv->end,
			  .id = PERFDATA_WAIT,
			  .period = iv->end - iv->start,
			  .kstack = iv->kstack,
			  .ustack = iv->ustack};

	if (iv->kind != INTERVAL_WAITING || !export_wants(job, iv->thread))
		return 0;
	if (!EXPORT_HAS(job->kinds, EXPORT_WAIT) &&
	    !reason_has(job->model->tally.waits.v[iv->row].verdict.reason, TRAIT_LOCK))
		return 0;
	return perfdata_put_sample(p, &t);
}

/* ---- who is who ---- */

static void set_pid(struct perfdata *p, uint32_t tid, uint32_t pid)
{
	*map_put(&p->pids, tid, NULL) = pid ? pid : tid;
}

/* A new process starts with its parent's mappings. */
static void inherit(struct perfdata *p, uint32_t pid, uint32_t parent, uint64_t ts)
{
	uint64_t *of = map_get(&p->pids, parent);
	const struct perf_space *from = space_at(p, of ? (uint32_t)*of : parent, ts);
	struct perf_space *s = space_new(p, pid, ts);

	for (size_t i = 0; i < from->r.n; i++)
		add_range(s, from->r.v[i]);
}

static int perfdata_on_fork(struct perfdata *p, const struct event *ev)
{
	const struct ev_fork *f = &ev->fork;
	int rc;

	set_pid(p, f->tid, f->pid);
	if (f->tid == f->pid)
		inherit(p, f->pid, f->parent, ev->ts);
	rc = put_task(p, PERF_RECORD_FORK, f->tid, f->parent, ev->ts, ev->cpu);
	return rc ? rc : put_comm(p, f->tid, f->name, false, ev->ts, ev->cpu);
}

static int on_exec(struct perfdata *p, const struct event *ev)
{
	uint64_t *pid = map_get(&p->pids, ev->exec.old_tid);

	if (pid)
		set_pid(p, ev->exec.tid, (uint32_t)*pid);
	pid = map_get(&p->pids, ev->exec.tid);
	space_new(p, pid ? (uint32_t)*pid : ev->exec.tid, ev->ts);
	return put_comm(p, ev->exec.tid, ev->exec.name, true, ev->ts, ev->cpu);
}

static int on_map(struct perfdata *p, const struct event *ev)
{
	struct perf_range r = {.addr = ev->map.addr,
			       .len = ev->map.len,
			       .pgoff = ev->map.pgoff,
			       .module = ev->map.module};
	const struct module *m = reader_module(p->job->reader, r.module);

	if (!m || r.addr + r.len < r.addr)
		return 0;
	/* Places in the vDSO are counted from its start. */
	if (m->kind == MODULE_VDSO)
		r.pgoff = 0;
	add_range(space_at(p, ev->map.pid, ev->ts), r);
	return put_map(p, ev->map.pid, &r, ev->ts);
}

static int perfdata_on_event(void *arg, const struct event *ev, bool inside)
{
	struct perfdata *p = arg;

	switch (ev->kind) {
	case EV_THREAD:
		set_pid(p, ev->thread.tid, ev->thread.pid);
		return put_comm(p, ev->thread.tid, ev->thread.name, false, ev->ts, ev->cpu);
	case EV_FORK:
		return perfdata_on_fork(p, ev);
	case EV_EXEC:
		return on_exec(p, ev);
	case EV_RENAME:
		return put_comm(p, ev->rename.tid, ev->rename.name, false, ev->ts, ev->cpu);
	case EV_EXIT:
		return put_task(p, PERF_RECORD_EXIT, ev->exit.tid, ev->exit.tid, ev->ts, ev->cpu);
	case EV_MAP:
		return on_map(p, ev);
	}
	return 0;
}

/* ---- both walks ---- */

struct half {
	const struct export_job *job;
	double from;
};

static void perfdata_show(void *arg, double done)
{
	const struct half *h = arg;

	h->job->progress(h->job->progress_arg, h->from + done / 2);
}

static int perfdata_walk(const struct export_job *job, bool counting, uint64_t *ret_bytes)
{
	uint64_t hz = job->model->facts.freq_hz;
	struct perfdata p = {.job = job,
			     .counting = counting,
			     .period = hz && hz <= NSEC_PER_SEC ? NSEC_PER_SEC / hz : 1};
	struct half half = {.job = job, .from = counting ? 0 : 0.5};
	struct walk w = {.event = perfdata_on_event,
			 .sample = perfdata_cpu(job) ? perfdata_on_sample : NULL,
			 .interval = perfdata_waits(job) ? perfdata_on_interval : NULL,
			 .arg = &p,
			 .progress = job->progress ? perfdata_show : NULL,
			 .progress_arg = &half};
	int rc = put_kernel_map(&p);

	rc = rc ? rc : model_walk(job->model, job->reader, &w);
	if (rc == -EIO)
		rc = err_set(-EIO, "writing it failed");
	spaces_free(&p);
	buf_done(&p.rec);
	*ret_bytes = p.bytes;
	return rc;
}

static int perfdata_export_run(const struct export_job *job)
{
	uint64_t bytes, written;
	int rc = perfdata_walk(job, true, &bytes);

	if (rc)
		return rc;
	perfdata_head(job, bytes);
	rc = perfdata_walk(job, false, &written);
	if (!rc && written != bytes)
		rc = err_set(-EIO, "the capture has changed while it was read");
	if (!rc)
		perfdata_tail(job, bytes);
	return rc;
}

const struct exporter export_perfdata = {
	.name = "perfdata",
	.words = "perf.data, for perf report, perf script and hotspot",
	.suffix = ".data",
	.binary = true,
	.kinds = EXPORT_ALL,
	.run = perfdata_export_run,
};
