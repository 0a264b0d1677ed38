// SPDX-License-Identifier: MIT
/*
 * A processed profile of the Firefox Profiler (profiler.firefox.com, or its own copy), version 57
 * of the format: every loader upgrades it to its own version, and the profiler promises to read old
 * versions for good.
 *
 * A thread is written as columns, one after the other, so its events have to be gone over ten
 * times: spool.h does that in 64 MiB, whatever the length of the recording. Besides, memory grows
 * with threads and with what is distinct: stacks, functions, locks. Strings and libraries, which
 * all threads share, are written last.
 *
 * Addresses are offsets in the file. The profiler wants them relative to the library, which is the
 * same wherever code lies in the file where it is loaded. Names and lines are in the profile, so
 * nothing has to look them up.
 */
#include "export/firefox.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/units.h"
#include "store/reader.h"
#include "wire/meta.h"

enum { PROFILE_VERSION = 57, GECKO_VERSION = 31 };

static const struct {
	enum reason reason;
	const char *name;
} reasons[] = {
#define REASON(id, UPPER, name, label, words, group, traits, level, light, dark)                   \
	{REASON_##UPPER, name},
#include "timeline/reason.def"
};

/* Idle time is transparent: the profiler knows this name and this colour. */
static const char *const colours[] = {
	[REASON_GROUP_OTHER] = "darkgrey",   [REASON_GROUP_LOCK] = "red",
	[REASON_GROUP_PEERS] = "magenta",    [REASON_GROUP_STORAGE] = "blue",
	[REASON_GROUP_TALK] = "lightblue",   [REASON_GROUP_CPU] = "green",
	[REASON_GROUP_IDLE] = "transparent",
};

static void put_category(struct json *j, const char *name, const char *with)
{
	json_obj(j, NULL);
	json_str(j, "name", name);
	json_str(j, "color", with);
	json_arr(j, "subcategories");
	json_str(j, NULL, "Other");
	json_arr_end(j);
	json_obj_end(j);
}

/* In the order of enum category, then as fire_init() counts. */
static void put_categories(struct json *j)
{
	json_arr(j, "categories");
	put_category(j, "Other", "grey");
	put_category(j, "User", "yellow");
	put_category(j, "Kernel", "orange");
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		put_category(j, reasons[i].reason == REASON_IDLE ? "Idle" : reasons[i].name,
			     colours[reason_group(reasons[i].reason)]);
	json_arr_end(j);
}

static void put_field(struct json *j, const char *key, const char *label)
{
	json_obj(j, NULL);
	json_str(j, "key", key);
	json_str(j, "label", label);
	json_str(j, "format", "unique-string");
	json_obj_end(j);
}

static void put_schema(struct json *j)
{
	json_arr(j, "markerSchema");
	json_obj(j, NULL);
	json_str(j, "name", "wait");
	json_str(j, "chartLabel", "{marker.data.lock}");
	json_str(j, "tableLabel", "{marker.data.lock}");
	json_str(j, "tooltipLabel", "{marker.name}");
	json_arr(j, "display");
	json_str(j, NULL, "marker-chart");
	json_str(j, NULL, "marker-table");
	json_arr_end(j);
	json_arr(j, "fields");
	put_field(j, "lock", "Lock");
	put_field(j, "holder", "Held by");
	put_field(j, "waker", "Ended by");
	json_arr_end(j);
	json_obj_end(j);
	json_arr_end(j);
}

static void put_entry(struct json *j, const char *label, const char *format)
{
	json_obj(j, NULL);
	json_str(j, "label", label);
	json_str(j, "format", format);
}

/* What a reader should know about the recording and its losses. */
static void put_extra(struct fire *x)
{
	const struct losses *l = &x->m->losses;
	const struct facts *f = &x->m->facts;
	struct json *j = &x->j;

	json_arr(j, "extra");
	json_obj(j, NULL);
	json_str(j, "label", "Recording");
	json_arr(j, "entries");
	put_entry(j, "Engine", "string");
	json_str(j, "value", f->engine);
	json_obj_end(j);
	put_entry(j, "Host", "string");
	json_str(j, "value", f->host);
	json_obj_end(j);
	put_entry(j, "Lost events", "integer");
	json_u64(j, "value", l->by_class[LOSS_CLASS_EVENT]);
	json_obj_end(j);
	put_entry(j, "Lost samples", "integer");
	json_u64(j, "value", l->by_class[LOSS_CLASS_SAMPLE]);
	json_obj_end(j);
	if (*f->damage) {
		put_entry(j, "Damage", "string");
		json_str(j, "value", f->damage);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
	json_arr_end(j);
}

static void put_command(struct fire *x)
{
	const struct facts *f = &x->m->facts;
	const char *slash = f->command.n ? strrchr(f->command.v[0], '/') : NULL;
	struct buf b = {0};

	for (size_t i = 0; i < f->command.n; i++)
		buf_printf(&b, "%s%s", i ? " " : "", f->command.v[i]);
	json_str(&x->j, "product", slash ? slash + 1 : f->command.n ? f->command.v[0] : "thaw");
	json_str(&x->j, "arguments", buf_cstr(&b));
	buf_clear(&b);
	buf_printf(&b, "Linux %s", f->kernel);
	json_str(&x->j, "oscpu", buf_cstr(&b));
	buf_done(&b);
}

static void put_units(struct json *j)
{
	json_obj(j, "sampleUnits");
	json_str(j, "time", "ms");
	json_str(j, "eventDelay", "ms");
	json_str(j, "threadCPUDelta", "ns");
	json_obj_end(j);
}

static void put_meta(struct fire *x)
{
	struct model *m = x->m;
	uint64_t from = fire_time(x, model_window_start(m));
	struct json *j = &x->j;

	json_obj(j, "meta");
	json_u64(j, "version", GECKO_VERSION);
	json_u64(j, "preprocessedProfileVersion", PROFILE_VERSION);
	json_str(j, "importedFrom", "thaw");
	put_command(x);
	json_str(j, "fileName", x->job->title);
	json_str(j, "platform", "Linux");
	json_u64(j, "logicalCPUs", m->facts.cpus);
	json_decimal(j, "interval", x->sample_ns, 6);
	json_decimal(j, "startTime", model_unix_ns(m, m->timeline.begin), 6);
	json_u64(j, "startTimeAsClockMonotonicNanosecondsSinceBoot", m->timeline.begin);
	json_decimal(j, "profilingStartTime", from, 6);
	json_decimal(j, "profilingEndTime", from + model_window_ns(m), 6);
	json_u64(j, "processType", 0);
	json_u64(j, "stackwalk", 1);
	json_bool(j, "symbolicated", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_bool(j, "keepProfileThreadOrder", true);
	put_units(j);
	put_categories(j);
	put_schema(j);
	put_extra(x);
	json_obj_end(j);
}

/*
 * Breakpad's form of a build id: the first 16 bytes as a GUID, whose first three parts are numbers
 * in little-endian order, and an age.
 */
static void breakpad_id(const struct module *m, char out[34])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned i = 0; i < 16; i++)
		sprintf(out + 2 * i, "%02X",
			order[i] < m->build_id_len ? m->build_id[order[i]] : 0u);
	out[32] = '0';
	out[33] = 0;
}

static void put_lib(struct fire *x, const struct module *m)
{
	const char *name = names_module(m), *path = m && m->path ? m->path : name;
	char breakpad[34], code[2 * BUILD_ID_MAX + 1] = "";
	static const struct module none;
	struct json *j = &x->j;

	m = m ? m : &none;
	breakpad_id(m, breakpad);
	for (unsigned i = 0; i < m->build_id_len && i < BUILD_ID_MAX; i++)
		sprintf(code + 2 * i, "%02x", m->build_id[i]);
	json_obj(j, NULL);
	json_str(j, "arch", x->machine);
	json_str(j, "name", name);
	json_str(j, "path", path);
	json_str(j, "debugName", name);
	json_str(j, "debugPath", path);
	json_str(j, "breakpadId", breakpad);
	json_str(j, "codeId", m->build_id_len ? code : NULL);
	json_obj_end(j);
}

static void put_shared(struct fire *x)
{
	struct json *j = &x->j;

	json_arr(j, "libs");
	for (size_t i = 0; i < x->libs.order.n; i++)
		put_lib(x, reader_module(x->job->reader, x->libs.order.v[i]));
	json_arr_end(j);
	json_obj(j, "shared");
	json_arr(j, "stringArray");
	for (uint32_t i = 0; i < x->strings.at.n; i++)
		json_str(j, NULL, strings_at(&x->strings, i));
	json_arr_end(j);
	json_obj_end(j);
}

static uint32_t *numbers(size_t n)
{
	return mem_zalloc((n + 1) * sizeof(uint32_t));
}

/* Rows that have something in the window, by thread. */
static void sort_rows(struct fire *x)
{
	const struct tally *t = &x->m->tally;

	for (size_t i = t->samples.n; EXPORT_HAS(x->job->kinds, EXPORT_CPU) && i-- > 0;) {
		uint32_t *first = &x->samples_of[t->samples.v[i].thread->index];

		x->next_sample[i] = *first;
		*first = (uint32_t)i + 1;
	}
	for (size_t i = t->waits.n; x->timed && i-- > 0;) {
		uint32_t *first = &x->waits_of[t->waits.v[i].thread->index];

		if (!t->waits.v[i].total)
			continue;
		x->next_wait[i] = *first;
		*first = (uint32_t)i + 1;
	}
}

static void find_main_threads(struct fire *x)
{
	const struct timeline *t = &x->m->timeline;

	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.v[i]->tid == t->threads.v[i]->pid)
			*map_put(&x->main_of, t->threads.v[i]->pid, NULL) = i + 1;
}

