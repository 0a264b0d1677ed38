// SPDX-License-Identifier: MIT
/*
 * thaw info: what a capture file is, and what is missing from it. It counts all events, so its
 * findings on damage cover the whole file; --verify also checks what the counts do not need, and
 * makes damage a failure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "model/model.h"
#include "store/inspect.h"
#include "store/reader.h"
#include "wire/loss.h"
#include "wire/meta.h"

#define INFO_SCHEMA "thaw.info/1"

enum { COLUMNS_WIDE = 80, LABEL_WIDE = 12, SHOW_EVERY = 1 << 16 };

struct info_args {
	bool verify, json;
};

#define AT(member) offsetof(struct info_args, member)

static const struct option_row rows[] = {
	{0, "verify", OPTION_FLAG, AT(verify), NULL, "read and check every byte; fail if damaged",
	 0, 0, 0},
	{0, "json", OPTION_FLAG, AT(json), NULL, "everything, as JSON", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

const struct cmd_form cmd_info_form = {
	.usage = "usage: thaw info [options] [FILE]\n\n"
		 "Shows what a capture (capture.thaw) holds, whether it is complete, and if not,\n"
		 "what is missing and why.\n\n",
	.rows = rows,
	.operands = {OPERAND_CAPTURE},
	.schema = INFO_SCHEMA,
};

struct counted {
	uint64_t events;
	uint64_t kinds[EV_KINDS];
	uint64_t lost[LOSS_CAUSES];  /* counts */
	uint64_t times[LOSS_CAUSES]; /* LOST events; more than none even if what they count is 0 */
	const char *bad;	     /* --verify: the finding, or NULL */
};

/* LOST events are counted as losses, not as events: some of them the reader made itself. */
static int info_count(struct reader *r, struct counted *t)
{
	uint64_t n = 0, of = reader_events(r);
	struct progress p;
	struct event ev;
	int rc;

	progress_begin(&p, "reading");
	while ((rc = reader_next(r, &ev)) > 0) {
		if (!(++n % SHOW_EVERY))
			progress_show(&p, (double)n / (double)(of > n ? of : n));
		if (ev.kind == EV_LOST) {
			uint32_t cause = ev.lost.cause < LOSS_CAUSES ? ev.lost.cause : 0;

			t->lost[cause] += ev.lost.count;
			t->times[cause]++;
			continue;
		}
		t->events++;
		t->kinds[ev.kind]++;
	}
	progress_end(&p);
	return rc;
}

static const char *end_name(const struct reader_info *info)
{
	static const char *const names[] = {
		[END_DONE] = "done",	     [END_INTERRUPTED] = "interrupted",
		[END_NO_SPACE] = "no_space", [END_ERROR] = "error",
		[END_STOPPED] = "stopped",
	};

	return info->sealed ? names[info->cause] : NULL;
}

/* A label and words, broken at spaces so that no line is wider than a terminal. */
static void info_row(const char *label, const char *words)
{
	const size_t room = COLUMNS_WIDE - LABEL_WIDE - 1;

	do {
		size_t n = strlen(words), cut = n;

		if (n > room) {
			for (cut = room; cut && words[cut] != ' '; cut--)
				;
			if (!cut)
				cut = room;
		}
		printf("%-*s ", LABEL_WIDE, label);
		/* Anybody may have made the file: mask what a terminal would obey. */
		for (size_t i = 0; i < cut; i++)
			putchar((unsigned char)words[i] < 0x20 || words[i] == 0x7f ? '?'
										   : words[i]);
		putchar('\n');
		label = "";
		words += cut;
		while (*words == ' ')
			words++;
	} while (*words);
}

static void fact_row(const struct reader *r, const char *label, const char *key)
{
	const char *v = reader_meta(r, key, 0);

	if (v)
		info_row(label, v);
}

static void put_word(struct buf *b, const char *w)
{
	bool plain = *w && !strpbrk(w, " \t\n'\"\\$&|;<>()*?[]`#~!{}");

	if (b->len)
		buf_put_u8(b, ' ');
	if (!plain)
		buf_put_u8(b, '\'');
	for (; *w; w++) {
		if (*w == '\'')
			buf_put(b, "'\\'", 3);
		buf_put_u8(b, (uint8_t)*w);
	}
	if (!plain)
		buf_put_u8(b, '\'');
}

static void command_row(const struct reader *r)
{
	struct buf b = {0};
	const char *w;

	for (size_t i = 0; (w = reader_meta(r, META_COMMAND, i)); i++)
		put_word(&b, w);
	if (b.len)
		info_row("command", buf_cstr(&b));
	buf_done(&b);
}

