// SPDX-License-Identifier: MIT
/*
 * pprof's profile.proto, compressed. One sample a row of the tally, with its thread and, if it
 * waited, why and for which lock, as labels. Samples go out as they are made, then the tables that
 * they refer to: readers do not care about the order of fields.
 *
 * The mark of a guessed caller is a location like others, in its place in the stack. pprof can drop
 * frames from what it shows, so the sample has a label as well.
 *
 * Number 1 of locations and functions is for time without a stack; others begin at 2.
 */
#include <inttypes.h>

#include "base/pb.h"
#include "export/gzip.h"
#include "export/mappings.h"
#include "export/profile.h"
#include "export/strings.h"

/* Field numbers of proto/profile.proto, by message. */
enum {
	P_SAMPLE_TYPE = 1,
	P_SAMPLE = 2,
	P_MAPPING = 3,
	P_LOCATION = 4,
	P_FUNCTION = 5,
	P_STRING = 6,
	P_TIME = 9,
	P_DURATION = 10,
	P_PERIOD_TYPE = 11,
	P_PERIOD = 12,
	P_COMMENT = 13,
	P_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_FUNCTIONS = 7,
	MAPPING_FILES = 8,
	MAPPING_LINES = 9,
	MAPPING_INLINED = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

enum { NO_STACK = 1 };

struct pprof {
	struct names *names;
	struct profile profile;
	struct strings strings;
	struct numbers locations, functions;
	struct mappings mappings;
	bool no_stack;	 /* some samples have none */
	struct buf b;	 /* on its way out */
	struct buf text; /* of a name */
	struct gzip gz;
};

static int pprof_flush(struct pprof *p, size_t least)
{
	int rc = p->b.len < least ? 0 : gzip_put(&p->gz, p->b.p, p->b.len);

	if (p->b.len >= least)
		buf_clear(&p->b);
	return rc;
}

static void put_type(struct pprof *p, unsigned field, enum profile_value v)
{
	size_t at = pb_begin(&p->b, field);

	pb_u64(&p->b, TYPE_TYPE, strings_of(&p->strings, profile_type(v)));
	pb_u64(&p->b, TYPE_UNIT, strings_of(&p->strings, profile_unit(v)));
	pb_end(&p->b, at);
}

/* The default sample type: the first of these that the profile has. */
static const enum profile_value preferred[] = {PROFILE_CPU, PROFILE_SAMPLES, PROFILE_OFF_CPU,
					       PROFILE_DELAY};

static void put_types(struct pprof *p)
{
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		if (profile_has(&p->profile, v))
			put_type(p, P_SAMPLE_TYPE, v);
	for (unsigned i = 0; i < ARRAY_LEN(preferred); i++) {
		if (!profile_has(&p->profile, preferred[i]))
			continue;
		pb_u64(&p->b, P_DEFAULT_TYPE, strings_of(&p->strings, profile_type(preferred[i])));
		break;
	}
}

static void put_comments(struct pprof *p)
{
	const struct model *m = p->profile.job->model;
	const struct facts *f = &m->facts;
	uint64_t lost = 0;

	buf_clear(&p->text);
	buf_printf(&p->text, "recorded by thaw, engine %s, on %s:", f->engine, f->host);
	for (size_t i = 0; i < f->command.n; i++)
		buf_printf(&p->text, " %s", f->command.v[i]);
	pb_u64(&p->b, P_COMMENT, strings_of(&p->strings, buf_cstr(&p->text)));
	for (size_t i = 0; i < ARRAY_LEN(m->losses.by_class); i++)
		lost += m->losses.by_class[i];
	if (lost)
		pb_u64(&p->b, P_COMMENT,
		       strings_printf(&p->strings, "%" PRIu64 " records were lost: see thaw report",
				      lost));
}

static void put_head(struct pprof *p)
{
	const struct model *m = p->profile.job->model;

	put_types(p);
	if (!model_timeless(m)) {
		pb_u64(&p->b, P_TIME, model_unix_ns(m, model_window_start(m)));
		pb_u64(&p->b, P_DURATION, model_window_ns(m));
	}
	if (profile_has(&p->profile, PROFILE_CPU)) {
		put_type(p, P_PERIOD_TYPE, PROFILE_CPU);
		pb_u64(&p->b, P_PERIOD, p->profile.period);
	}
	put_comments(p);
}

static void put_label(struct pprof *p, const char *key, const char *text)
{
	size_t at = pb_begin(&p->b, SAMPLE_LABEL);

	pb_u64(&p->b, LABEL_KEY, strings_of(&p->strings, key));
	pb_u64(&p->b, LABEL_STR, strings_of(&p->strings, text));
	pb_end(&p->b, at);
}

static void put_number(struct pprof *p, const char *key, uint64_t number)
{
	size_t at = pb_begin(&p->b, SAMPLE_LABEL);

	pb_u64(&p->b, LABEL_KEY, strings_of(&p->strings, key));
	pb_u64(&p->b, LABEL_NUM, number);
	pb_end(&p->b, at);
}

static void put_labels(struct pprof *p, const struct profile_row *r, bool guessed)
{
	put_label(p, "thread", r->thread->name);
	put_number(p, "tid", r->thread->tid);
	if (r->thread->pid)
		put_number(p, "pid", r->thread->pid);
	if (r->reason)
		put_label(p, "reason", r->reason);
	if (r->lock)
		put_label(p, "lock", r->lock->name);
	if (r->holder)
		put_label(p, "holder", r->holder->name);
	if (guessed)
		put_label(p, "caller", "guessed");
}

/* Says whether a caller in it was guessed. */
static bool put_stack(struct pprof *p, const struct profile_row *r)
{
	const uint32_t *known;
	size_t n = names_addresses(p->names, r->kstack, r->ustack, r->probed, &known);
	size_t at = pb_begin(&p->b, SAMPLE_LOCATION);
	bool guessed = false;

	for (size_t i = 0; i < n; i++) {
		buf_put_varint(&p->b, NO_STACK + numbers_of(&p->locations, known[i]));
		guessed |= p->names->known.v[known[i]].guess;
	}
	if (!n)
		buf_put_varint(&p->b, NO_STACK);
	p->no_stack |= !n;
	pb_end(&p->b, at);
	return guessed;
}

static void pprof_put_sample(struct pprof *p, const struct profile_row *r)
{
	size_t at = pb_begin(&p->b, P_SAMPLE), values;
	bool guessed = put_stack(p, r);

	values = pb_begin(&p->b, SAMPLE_VALUE);
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		if (profile_has(&p->profile, v))
			buf_put_varint(&p->b, r->value[v]);
	pb_end(&p->b, values);
	put_labels(p, r, guessed);
	pb_end(&p->b, at);
}

static int pprof_put_samples(struct pprof *p)
{
	const struct export_job *job = p->profile.job;
	size_t n = profile_rows(&p->profile);
	struct profile_row row;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (profile_row(&p->profile, i, &row))
			pprof_put_sample(p, &row);
		if (job->progress && i % 4096 == 0)
			job->progress(job->progress_arg, (double)i / (double)n);
		rc = pprof_flush(p, 64 << 10);
	}
	return rc;
}

