// SPDX-License-Identifier: MIT
/*
 * A trace for Perfetto (ui.perfetto.dev, trace_processor): a protobuf message `Trace`, which is one
 * packet after the other.
 *
 *   clocks     Perfetto keeps its time in CLOCK_BOOTTIME, a capture in CLOCK_MONOTONIC, which
 *              stands still while the machine is suspended. The capture says for how long it had
 *              been (one that does not, of an older thaw: not at all). Should it be suspended
 *              during the recording, times after that are those of the clock that stood still.
 *              The wall clock is given as the capture has it.
 *   scheduler  perfetto_sched.c
 *   tasks      perfetto_tasks.c: threads and processes, their start and end
 *   samples    as PerfSample, which all versions of Perfetto read (stack_sample came with v58)
 *   slices     perfetto_slices.c: waits, locks, stalls
 *   losses     perfetto_losses.c: slices too, and what Perfetto itself counts as loss of data
 *
 * Packets are written as the capture is walked; what is kept are names and distinct stacks.
 */
#include "export/perfetto.h"

#include "base/err.h"
#include "base/pb.h"
#include "base/text.h"
#include "store/reader.h"
#include "wire/meta.h"

#define OUT_BYTES (64u << 10)
/* Events between two checks whether writing failed. */
#define ASK_EVERY 4096u

enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6 };
/* TracePacket.sequence_flags */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };

static void perfetto_flush(struct perfetto *p)
{
	fwrite(p->out.p, 1, p->out.len, p->job->out);
	buf_clear(&p->out);
}

size_t perfetto_packet(struct perfetto *p, uint64_t ts, enum perfetto_writer writer)
{
	size_t at = pb_begin(&p->out, 1); /* packet */

	pb_some(&p->out, 8, ts ? ts + p->suspended : 0); /* timestamp */
	pb_u64(&p->out, 10, writer);			 /* trusted_packet_sequence_id */
	if (writer != WRITER_EVENTS)
		return at;
	pb_u64(&p->out, 13, NEEDS_STATE); /* sequence_flags */
	if (p->fresh.len) {
		pb_bytes(&p->out, 12, p->fresh.p, p->fresh.len); /* interned_data */
		buf_clear(&p->fresh);
	}
	return at;
}

void perfetto_packet_end(struct perfetto *p, size_t at)
{
	pb_end(&p->out, at);
	if (p->out.len >= OUT_BYTES)
		perfetto_flush(p);
}

void perfetto_str(struct perfetto *p, struct buf *b, unsigned field, const char *s)
{
	buf_clear(&p->scratch);
	text_put_clean(&p->scratch, s);
	pb_bytes(b, field, p->scratch.p, p->scratch.len);
}

const struct thread *perfetto_thread(const struct perfetto *p, uint32_t tid)
{
	return timeline_thread(&p->m->timeline, tid);
}

static void put_clock(struct perfetto *p, unsigned id, uint64_t ns)
{
	size_t at = pb_begin(&p->out, 1); /* clocks */

	pb_u64(&p->out, 1, id); /* clock_id */
	pb_u64(&p->out, 2, ns); /* timestamp */
	pb_end(&p->out, at);
}