static void fire_init(struct fire *x, const struct export_job *job)
{
	size_t threads = job->model->timeline.threads.n;
	const struct tally *t = &job->model->tally;
	uint64_t hz = job->model->facts.freq_hz;

	*x = (struct fire){.job = job, .m = job->model};
	x->timed = EXPORT_HAS(job->kinds, EXPORT_WAIT) || EXPORT_HAS(job->kinds, EXPORT_LOCK);
	x->machine = reader_meta(job->reader, META_MACHINE, 0);
	if (!x->machine)
		x->machine = x->m->arch->name; /* of captures that do not say */
	x->sample_ns = hz ? NSEC_PER_SEC / hz : NSEC_PER_MSEC;
	x->thread_string = numbers(threads);
	x->samples_of = numbers(threads);
	x->waits_of = numbers(threads);
	x->next_sample = numbers(t->samples.n);
	x->next_wait = numbers(t->waits.n);
	x->sample_stack = numbers(t->samples.n);
	x->wait_stack = numbers(t->waits.n);
	x->lock_string = numbers(job->summary->locks.n);
	strings_init(&x->strings);
	for (uint32_t i = 0; i < ARRAY_LEN(reasons); i++) {
		x->category_of[reasons[i].reason] = CATEGORIES + i;
		x->reason_string[reasons[i].reason] = strings_of(&x->strings, reasons[i].name);
	}
	x->lost_string = strings_of(&x->strings, "not recorded");
	sort_rows(x);
	find_main_threads(x);
	json_init(&x->j, job->out);
	x->j.tight = true;
}