/* "H1 degrade user_read,unwind words" for a person. */
static void finding_row(const char *v)
{
	size_t id = strcspn(v, " "), action = v[id] ? strcspn(v + id + 1, " ") : 0;
	const char *rest = v + id + (v[id] == ' ') + action;
	char words[300];

	rest += *rest == ' ';
	rest += strcspn(rest, " ");
	snprintf(words, sizeof(words), "%.*s, %.*s:%s", (int)id, v, (int)action,
		 action ? v + id + 1 : "", rest);
	info_row("", words);
}

static void guard_rows_of(const struct reader *r)
{
	const char *verdict = reader_meta(r, META_GUARD_VERDICT, 0), *v;

	if (!verdict)
		return;
	info_row("guard", verdict);
	for (size_t i = 0; (v = reader_meta(r, META_GUARD_FINDING, i)); i++)
		finding_row(v);
	for (size_t i = 0; (v = reader_meta(r, META_GUARD_ENGINE, i)); i++)
		info_row("", v);
}

static uint64_t info_duration(const struct reader_info *info)
{
	return info->last_ts > info->first_ts ? info->last_ts - info->first_ts : 0;
}

/* An import of what has no times: see wire/unseen.def. */
static bool is_timeless(const struct reader *r)
{
	const char *what;

	for (size_t i = 0; (what = reader_meta(r, META_UNSEEN, i)); i++)
		if (!strcmp(what, "times"))
			return true;
	return false;
}

/* What thaw could not read while it recorded. */
static void unread_rows(const struct reader *r)
{
	static const struct {
		const char *key, *what, *why;
	} counts[] = {
		{META_PLACES_UNTOLD, "the place of a lock",
		 "its process's mappings were asked for too often"},
		{META_ASLEEP_UNREAD, "the stack or the lock of a sleeping thread",
		 "it took too long"},
		{META_ASLEEP_FILES_UNREAD, "the file that a sleeping thread waits for",
		 "it took too long, or there were too many"},
	};
	const char *what;
	char words[160];

	for (size_t i = 0; (what = reader_meta(r, META_UNREAD, i)); i++)
		info_row(i ? "" : "not read", what);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		const char *n = reader_meta(r, counts[i].key, 0);

		if (!n)
			continue;
		snprintf(words, sizeof(words), "%s, %s time%s: %s", counts[i].what, n,
			 strcmp(n, "1") ? "s" : "", counts[i].why);
		info_row("not read", words);
	}
}