static void put_clocks(struct perfetto *p)
{
	uint64_t wall = model_unix_ns(p->m, p->from);
	size_t packet = perfetto_packet(p, p->from, WRITER_SYSTEM);
	size_t at = pb_begin(&p->out, 6); /* clock_snapshot */

	put_clock(p, CLOCK_ID_BOOTTIME, p->from + p->suspended);
	put_clock(p, CLOCK_ID_MONOTONIC, p->from);
	if (wall)
		put_clock(p, CLOCK_ID_REALTIME, wall);
	pb_u64(&p->out, 2, CLOCK_ID_BOOTTIME); /* primary_trace_clock */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

/* The meaning of thread states depends on the kernel, that of call numbers on the architecture. */
static void put_system(struct perfetto *p)
{
	const char *machine = reader_meta(p->job->reader, META_MACHINE, 0);
	size_t packet, at, name;

	if (!p->kernel_known)
		return;
	packet = perfetto_packet(p, p->from, WRITER_SYSTEM);
	at = pb_begin(&p->out, 45);			 /* system_info */
	name = pb_begin(&p->out, 1);			 /* utsname */
	pb_str(&p->out, 1, "Linux");			 /* sysname */
	perfetto_str(p, &p->out, 3, p->m->facts.kernel); /* release */
	if (machine)
		perfetto_str(p, &p->out, 4, machine); /* machine */
	pb_end(&p->out, name);
	pb_some(&p->out, 8, p->m->facts.cpus); /* num_cpus */
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
}

/* The writer's first packet has the defaults for the others. */
static void put_defaults(struct perfetto *p)
{
	uint64_t hz = p->m->facts.freq_hz;
	size_t packet = pb_begin(&p->out, 1), at, perf, base;

	pb_u64(&p->out, 8, p->from + p->suspended);
	pb_u64(&p->out, 10, WRITER_EVENTS);
	pb_u64(&p->out, 13, STATE_CLEARED | NEEDS_STATE);
	at = pb_begin(&p->out, 59);	  /* trace_packet_defaults */
	perf = pb_begin(&p->out, 12);	  /* perf_sample_defaults */
	base = pb_begin(&p->out, 1);	  /* timebase */
	pb_some(&p->out, 2, hz);	  /* frequency */
	pb_u64(&p->out, 4, 1);		  /* counter: SW_CPU_CLOCK */
	pb_str(&p->out, 10, "cpu-clock"); /* name */
	pb_end(&p->out, base);
	pb_end(&p->out, perf);
	pb_end(&p->out, at);
	pb_u64(&p->out, 87, 1); /* first_packet_on_sequence */
	perfetto_packet_end(p, packet);
}

static int perfetto_on_event(void *arg, const struct event *ev, bool inside)
{
	struct perfetto *p = arg;
	int rc;

	holders_event(&p->holders, ev);
	rc = perfetto_sched_event(p, ev, inside);
	if (!rc && ev->kind == EV_KLOCKED && inside && !p->ended)
		perfetto_klocked(p, ev);
	if (ev->kind == EV_LOST)
		perfetto_loss(p, ev);
	if (ev->kind == EV_MARK && ev->mark.what == MARK_END)
		p->ended = true;
	if (!rc && ++p->events % ASK_EVERY == 0)
		rc = export_written(p->job);
	return rc;
}

static int perfetto_on_interval(void *arg, const struct interval *iv)
{
	struct perfetto *p = arg;

	if (!export_wants(p->job, iv->thread))
		return 0;
	if (p->scheduling && iv->kind == INTERVAL_RUNNING && iv->cpu >= PERFETTO_CPUS)
		return err_set(-E2BIG, "Perfetto knows no more than %u CPUs", PERFETTO_CPUS);
	perfetto_sched_interval(p, iv);
	if (iv->kind == INTERVAL_WAITING)
		perfetto_wait(p, iv);
	else if (iv->kind == INTERVAL_LOST)
		perfetto_lost_time(p, iv);
	return 0;
}

static int perfetto_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			      uint32_t row)
{
	struct perfetto *p = arg;
	const struct sample_row *r = &p->m->tally.samples.v[row];
	bool knows_cpu = !(p->m->facts.unseen & UNSEEN_CPUS);
	uint64_t hz = p->m->facts.freq_hz, stack;
	size_t packet, at;

	if (!EXPORT_HAS(p->job->kinds, EXPORT_CPU) || !export_wants(p->job, th))
		return 0;
	stack = perfetto_stack(p, r->kstack, r->ustack, false);
	packet = perfetto_packet(p, ts, WRITER_EVENTS);
	at = pb_begin(&p->out, 66); /* perf_sample */
	if (knows_cpu)
		pb_u64(&p->out, 1, cpu);       /* cpu */
	pb_u64(&p->out, 2, th->pid);	       /* pid */
	pb_u64(&p->out, 3, th->tid);	       /* tid */
	pb_some(&p->out, 4, stack);	       /* callstack_iid */
	pb_u64(&p->out, 5, r->kstack ? 1 : 2); /* cpu_mode: MODE_KERNEL, MODE_USER */
	if (hz && knows_cpu && cpu < PERFETTO_CPUS) {
		uint64_t n = ++perfetto_cpu(p, cpu)->samples;

		pb_u64(&p->out, 6, n * 1000000000u / hz); /* timebase_count */
	}
	pb_end(&p->out, at);
	perfetto_packet_end(p, packet);
	return 0;
}

static int perfetto_on_seen(void *arg, const struct seen *seen)
{
	struct perfetto *p = arg;

	holders_seen(&p->holders, seen);
	return 0;
}

static uint64_t suspended_ns(const struct reader *r)
{
	const char *text = reader_meta(r, META_ASLEEP_NS, 0);

	return text ? strtoull(text, NULL, 10) : 0;
}

static void perfetto_done(struct perfetto *p)
{
	buf_done(&p->out);
	buf_done(&p->scratch);
	map_done(&p->processes);
	vec_done(&p->losses_end);
	holders_done(&p->holders);
	perfetto_intern_done(p);
	perfetto_slices_done(p);
	free(p->threads);
}

static int perfetto_run(const struct export_job *job)
{
	struct model *m = job->model;
	struct perfetto p = {
		.job = job,
		.m = m,
		.from = model_window_start(m),
		.to = model_window_start(m) + model_window_ns(m),
		.suspended = suspended_ns(job->reader),
		.kernel_known = *m->facts.kernel,
		.scheduling = !(m->facts.unseen & (UNSEEN_SWITCHES | UNSEEN_CPUS)),
		.threads = mem_zalloc((m->timeline.threads.n + 1) * sizeof(*p.threads)),
	};
	struct walk walk = {
		.event = perfetto_on_event,
		.interval = perfetto_on_interval,
		.sample = perfetto_on_sample,
		.seen = perfetto_on_seen,
		.arg = &p,
		.progress = job->progress,
		.progress_arg = job->progress_arg,
	};
	int rc;

	perfetto_tasks_begin(&p);
	put_clocks(&p);
	put_system(&p);
	put_defaults(&p);
	for (size_t i = 0; i < m->timeline.threads.n; i++)
		if (export_wants(job, m->timeline.threads.v[i]))
			perfetto_name(&p, m->timeline.threads.v[i]);
	perfetto_recording(&p);
	perfetto_slices_begin(&p);
	rc = model_walk(m, job->reader, &walk);
	perfetto_sched_finish(&p);
	perfetto_ends(&p);
	perfetto_bundles_done(&p);
	perfetto_flush(&p);
	perfetto_done(&p);
	return rc;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.words = "a trace for ui.perfetto.dev: scheduling, samples, waits and locks",
	.suffix = ".perfetto-trace",
	.binary = true,
	.kinds = EXPORT_ALL,
	.needs = UNSEEN_TIMES,
	.run = perfetto_run,
};