/*
 * Where thaw has found names, a reader that searches files of the same path would only find worse
 * ones; where thaw has not, the reader may try.
 */
static int put_mappings(struct pprof *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->mappings.list.n && !rc; i++) {
		const struct profile_mapping *m = &p->mappings.list.v[i];
		size_t at = pb_begin(&p->b, P_MAPPING);

		pb_u64(&p->b, MAPPING_ID, i + 1);
		pb_u64(&p->b, MAPPING_START, m->start);
		pb_u64(&p->b, MAPPING_LIMIT, m->limit);
		buf_clear(&p->text);
		mapping_name(m, &p->text);
		pb_u64(&p->b, MAPPING_FILE, strings_of(&p->strings, buf_cstr(&p->text)));
		buf_clear(&p->text);
		if (mapping_build_id(m, &p->text))
			pb_u64(&p->b, MAPPING_BUILD_ID,
			       strings_of(&p->strings, buf_cstr(&p->text)));
		pb_some(&p->b, MAPPING_FUNCTIONS, m->named);
		pb_some(&p->b, MAPPING_FILES, m->named);
		pb_some(&p->b, MAPPING_LINES, m->named);
		pb_some(&p->b, MAPPING_INLINED, m->inlined);
		pb_end(&p->b, at);
		rc = pprof_flush(p, 64 << 10);
	}
	return rc;
}

