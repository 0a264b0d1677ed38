// SPDX-License-Identifier: MIT
/*
 * perf.data, as `perf record` and `perf sched record` write it.
 *
 * What a capture gets from it depends on the events that it holds: samples of one of them, switches
 * and wakings from the scheduler's tracepoints or from the kernel's switch records. All that none
 * of them tells is said to be unseen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "capture/arrays.h"
#include "capture/machine.h"
#include "import/perfdata.h"

static bool knows(const uint8_t *head, size_t n)
{
	return n >= 8 && (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8));
}

/* ---- facts ---- */

static bool told_all(const struct pd_file *f)
{
	for (size_t i = 0; i < f->command.n; i++)
		if (!strcmp(f->command.v[i], "-a") || !strcmp(f->command.v[i], "--all-cpus"))
			return true;
	return false;
}

static void describe(struct pd_import *i)
{
	const struct pd_attr *sampled = pd_with_role(i->f, PD_SAMPLE);
	struct pd_file *f = i->f;
	struct sink *s = &i->s;

	sink_meta(s, "host", f->host);
	sink_meta(s, "kernel", f->release);
	sink_meta(s, "machine", f->arch);
	if (f->version[0])
		sink_meta(s, "perf_version", f->version);
	if (f->cpus)
		sink_number(s, "cpus", f->cpus);
	sink_number(s, "freq_hz", sampled ? pd_freq(sampled) : 0);
	if (sampled)
		sink_meta(s, "event", sampled->name);
	sink_meta(s, "scope", pd_with_role(f, PD_SWITCH) || told_all(f) ? "system" : "command");
	for (size_t k = 0; k < f->command.n; k++)
		sink_meta(s, "command", f->command.v[k]);
	sink_unseen(s, pd_unseen(i));
}

/* Names of the kernel and of processes are those of this machine only if it has not booted since.
 */
static void tell_boot(struct pd_import *i)
{
	struct utsname u;
	char boot[64], text[24];

	if (!i->kernel_at)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, i->kernel_at);
	sink_meta(&i->s, "kernel_text", text);
	if (uname(&u) || strcmp(u.nodename, i->f->host) || strcmp(u.release, i->f->release) ||
	    machine_kernel_text() != i->kernel_at)
		return;
	machine_boot_id(boot, sizeof(boot));
	sink_meta(&i->s, "boot_id", boot);
}

static void tell_rest(struct pd_import *i, struct pd_reader *r)
{
	struct import_result *res = i->s.res;

	if (i->damaged)
		sink_lost(&i->s, i->s.last_ts, 0,
			  &(struct ev_lost){.cause = LOSS_UNREADABLE, .count = i->damaged});
	if (pd_reader_cut(r) || i->f->unsealed) {
		sink_lost(&i->s, i->s.last_ts, 0,
			  &(struct ev_lost){.cause = LOSS_DAMAGED, .count = 1});
		import_note(res,
			    "%s is not whole: perf was killed while it wrote it, or it is cut "
			    "off",
			    i->f->path);
	}
	if (pd_waits_untimed(i->waits))
		import_note(res,
			    "of %" PRIu64 " sums of waits it is not known when they were: they are "
			    "left out (perf 6.16 and later say)",
			    pd_waits_untimed(i->waits));
	if (i->idle)
		import_note(res, "%" PRIu64 " samples of idle CPUs are left out", i->idle);
	for (size_t k = 0; k < i->f->attrs.n; k++) {
		const struct pd_attr *a = &i->f->attrs.v[k];

		if (a->role == PD_NOTHING && !pd_is_aside(a) && a->a.type != PERF_TYPE_TRACEPOINT)
			import_note(res, "samples of %s are left out (--event takes them)",
				    a->name);
	}
	tell_boot(i);
}

/* ---- reading ---- */

