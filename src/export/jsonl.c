// SPDX-License-Identifier: MIT
/*
 * Every event as a line of JSON, in the order of time. The first line is about the capture and
 * names the schema; a line about a stack or a module goes before the first event that refers to it.
 * Lines and schema come from wire/event.def, by the roles that fields have there.
 *
 * Times are nanoseconds since the start of the recording (negative before it). Numbers that may not
 * fit a double, such as addresses, are texts in hex. What has no value is null.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "export/export.h"
#include "export/tables.h"
#include "report/json_parts.h"
#include "report/steps.h"
#include "store/fields.h"
#include "store/reader.h"
#include "store/words.h"

#define SCHEMA "thaw.jsonl/1"

struct lines {
	const struct export_job *job;
	struct tables tables;
	struct map stacks, modules; /* that have been written */
	struct buf text;
};

static const char *word_of(enum event_role role, uint64_t v)
{
	switch (role) {
	case ROLE_LOSS:
		return loss_name((uint32_t)v);
	case ROLE_EVENT:
		return v && v < EV_KINDS ? model_event_name((unsigned)v) : NULL;
	case ROLE_STEP:
		return v ? step_name((uint32_t)v) : NULL;
	case ROLE_STEP_CAUSE:
		return v ? step_cause_name((uint32_t)v) : NULL;
	default:
		return event_word(role, v);
	}
}

static void put_hex(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	json_str(j, key, text);
}

static void put_number(struct json *j, enum event_role role, const char *key, uint64_t v)
{
	switch (role) {
	case ROLE_NUMBER:
	case ROLE_TID:
	case ROLE_BESIDE:
	case ROLE_PID:
		json_u64(j, key, v);
		break;
	case ROLE_HEX:
		put_hex(j, key, v);
		break;
	case ROLE_STACK:
	case ROLE_MODULE:
	case ROLE_WAKER:
		if (v)
			json_u64(j, key, v);
		else
			json_null(j, key);
		break;
	case ROLE_CONTEXT:
		json_str(j, key, word_of(role, v & WAKE_CTX));
		json_bool(j, "release", v & WAKE_RELEASE);
		json_bool(j, "throttled", v & WAKE_THROTTLED);
		break;
	default:
		json_str(j, key, word_of(role, v));
	}
}

static void jsonl_put_text(struct json *j, enum event_role role, const char *key, const char *v)
{
	json_str(j, key, v ? v : "");
}

#define PUT(v)                                                                                     \
	_Generic((v), const char *                                                                 \
		 : jsonl_put_text, uint64_t                                                              \
		 : put_number, uint32_t                                                            \
		 : put_number, uint8_t                                                             \
		 : put_number)

