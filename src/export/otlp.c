// SPDX-License-Identifier: MIT
/*
 * OpenTelemetry's profiles (v1development) as the request that a collector takes: for each process
 * its resource with one profile a sample type, then the dictionary that all refer to. A process is
 * written when it is complete, so that only its rows and the dictionary are kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/pb.h"
#include "base/sort.h"
#include "base/text.h"
#include "export/otlp_dict.h"
#include "export/profile.h"

/* Field numbers of opentelemetry/proto: profiles/v1development, common/v1 and resource/v1. */
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	P_SAMPLE_TYPE = 1,
	P_SAMPLES = 2,
	P_TIME = 3,
	P_DURATION = 4,
	P_PERIOD_TYPE = 5,
	P_PERIOD = 6,
	P_ID = 7,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };

enum { ATTRIBUTES_MAX = 5 };

/* A row of the profile, in numbers of the dictionary. */
struct otlp_sample {
	uint32_t stack;
	uint32_t attributes;
	uint64_t attribute[ATTRIBUTES_MAX];
	uint64_t value[PROFILE_VALUES];
};

/* Rows, to be put in the order of processes. */
struct row_of {
	uint32_t pid;
	uint32_t row;
};

struct otlp {
	struct profile profile;
	struct otlp_dict dict;
	VEC(struct row_of) rows;
	VEC(struct otlp_sample) samples; /* of one process */
	struct map first;		 /* by pid: its first thread, or any */
	struct buf b;
	struct buf text;
};

static int by_pid(const void *pa, const void *pb)
{
	const struct row_of *a = pa, *b = pb;

	if (a->pid != b->pid)
		return (a->pid > b->pid) - (a->pid < b->pid);
	return (a->row > b->row) - (a->row < b->row);
}

static void otlp_collect(struct otlp *o)
{
	const struct timeline *t = &o->profile.job->model->timeline;
	size_t n = profile_rows(&o->profile);
	struct profile_row row;
	bool fresh;

	for (uint32_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i];
		uint64_t *slot = map_put(&o->first, th->pid, &fresh);

		if (fresh || th->tid == th->pid)
			*slot = i;
	}

	for (size_t i = 0; i < n; i++)
		if (profile_row(&o->profile, i, &row))
			vec_push(&o->rows, (struct row_of){row.thread->pid, (uint32_t)i});
	sort_by(o->rows.v, o->rows.n, sizeof(*o->rows.v), by_pid);
}

static void otlp_put_text(struct otlp *o, const char *key, const char *text)
{
	size_t at = pb_begin(&o->b, RESOURCE_ATTRIBUTES), value;

	buf_clear(&o->text);
	text_put_clean(&o->text, text);
	pb_str(&o->b, KEY_VALUE_KEY, key);
	value = pb_begin(&o->b, KEY_VALUE_VALUE);
	pb_bytes(&o->b, ANY_STRING, o->text.p, o->text.len);
	pb_end(&o->b, value);
	pb_end(&o->b, at);
}

static void put_number(struct otlp *o, const char *key, uint64_t number)
{
	size_t at = pb_begin(&o->b, RESOURCE_ATTRIBUTES), value;

	pb_str(&o->b, KEY_VALUE_KEY, key);
	value = pb_begin(&o->b, KEY_VALUE_VALUE);
	pb_u64(&o->b, ANY_INT, number);
	pb_end(&o->b, value);
	pb_end(&o->b, at);
}

static void put_resource(struct otlp *o, uint32_t pid)
{
	const struct model *m = o->profile.job->model;
	size_t at = pb_begin(&o->b, RESOURCE_PROFILES_RESOURCE);

	if (*m->facts.host)
		otlp_put_text(o, "host.name", m->facts.host);
	otlp_put_text(o, "os.type", "linux");
	if (*m->facts.kernel)
		otlp_put_text(o, "os.version", m->facts.kernel);
	if (pid) {
		put_number(o, "process.pid", pid);
		otlp_put_text(o, "process.executable.name",
			      m->timeline.threads.v[*map_get(&o->first, pid)]->name);
	}
	pb_end(&o->b, at);
}

static void put_type(struct otlp *o, unsigned field, const char *type, const char *unit)
{
	size_t at = pb_begin(&o->b, field);

	pb_u64(&o->b, TYPE_TYPE, strings_of(&o->dict.strings, type));
	pb_u64(&o->b, TYPE_UNIT, strings_of(&o->dict.strings, unit));
	pb_end(&o->b, at);
}

static void put_period(struct otlp *o, enum profile_value v)
{
	if ((v == PROFILE_SAMPLES || v == PROFILE_CPU) && o->profile.period) {
		put_type(o, P_PERIOD_TYPE, "cpu", "nanoseconds");
		pb_u64(&o->b, P_PERIOD, o->profile.period);
	} else if (v == PROFILE_OFF_CPU) {
		put_type(o, P_PERIOD_TYPE, "context_switch", "count");
		pb_u64(&o->b, P_PERIOD, 1);
	}
}

/* An id by host, time, process and value: the same capture always gets the same. */
static void put_id(struct otlp *o, uint32_t pid, enum profile_value v)
{
	const struct model *m = o->profile.job->model;
	uint64_t when = model_unix_ns(m, model_window_start(m)) + 1, id[2];

	id[0] = map_mix(map_hash_bytes(m->facts.host, strlen(m->facts.host)) + when);
	id[1] = map_mix(id[0] + ((uint64_t)pid << 8 | v));
	id[1] |= 1;
	pb_bytes(&o->b, P_ID, id, sizeof(id));
}

