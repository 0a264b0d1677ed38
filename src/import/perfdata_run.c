// SPDX-License-Identifier: MIT
/*
 * perf.data, as `perf record` and `perf sched record` write it.
 *
 * What a capture gets from it depends on the events that it holds: samples of one of them, switches
 * and wakings from the scheduler's tracepoints or from the kernel's switch records. The capture
 * lists as unseen what none of them shows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "arch/host.h"
#include "base/err.h"
#include "engine/arrays.h"
#include "import/perfdata.h"
#include "record/machine.h"
#include "wire/meta.h"

static bool perfdata_run_knows(const uint8_t *head, size_t n)
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

static void perfdata_run_describe(struct pd_import *i)
{
	const struct pd_attr *sampled = pd_with_role(i->f, PD_SAMPLE);
	struct pd_file *f = i->f;
	struct sink *s = &i->s;

	writer_meta(s->w, META_HOST, f->host);
	writer_meta(s->w, META_KERNEL, f->release);
	writer_meta(s->w, META_MACHINE, f->arch);
	if (f->version[0])
		writer_meta(s->w, META_PERF_VERSION, f->version);
	if (f->cpus)
		writer_meta_number(s->w, META_CPUS, f->cpus);
	writer_meta_number(s->w, META_FREQ_HZ, sampled ? pd_freq(sampled) : 0);
	if (sampled)
		writer_meta(s->w, META_EVENT, sampled->name);
	writer_meta(s->w, META_SCOPE,
		    pd_with_role(f, PD_SWITCH) || told_all(f) ? "system" : "command");
	for (size_t k = 0; k < f->command.n; k++)
		writer_meta(s->w, META_COMMAND, f->command.v[k]);
	writer_unseen(s->w, pd_unseen(i));
}

/*
 * Names of the kernel and of processes are those of this machine only if it has not booted since.
 */
static void tell_boot(struct pd_import *i)
{
	struct utsname u;
	char boot[64], text[24];

	if (!i->kernel_at)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, i->kernel_at);
	writer_meta(i->s.w, META_KERNEL_TEXT, text);
	if (uname(&u) || strcmp(u.nodename, i->f->host) || strcmp(u.release, i->f->release) ||
	    machine_kernel_text() != i->kernel_at)
		return;
	machine_boot_id(boot, sizeof(boot));
	writer_meta(i->s.w, META_BOOT_ID, boot);
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
			    "%" PRIu64
			    " sums of waits are left out: this perf does not say when they "
			    "happened (6.16 and later do)",
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
	if (f->arch[0] && strcmp(f->arch, ARCH_NAME))
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
	return ret->objects;
}

static int perfdata_run_begin(struct pd_import *i, const struct import_opts *o,
			      struct import_result *res)
{
	static const struct engine_ops ops = {.name = "import", .unwind_arrays = unwind_arrays};
	struct writer_clock none = {0};
	int rc = pd_choose(i, o->event);

	rc = rc ? rc : pd_waits_scan(i);
	rc = rc ? rc : sink_open(&i->s, o, i->f->has_clock ? &i->f->clock : &none, res);
	if (rc)
		return rc;
	perfdata_run_describe(i);
	if (wants_tables(i->f) && arrays_open(&i->arrays, 0)) {
		i->s.engine.ops = &ops;
		i->tables = unwinds_new(&i->s.engine, i->s.procs, &(struct unwinds_opts){0});
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

/* Header records count only before the first record of an event. */
static int header_record(struct pd_import *i, struct pd_reader *r, const uint8_t *rec, size_t len)
{
	int rc = take_extra(i, r, rec, len);

	return rc || !i->f->pipe || i->s.w ? rc : pd_header_record(i->f, rec, len);
}

static int import_read_all(struct pd_import *i, struct pd_reader *r, const struct import_opts *o,
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
			/* In the pipe form all events are described before the first record. */
			if (!i->s.w && (rc = perfdata_run_begin(i, o, res)))
				return rc;
			pd_order_put(i->order, pd_time_of(i->f, rec, len), block, rec);
		}
		if (!(n & 0xfff) && i->s.w && (rc = writer_status(i->s.w)))
			return rc;
	}
	return rc;
}

static int perfdata_run_finish(struct pd_import *i, struct pd_reader *r, int rc)
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
	unwinds_free(i->tables);
	arrays_close(&i->arrays);
	rc = sink_close(&i->s, rc);
	pd_threads_free(i);
	free(i->copy);
	return rc;
}

static int perfdata_import_run(const struct import_opts *o, int fd, struct import_result *res)
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
			rc = perfdata_run_begin(i, o, res);
		rc = rc ? rc : import_read_all(i, r, o, res);
		rc = perfdata_run_finish(i, r, rc);
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
	.knows = perfdata_run_knows,
	.run = perfdata_import_run,
};