static bool wants_tables(const struct pd_file *f)
{
	/* The tables are those of x86-64. */
	if (f->arch[0] && strcmp(f->arch, "x86_64"))
		return false;
	for (size_t i = 0; i < f->attrs.n; i++)
		if (f->attrs.v[i].a.sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	return false;
}

static bool unwind_arrays(struct engine *e, struct unwind_arrays *ret)
{
	struct sink *s = (struct sink *)((char *)e - offsetof(struct sink, engine));
	struct pd_import *i = (struct pd_import *)((char *)s - offsetof(struct pd_import, s));

	*ret = i->arrays;
	return ret->rows && ret->blocks && ret->rules && ret->objects;
}

static int begin(struct pd_import *i, const struct import_opts *o, struct import_result *res)
{
	static const struct engine_ops ops = {.name = "import", .unwind_arrays = unwind_arrays};
	struct writer_clock none = {0};
	int rc = pd_choose(i, o->event);

	rc = rc ? rc : pd_waits_scan(i);
	rc = rc ? rc : sink_open(&i->s, o, i->f->has_clock ? &i->f->clock : &none, res);
	if (rc)
		return rc;
	describe(i);
	if (wants_tables(i->f) && arrays_open(&i->arrays)) {
		i->s.engine.ops = &ops;
		i->tables = tables_new(&i->s.engine, i->s.procs);
	}
	return 0;
}

static int take_extra(struct pd_import *i, struct pd_reader *r, const uint8_t *rec, size_t len)
{
	struct perf_event_header h;
	uint32_t size;
	uint8_t *data;
	int rc;

	memcpy(&h, rec, sizeof(h));
	if (h.type != PD_TRACING_DATA || len < 12 || i->s.w)
		return pd_skip_extra(r, rec, len);
	memcpy(&size, rec + 8, 4);
	rc = pd_reader_extra(r, size, &data);
	if (rc)
		return rc;
	rc = pd_take_formats(i->f, data, size);
	free(data);
	return rc ? rc : pd_reader_skip(r, (8 - size % 8) % 8);
}

/* What the events are is settled once their records come. */
static int header_record(struct pd_import *i, struct pd_reader *r, const uint8_t *rec, size_t len)
{
	int rc = take_extra(i, r, rec, len);

	return rc || !i->f->pipe || i->s.w ? rc : pd_header_record(i->f, rec, len);
}

static int read_all(struct pd_import *i, struct pd_reader *r, const struct import_opts *o,
		    struct import_result *res)
{
	struct pd_block *block;
	const uint8_t *rec;
	uint64_t n = 0;
	size_t len;
	int rc;

	while ((rc = pd_next(r, &rec, &len, &block)) > 0) {
		struct perf_event_header h;

		memcpy(&h, rec, sizeof(h));
		if (!(++n & 0xffff) && o->progress)
			o->progress(o->progress_arg, pd_reader_done(r));
		if (h.type == PD_FINISHED_ROUND) {
			pd_order_round(i->order);
		} else if (h.type >= PD_HEADER_ATTR) {
			rc = header_record(i, r, rec, len);
			if (rc)
				return rc;
		} else {
			/* In the pipe form all events are told before the first record. */
			if (!i->s.w && (rc = begin(i, o, res)))
				return rc;
			pd_order_put(i->order, pd_time_of(i->f, rec, len), block, rec);
		}
		if (!(n & 0xfff) && i->s.w && (rc = writer_status(i->s.w)))
			return rc;
	}
	return rc;
}

static int finish(struct pd_import *i, struct pd_reader *r, int rc)
{
	if (!rc && i->s.w) {
		pd_order_drain(i->order);
		if (!i->begun)
			rc = err_set(-ENODATA, "%s holds no records%s", i->f->path,
				     pd_reader_cut(r) || i->f->unsealed ? ": it is cut off" : "");
		else
			tell_rest(i, r);
	} else if (!rc) {
		rc = err_set(-ENODATA, "%s holds no records", i->f->path);
	}
	pd_waits_free(i->waits);
	tables_free(i->tables);
	arrays_close(&i->arrays);
	rc = sink_close(&i->s, rc);
	pd_threads_free(i);
	free(i->copy);
	return rc;
}

static int run(const struct import_opts *o, int fd, struct import_result *res)
{
	struct pd_import *i = mem_zalloc(sizeof(*i));
	struct pd_reader *r = NULL;
	struct pd_file f;
	int rc = pd_open(o->path, fd, &f);

	i->f = &f;
	if (!rc) {
		r = pd_reader_new(&f);
		i->order = pd_order_new(pd_event, i);
		if (!f.pipe)
			rc = begin(i, o, res);
		rc = rc ? rc : read_all(i, r, o, res);
		rc = finish(i, r, rc);
	}
	pd_order_free(i->order);
	pd_reader_free(r);
	pd_close(&f);
	free(i);
	return rc;
}

const struct importer import_perfdata = {
	.name = "perfdata",
	.words = "perf.data of perf record and perf sched record",
	.knows = knows,
	.run = run,
};