static void fire_done(struct fire *x)
{
	free(x->thread_string);
	free(x->samples_of);
	free(x->waits_of);
	free(x->next_sample);
	free(x->next_wait);
	free(x->sample_stack);
	free(x->wait_stack);
	free(x->lock_string);
	strings_done(&x->strings);
	map_done(&x->main_of);
	numbers_done(&x->libs);
	buf_done(&x->j.kept);
}

int firefox_run(const struct export_job *job, size_t room)
{
	struct fire x;
	struct spool_opts opts = {.room = room, .holders = true};
	int rc;

	fire_init(&x, job);
	opts.waits = x.timed;
	json_obj(&x.j, NULL);
	put_meta(&x);
	json_arr(&x.j, "threads");
	rc = spool_run(job, &opts, fire_thread, &x);
	json_arr_end(&x.j);
	if (!rc)
		put_shared(&x);
	json_obj_end(&x.j);
	rc = rc ? rc : export_written(job);
	fire_done(&x);
	return rc;
}

static int firefox_export_run(const struct export_job *job)
{
	return firefox_run(job, SPOOL_ROOM);
}

const struct exporter export_firefox = {
	.name = "firefox",
	.words = "a profile for the Firefox Profiler (profiler.firefox.com)",
	.suffix = ".json",
	.kinds = EXPORT_ALL,
	.needs = UNSEEN_TIMES,
	.run = firefox_export_run,
};