static void put_line(struct pprof *p, uint64_t function, uint32_t line)
{
	size_t at = pb_begin(&p->b, LOCATION_LINE);

	pb_u64(&p->b, LINE_FUNCTION, function);
	pb_some(&p->b, LINE_LINE, line);
	pb_end(&p->b, at);
}

static void put_location(struct pprof *p, uint64_t id, const struct known_frame *k)
{
	size_t at = pb_begin(&p->b, P_LOCATION);
	uint32_t mapping;

	pb_u64(&p->b, LOCATION_ID, id);
	pb_u64(&p->b, LOCATION_ADDRESS, mappings_address(&p->mappings, k, &mapping));
	pb_some(&p->b, LOCATION_MAPPING, mapping);
	for (uint32_t i = 0; i < k->n; i++)
		put_line(p, NO_STACK + numbers_of(&p->functions, k->frames[i].function),
			 k->frames[i].line);
	pb_end(&p->b, at);
}

static void pprof_put_function(struct pprof *p, uint64_t id, const char *name, const char *file)
{
	size_t at = pb_begin(&p->b, P_FUNCTION);

	/* No system name: with one, readers would demangle the name again. */
	pb_u64(&p->b, FUNCTION_ID, id);
	pb_u64(&p->b, FUNCTION_NAME, strings_of(&p->strings, name));
	pb_some(&p->b, FUNCTION_FILE, strings_of(&p->strings, file));
	pb_end(&p->b, at);
}

static void put_no_stack(struct pprof *p)
{
	size_t at = pb_begin(&p->b, P_LOCATION);

	pb_u64(&p->b, LOCATION_ID, NO_STACK);
	put_line(p, NO_STACK, 0);
	pb_end(&p->b, at);
	pprof_put_function(p, NO_STACK, "[no stack]", NULL);
}

static int put_tables(struct pprof *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->locations.order.n; i++)
		mappings_add(&p->mappings, &p->names->known.v[p->locations.order.v[i]]);
	mappings_place(&p->mappings);
	rc = put_mappings(p);
	if (p->no_stack)
		put_no_stack(p);
	for (size_t i = 0; i < p->locations.order.n && !rc; i++) {
		put_location(p, NO_STACK + i + 1, &p->names->known.v[p->locations.order.v[i]]);
		rc = pprof_flush(p, 64 << 10);
	}
	for (size_t i = 0; i < p->functions.order.n && !rc; i++) {
		const struct function *f = names_function(p->names, p->functions.order.v[i]);

		pprof_put_function(p, NO_STACK + i + 1, f->name, f->file);
		rc = pprof_flush(p, 64 << 10);
	}
	for (size_t i = 0; i < p->strings.at.n && !rc; i++) {
		pb_str(&p->b, P_STRING, strings_at(&p->strings, (uint32_t)i));
		rc = pprof_flush(p, 64 << 10);
	}
	return rc ? rc : pprof_flush(p, 0);
}

static int pprof_write_all(struct pprof *p)
{
	int rc;

	put_head(p);
	rc = pprof_put_samples(p);
	rc = rc ? rc : put_tables(p);
	return rc ? rc : gzip_end(&p->gz);
}

static int pprof_run(const struct export_job *job)
{
	struct pprof p = {.names = &job->model->names};
	int rc = gzip_begin(&p.gz, job->out);

	if (rc)
		return rc;
	profile_init(&p.profile, job);
	strings_init(&p.strings);
	mappings_init(&p.mappings, p.names);
	rc = pprof_write_all(&p);
	gzip_done(&p.gz);
	profile_done(&p.profile);
	strings_done(&p.strings);
	mappings_done(&p.mappings);
	numbers_done(&p.locations);
	numbers_done(&p.functions);
	buf_done(&p.b);
	buf_done(&p.text);
	return rc;
}

const struct exporter export_pprof = {
	.name = "pprof",
	.words = "profile.proto with CPU, waiting and lock time, for pprof",
	.suffix = ".pb.gz",
	.binary = true,
	.kinds = EXPORT_ALL,
	.run = pprof_run,
};