static void time_row(const struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	time_t s = (time_t)(info->start_unix_ns / NSEC_PER_SEC);
	char when[64] = "at an unknown time", span[16], words[128];
	struct tm tm;

	if (info->start_unix_ns && localtime_r(&s, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm);
	snprintf(words, sizeof(words), "%s, for %s", when,
		 units_duration(span, sizeof(span), info_duration(info)));
	info_row("recorded", is_timeless(r) ? "without times" : words);
}

static void events_rows(const struct counted *t)
{
	char words[32], label[40];

	snprintf(words, sizeof(words), "%10llu", (unsigned long long)t->events);
	info_row("events", words);
	for (unsigned k = 1; k < EV_KINDS; k++) {
		if (!t->kinds[k])
			continue;
		snprintf(words, sizeof(words), "%10llu", (unsigned long long)t->kinds[k]);
		snprintf(label, sizeof(label), "  %s", event_name(k));
		info_row(label, words);
	}
}

static void losses_rows(const struct counted *t)
{
	const char *label = "losses";

	for (unsigned c = 0; c < LOSS_CAUSES; c++) {
		char words[200];

		if (!t->times[c])
			continue;
		if (t->lost[c])
			snprintf(words, sizeof(words), "%llu: %s", (unsigned long long)t->lost[c],
				 loss_words(c));
		else
			snprintf(words, sizeof(words), "an unknown number: %s", loss_words(c));
		info_row(label, words);
		label = "";
	}
	if (*label)
		info_row(label, "none");
}

static void state_rows(const struct reader_info *info, const struct counted *t)
{
	char words[400], size[16];

	snprintf(words, sizeof(words), "%s%s%s",
		 info->complete ? "complete" : "not complete: ", info->damage,
		 info->complete && info->cause == END_INTERRUPTED ? ", ended by the user" : "");
	if (t->bad && info->complete)
		snprintf(words, sizeof(words), "damaged: %s", t->bad);
	info_row("state", words);
	if (info->chunks_damaged) {
		snprintf(words, sizeof(words), "%llu chunk%s damaged or missing, %s lost",
			 (unsigned long long)info->chunks_damaged,
			 info->chunks_damaged == 1 ? " is" : "s are",
			 units_size(size, sizeof(size), info->bytes_lost));
		info_row("", words);
	}
	if (info->chunks_unknown) {
		snprintf(words, sizeof(words), "%llu chunk%s of a newer thaw skipped",
			 (unsigned long long)info->chunks_unknown,
			 info->chunks_unknown == 1 ? " is" : "s are");
		info_row("", words);
	}
}

static void print_text(const struct reader *r, const char *path, const struct info_args *a,
		       const struct counted *t)
{
	const struct reader_info *info = reader_info(r);
	char words[160], size[16];

	info_row("capture", path);
	snprintf(words, sizeof(words), "%s in %llu chunks, format %u",
		 units_size(size, sizeof(size), info->file_bytes), (unsigned long long)info->chunks,
		 info->version);
	info_row("size", words);
	fact_row(r, "host", META_HOST);
	fact_row(r, "kernel", META_KERNEL);
	fact_row(r, "engine", META_ENGINE);
	fact_row(r, "scope", META_SCOPE);
	fact_row(r, "target", META_TARGET);
	command_row(r);
	guard_rows_of(r);
	time_row(r);
	unread_rows(r);
	events_rows(t);
	losses_rows(t);
	snprintf(words, sizeof(words), "%u, in %u modules; %zu addresses have names",
		 reader_stacks(r), reader_modules(r), reader_symbols(r));
	info_row("stacks", words);
	state_rows(info, t);
	if (a->verify && !t->bad)
		info_row("verified", "every byte was read and checked");
}

static void json_facts(struct json *j, const struct reader *r)
{
	const char *k, *v;

	json_str(j, "host", reader_meta(r, META_HOST, 0));
	json_str(j, "kernel", reader_meta(r, META_KERNEL, 0));
	json_str(j, "engine", reader_meta(r, META_ENGINE, 0));
	json_arr(j, "command");
	for (size_t i = 0; (v = reader_meta(r, META_COMMAND, i)); i++)
		json_str(j, NULL, v);
	json_arr_end(j);
	json_arr(j, "facts");
	for (size_t i = 0; reader_meta_at(r, i, &k, &v); i++) {
		json_obj(j, NULL);
		json_str(j, "key", k);
		json_str(j, "value", v);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_counts(struct json *j, const struct counted *t)
{

	json_u64(j, "events", t->events);
	json_obj(j, "events_by_kind");
	for (unsigned k = 1; k < EV_KINDS; k++)
		if (t->kinds[k])
			json_u64(j, event_name(k), t->kinds[k]);
	json_obj_end(j);
	json_obj(j, "losses");
	for (unsigned c = 0; c < LOSS_CAUSES; c++)
		if (t->times[c])
			json_u64(j, loss_name(c), t->lost[c]);
	json_obj_end(j);
}

static void print_json(const struct reader *r, const char *path, const struct info_args *a,
		       const struct counted *t)
{
	const struct reader_info *info = reader_info(r);
	struct json j;

	json_init(&j, stdout);
	json_obj(&j, NULL);
	json_str(&j, "schema", INFO_SCHEMA);
	json_str(&j, "path", path);
	json_u64(&j, "bytes", info->file_bytes);
	json_u64(&j, "version", info->version);
	json_facts(&j, r);
	json_u64_if(&j, "start_unix_ns", info->start_unix_ns, info->start_unix_ns);
	json_u64_if(&j, "duration_ns", !is_timeless(r), info_duration(info));
	json_counts(&j, t);
	json_u64(&j, "stacks", reader_stacks(r));
	json_u64(&j, "modules", reader_modules(r));
	json_u64(&j, "symbols", reader_symbols(r));
	json_bool(&j, "complete", info->complete);
	json_str(&j, "ended", end_name(info));
	json_str(&j, "damage", info->damage);
	json_u64(&j, "chunks", info->chunks);
	json_u64(&j, "chunks_damaged", info->chunks_damaged);
	json_u64(&j, "chunks_unknown", info->chunks_unknown);
	json_u64(&j, "bytes_lost", info->bytes_lost);
	if (a->verify)
		json_bool(&j, "verified", !t->bad);
	json_obj_end(&j);
	putchar('\n');
}

static int info_show(struct reader *r, const char *path, const struct info_args *a)
{
	struct counted t = {0};
	char *finding = NULL;
	int rc = info_count(r, &t), verified = 0;

	if (rc)
		return err_add(rc, "%s", path);
	if (a->verify)
		verified = reader_verify(r);
	if (verified) {
		finding = mem_strdup(err_msg());
		t.bad = finding;
	}
	if (a->json)
		print_json(r, path, a, &t);
	else
		print_text(r, path, a, &t);
	rc = output_close(stdout, "standard output");
	if (!rc && verified)
		rc = err_set(verified, "%s: damaged: %s", path, finding);
	free(finding);
	return rc;
}

int cmd_info(int argc, char **argv)
{
	struct info_args args = {0};
	const char *path = NULL;
	struct reader *r;
	int rc = cmd_parse(&cmd_info_form, argc, argv, &args, &path);

	if (rc > 0)
		return 0;
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	path = path ? path : CMD_CAPTURE;
	rc = cmd_open(path, false, &r);
	if (rc)
		return cmd_fail(argv[0]);
	rc = info_show(r, path, &args);
	reader_close(r);
	return rc ? cmd_fail(argv[0]) : 0;
}