static void put_fields(struct json *j, const struct lines *l, const struct event *ev)
{
	switch (ev->kind) {
#define EVENT(id, UPPER, lower, text, words, group) case id:
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	PUT(ev->lower.name)(j, ROLE_##role, #name, ev->lower.name);
#define EVENT_END(UPPER, lower) break;
#include "wire/event.def"
	}
}

static void begin_line(struct lines *l, struct json *j, const char *type)
{
	json_init_buf(j, &l->text);
	j->tight = true;
	json_obj(j, NULL);
	json_str(j, "type", type);
}

static void end_line(struct lines *l, struct json *j)
{
	json_obj_end(j);
	while (l->text.len && l->text.p[l->text.len - 1] == '\n')
		l->text.len--;
	buf_put_u8(&l->text, '\n');
}

static void jsonl_flush(struct lines *l)
{
	if (l->text.len)
		fwrite(l->text.p, 1, l->text.len, l->job->out);
	buf_clear(&l->text);
}

static void need_stack(struct lines *l, uint64_t id)
{
	struct names *names = &l->job->model->names;
	const struct named_frame *f;
	struct json j;
	bool fresh;
	size_t n;

	map_put(&l->stacks, id, &fresh);
	if (!id || !fresh)
		return;
	n = names_stack(names, 0, (uint32_t)id, &f);
	begin_line(l, &j, "stack");
	json_u64(&j, "id", id);
	json_arr(&j, "frames");
	for (size_t i = 0; i < n; i++) {
		if (f[i].guess)
			continue;
		json_obj(&j, NULL);
		json_put_frame(&j, "function", names, &f[i]);
		json_bool(&j, "kernel", names_function(names, f[i].function)->kernel);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	end_line(l, &j);
}

static void need_module(struct lines *l, uint64_t id)
{
	const struct module *m = reader_module(l->job->reader, (uint32_t)id);
	char hex[2 * BUILD_ID_MAX + 1] = "";
	struct json j;
	bool fresh;

	map_put(&l->modules, id, &fresh);
	if (!id || !fresh)
		return;
	begin_line(l, &j, "module");
	json_u64(&j, "id", id);
	json_str(&j, "kind", module_kind_name(m ? m->kind : MODULE_UNKNOWN));
	json_str(&j, "path", m ? m->path : NULL);
	for (unsigned i = 0; m && i < m->build_id_len; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
	json_str(&j, "build_id", *hex ? hex : NULL);
	end_line(l, &j);
}

static void need(struct lines *l, enum event_role role, uint64_t v)
{
	if (role == ROLE_STACK)
		need_stack(l, v);
	else if (role == ROLE_MODULE)
		need_module(l, v);
}

/* Writes first what the event refers to. */
static void need_all(struct lines *l, const struct event *ev)
{
	switch (ev->kind) {
#define EVENT(id, UPPER, lower, text, words, group) case id:
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	need(l, ROLE_##role, (uint64_t)(uintptr_t)ev->lower.name);
#define EVENT_END(UPPER, lower) break;
#include "wire/event.def"
	}
}

static bool is_of(const struct lines *l, uint32_t tid, uint64_t ts)
{
	const struct thread *th = tables_thread_at(&l->tables, tid, ts);

	return th && export_wants(l->job, th);
}

/* Is it about a chosen thread? An event without any thread is about all. */
static bool of_thread(const struct lines *l, const struct event *ev)
{
	struct event_field f;
	bool any = false;

	for (unsigned i = 0; l->job->thread && event_field(ev->kind, i, &f); i++) {
		uint32_t tid =
			f.role == ROLE_TID || f.role == ROLE_WAKER ? event_field_get(ev, &f) : 0;

		if (f.role == ROLE_TID || tid) {
			any = true;
			if (is_of(l, tid, ev->ts))
				return true;
		}
	}
	return !any;
}

/* Events that name threads and processes count for all kinds, and from before the window too. */
static bool jsonl_wanted(const struct lines *l, const struct event *ev, bool inside)
{
	unsigned has = l->job->kinds;

	switch (event_group(ev->kind)) {
	case GROUP_SAMPLES:
		return inside && EXPORT_HAS(has, EXPORT_CPU);
	case GROUP_WAITS:
		return inside && EXPORT_HAS(has, EXPORT_WAIT);
	case GROUP_LOCKS:
		return inside && EXPORT_HAS(has, EXPORT_LOCK);
	case GROUP_WHO:
		return ev->ts < l->job->model->timeline.to;
	default:
		return inside || !l->job->model->timeline.window_to;
	}
}

/* The thread that an interrupt interrupted is not the waker. */
static struct event jsonl_told(const struct event *ev)
{
	struct event e = *ev;

	if (e.kind == EV_WAKING && (e.waking.ctx & WAKE_CTX) != WAKE_TASK)
		e.waking.waker = 0;
	return e;
}

static int jsonl_on_event(void *arg, const struct event *recorded, bool inside)
{
	struct lines *l = arg;
	const struct model *m = l->job->model;
	const struct event e = jsonl_told(recorded), *ev = &e;
	struct json j;

	if (!jsonl_wanted(l, ev, inside) || !of_thread(l, ev))
		return 0;
	need_all(l, ev);
	begin_line(l, &j, model_event_name(ev->kind));
	if (model_timeless(m))
		json_null(&j, "ts");
	else
		json_i64(&j, "ts", (int64_t)(ev->ts - m->timeline.begin));
	json_u64_if(&j, "cpu", ev->cpu != EVENT_ALL_CPUS && !(m->facts.unseen & UNSEEN_CPUS),
		    ev->cpu);
	put_fields(&j, l, ev);
	end_line(l, &j);
	if (l->text.len >= 1 << 16)
		jsonl_flush(l);
	return ferror(l->job->out) ? -EIO : 0;
}

static void put_head(struct lines *l)
{
	const struct model *m = l->job->model;
	uint64_t unix_ns = model_unix_ns(m, m->timeline.begin);
	bool timed = !model_timeless(m);
	struct json j;

	begin_line(l, &j, "capture");
	json_str(&j, "schema", SCHEMA);
	json_str(&j, "host", m->facts.host);
	json_str(&j, "kernel", m->facts.kernel);
	json_str(&j, "engine", m->facts.engine);
	json_arr(&j, "command");
	for (size_t i = 0; i < m->facts.command.n; i++)
		json_str(&j, NULL, m->facts.command.v[i]);
	json_arr_end(&j);
	json_u64_if(&j, "begin_unix_ns", timed && unix_ns, unix_ns);
	json_u64_if(&j, "duration_ns", timed, m->timeline.end - m->timeline.begin);
	json_u64_if(&j, "cpus", m->facts.cpus, m->facts.cpus);
	json_u64_if(&j, "freq_hz", m->facts.freq_hz, m->facts.freq_hz);
	json_bool(&j, "complete", m->facts.complete);
	end_line(l, &j);
}

static int jsonl_run(const struct export_job *job)
{
	struct lines l = {.job = job};
	const struct walk walk = {.event = jsonl_on_event,
				  .arg = &l,
				  .progress = job->progress,
				  .progress_arg = job->progress_arg};
	int rc;

	tables_init(&l.tables, job->model, job->summary, reader_stacks(job->reader));
	put_head(&l);
	rc = model_walk(job->model, job->reader, &walk);
	jsonl_flush(&l);
	tables_done(&l.tables);
	map_done(&l.stacks);
	map_done(&l.modules);
	buf_done(&l.text);
	return rc;
}

/* ---- the schema ---- */

static void put_type(struct json *j, const char *key, const char *type, bool or_null,
		     const char *words)
{
	json_obj(j, key);
	if (or_null) {
		json_arr(j, "type");
		json_str(j, NULL, type);
		json_str(j, NULL, "null");
		json_arr_end(j);
	} else {
		json_str(j, "type", type);
	}
	if (!strcmp(type, "integer") && strcmp(key, "ts"))
		json_i64(j, "minimum", 0);
	if (words)
		json_str(j, "description", words);
	json_obj_end(j);
}

/* The words that a field may have, by its numbers. */
static void put_words(struct json *j, const char *key, enum event_role role)
{
	const char *before[64];
	size_t n = 0;

	json_obj(j, key);
	json_arr(j, "enum");
	for (uint64_t v = 0; v < ARRAY_LEN(before); v++) {
		const char *word = word_of(role, v);
		bool known = false;

		for (size_t i = 0; i < n; i++)
			known |= before[i] == word ||
				 (before[i] && word && !strcmp(before[i], word));
		if (!known)
			json_str(j, NULL, before[n++] = word);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void put_field(struct json *j, enum event_role role, const char *key)
{
	switch (role) {
	case ROLE_NUMBER:
	case ROLE_TID:
	case ROLE_BESIDE:
	case ROLE_PID:
		put_type(j, key, "integer", false, NULL);
		break;
	case ROLE_TEXT:
		put_type(j, key, "string", false, NULL);
		break;
	case ROLE_HEX:
		json_obj(j, key);
		json_str(j, "type", "string");
		json_str(j, "pattern", "^0x[0-9a-f]+$");
		json_obj_end(j);
		break;
	case ROLE_STACK:
		put_type(j, key, "integer", true, "id of a line of type stack before this one");
		break;
	case ROLE_MODULE:
		put_type(j, key, "integer", true, "id of a line of type module before this one");
		break;
	case ROLE_WAKER:
		put_type(j, key, "integer", true, "the thread that did it; null: an interrupt");
		break;
	case ROLE_CONTEXT:
		put_words(j, key, role);
		put_type(j, "release", "boolean", false,
			 "the waker was in a call on the futex that the wakee slept on");
		put_type(j, "throttled", "boolean", false,
			 "the wakee's cgroup has used up its CPU time");
		break;
	default:
		put_words(j, key, role);
	}
}

/* A kind of line: all of its fields are always there, and no others. */
static void begin_type(struct json *j, const char *type, const char *words)
{
	json_obj(j, NULL);
	json_str(j, "title", type);
	json_str(j, "description", words);
	json_str(j, "type", "object");
	json_bool(j, "additionalProperties", false);
	json_obj(j, "properties");
	json_obj(j, "type");
	json_str(j, "const", type);
	json_obj_end(j);
}

static void required(struct json *j, const char *const *names)
{
	for (; *names; names++)
		json_str(j, NULL, *names);
}

#define END_TYPE(j, ...)                                                                           \
	do {                                                                                       \
		json_obj_end(j);                                                                   \
		json_arr(j, "required");                                                           \
		required(j, (const char *const[]){"type", __VA_ARGS__, NULL});                     \
		json_arr_end(j);                                                                   \
		json_obj_end(j);                                                                   \
	} while (0)

static void put_capture_type(struct json *j)
{
	begin_type(j, "capture", "the first line");
	json_obj(j, "schema");
	json_str(j, "const", SCHEMA);
	json_obj_end(j);
	put_type(j, "host", "string", false, NULL);
	put_type(j, "kernel", "string", false, NULL);
	put_type(j, "engine", "string", false, "what recorded: bpf, perf, ctimer");
	put_type(j, "command", "array", false, "that was started, word by word");
	put_type(j, "begin_unix_ns", "integer", true, "the wall clock at time 0, ns since 1970");
	put_type(j, "duration_ns", "integer", true, NULL);
	put_type(j, "cpus", "integer", true, NULL);
	put_type(j, "freq_hz", "integer", true, "a sample stands for 1 / freq_hz seconds");
	put_type(j, "complete", "boolean", false, "ended properly, and nothing is damaged");
	END_TYPE(j, "schema", "host", "kernel", "engine", "command", "begin_unix_ns", "duration_ns",
		 "cpus", "freq_hz", "complete");
}

static void put_table_types(struct json *j)
{
	begin_type(j, "module", "a program, a library, the kernel");
	put_type(j, "id", "integer", false, NULL);
	put_type(j, "kind", "string", false, NULL);
	put_type(j, "path", "string", true, NULL);
	put_type(j, "build_id", "string", true, "in hex");
	END_TYPE(j, "id", "kind", "path", "build_id");
	begin_type(j, "stack", "functions, the innermost first");
	put_type(j, "id", "integer", false, NULL);
	json_obj(j, "frames");
	json_str(j, "type", "array");
	json_obj(j, "items");
	json_str(j, "type", "object");
	json_bool(j, "additionalProperties", false);
	json_obj(j, "properties");
	put_type(j, "function", "string", false, NULL);
	put_type(j, "module", "string", false, NULL);
	put_type(j, "file", "string", true, NULL);
	put_type(j, "line", "integer", false, "0: not known");
	put_type(j, "inlined", "boolean", false, "into the next frame");
	put_type(j, "guessed", "boolean", false, "found by searching the stack: it may be wrong");
	put_type(j, "kernel", "boolean", false, NULL);
	json_obj_end(j);
	json_arr(j, "required");
	required(j, (const char *const[]){"function", "module", "file", "line", "inlined",
					  "guessed", "kernel", NULL});
	json_arr_end(j);
	json_obj_end(j);
	json_obj_end(j);
	END_TYPE(j, "id", "frames");
}

/* Lists the fields' names as required. */
static void put_event_end(struct json *j, unsigned kind)
{
	json_obj_end(j);
	json_arr(j, "required");
	required(j, (const char *const[]){"type", "ts", "cpu", NULL});
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group) case id:
#define FIELD(UPPER, lower, id, name, ctype, codec, role) json_str(j, NULL, #name);
#define EVENT_END(UPPER, lower) break;
#include "wire/event.def"
	}
	if (kind == EV_WAKING)
		required(j, (const char *const[]){"release", "throttled", NULL});
	json_arr_end(j);
	json_obj_end(j);
}

static void put_event_types(struct json *j)
{
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	begin_type(j, text, words);                                                                \
	put_type(j, "ts", "integer", true,                                                         \
		 "ns since the start of the recording; null: not known");                          \
	put_type(j, "cpu", "integer", true, "null: all, or not known");
#define FIELD(UPPER, lower, id, name, ctype, codec, role) put_field(j, ROLE_##role, #name);
#define EVENT_END(UPPER, lower) put_event_end(j, EV_##UPPER);
#include "wire/event.def"
}

static void schema(FILE *out)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j, NULL);
	json_str(&j, "$schema", "http://json-schema.org/draft-07/schema#");
	json_str(&j, "$id", SCHEMA);
	json_str(&j, "title", "A line of thaw export -f jsonl");
	json_arr(&j, "oneOf");
	put_capture_type(&j);
	put_table_types(&j);
	put_event_types(&j);
	json_arr_end(&j);
	json_obj_end(&j);
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.words = "every event as a line of JSON; --schema prints what is in them",
	.suffix = ".jsonl",
	.kinds = EXPORT_ALL,
	.run = jsonl_run,
	.schema = schema,
};