static void otlp_put_sample(struct otlp *o, const struct otlp_sample *s, enum profile_value v)
{
	size_t at = pb_begin(&o->b, P_SAMPLES);

	pb_some(&o->b, SAMPLE_STACK, s->stack);
	pb_packed(&o->b, SAMPLE_ATTRIBUTES, s->attribute, s->attributes);
	pb_packed(&o->b, SAMPLE_VALUES, &s->value[v], 1);
	pb_end(&o->b, at);
}

static bool any_of(const struct otlp *o, enum profile_value v)
{
	for (size_t i = 0; i < o->samples.n; i++)
		if (o->samples.v[i].value[v])
			return true;
	return false;
}

static void put_profile(struct otlp *o, uint32_t pid, enum profile_value v)
{
	const struct model *m = o->profile.job->model;
	size_t at = pb_begin(&o->b, SCOPE_PROFILES_PROFILES);

	put_type(o, P_SAMPLE_TYPE, profile_type(v), profile_unit(v));
	if (!model_timeless(m)) {
		pb_fixed64(&o->b, P_TIME, model_unix_ns(m, model_window_start(m)));
		pb_u64(&o->b, P_DURATION, model_window_ns(m));
	}
	put_period(o, v);
	put_id(o, pid, v);
	for (size_t i = 0; i < o->samples.n; i++)
		if (o->samples.v[i].value[v])
			otlp_put_sample(o, &o->samples.v[i], v);
	pb_end(&o->b, at);
}

static void put_scope(struct otlp *o)
{
	size_t at = pb_begin(&o->b, SCOPE_PROFILES_SCOPE);

	pb_str(&o->b, SCOPE_NAME, "thaw");
	pb_str(&o->b, SCOPE_VERSION, THAW_VERSION);
	pb_end(&o->b, at);
}

static void put_process(struct otlp *o, uint32_t pid)
{
	size_t at = pb_begin(&o->b, REQUEST_RESOURCE_PROFILES), profiles;

	put_resource(o, pid);
	profiles = pb_begin(&o->b, RESOURCE_PROFILES_SCOPE_PROFILES);
	put_scope(o);
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		if (profile_has(&o->profile, v) && any_of(o, v))
			put_profile(o, pid, v);
	pb_end(&o->b, profiles);
	pb_end(&o->b, at);
}

static void add_sample(struct otlp *o, const struct profile_row *r)
{
	struct otlp_dict *d = &o->dict;
	struct otlp_sample *s = vec_add(&o->samples);

	s->stack = otlp_stack(d, r->kstack, r->ustack, r->probed);
	memcpy(s->value, r->value, sizeof(s->value));
	s->attribute[s->attributes++] = otlp_text(d, "thread.name", r->thread->name);
	s->attribute[s->attributes++] = otlp_number(d, "thread.id", r->thread->tid);
	if (r->reason)
		s->attribute[s->attributes++] = otlp_text(d, "thaw.wait.reason", r->reason);
	if (r->lock)
		s->attribute[s->attributes++] = otlp_text(d, "thaw.lock.name", r->lock->name);
	if (r->holder)
		s->attribute[s->attributes++] = otlp_text(d, "thaw.lock.holder", r->holder->name);
}

static int otlp_write_out(struct otlp *o)
{
	size_t n = o->b.len;

	errno = EIO;
	if (fwrite(o->b.p, 1, n, o->profile.job->out) != n)
		return err_set(-errno, "%s", strerror(errno));
	buf_clear(&o->b);
	return 0;
}

static int put_processes(struct otlp *o)
{
	const struct export_job *job = o->profile.job;
	struct profile_row row;
	int rc = 0;

	for (size_t i = 0; i < o->rows.n && !rc;) {
		uint32_t pid = o->rows.v[i].pid;

		o->samples.n = 0;
		for (; i < o->rows.n && o->rows.v[i].pid == pid; i++)
			if (profile_row(&o->profile, o->rows.v[i].row, &row))
				add_sample(o, &row);
		put_process(o, pid);
		if (job->progress)
			job->progress(job->progress_arg, (double)i / (double)o->rows.n);
		rc = otlp_write_out(o);
	}
	return rc;
}

static int put_dictionary(struct otlp *o)
{
	size_t at = pb_begin(&o->b, REQUEST_DICTIONARY);

	otlp_dict_put(&o->dict, &o->b);
	pb_end(&o->b, at);
	return otlp_write_out(o);
}

static int otlp_run(const struct export_job *job)
{
	struct otlp o = {0};
	int rc;

	profile_init(&o.profile, job);
	otlp_dict_init(&o.dict, &job->model->names);
	otlp_collect(&o);
	rc = put_processes(&o);
	rc = rc ? rc : put_dictionary(&o);
	profile_done(&o.profile);
	otlp_dict_done(&o.dict);
	vec_done(&o.rows);
	vec_done(&o.samples);
	map_done(&o.first);
	buf_done(&o.b);
	buf_done(&o.text);
	return rc;
}

const struct exporter export_otlp = {
	.name = "otlp",
	.words = "OpenTelemetry profiles, as a collector takes them",
	.suffix = ".otlp",
	.binary = true,
	.kinds = EXPORT_ALL,
	.run = otlp_run,
};
