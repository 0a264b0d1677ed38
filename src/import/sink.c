// SPDX-License-Identifier: MIT
#include "import/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "capture/outfile.h"
#include "capture/symbolize.h"
#include "store/reader.h"

#define STACKS_BUDGET (16u << 20)

static const struct engine_ops no_engine = {.name = "import"};

int sink_open(struct sink *s, const struct import_opts *o, const struct writer_clock *clock,
	      struct import_result *res)
{
	int rc = outfile_put_aside(o->output, res->saved_as, sizeof(res->saved_as));

	*s = (struct sink){.opts = o, .res = res, .engine = {.ops = &no_engine}};
	rc = rc ? rc : writer_open(o->output, &(struct writer_opts){.clock = clock}, &s->w);
	if (rc)
		return rc;
	outfile_give(o->output);
	s->procs = procs_new(s->w);
	s->stacks = stacks_new(s->w, s->procs, &s->engine, STACKS_BUDGET);
	sink_meta(s, "engine", "import");
	sink_meta(s, "thaw_version", THAW_VERSION);
	sink_meta(s, "imported", o->path);
	sink_meta(s, "imported_as", res->format);
	sink_meta(s, "kernel_locks", "no");
	return 0;
}

void sink_meta(struct sink *s, const char *key, const char *value)
{
	writer_meta(s->w, key, value);
}

void sink_number(struct sink *s, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	writer_meta(s->w, key, text);
}

void sink_unseen(struct sink *s, uint32_t bits)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} rows[] = {
#define UNSEEN(bit, UPPER, name, words) {UNSEEN_##UPPER, name},
#include "wire/unseen.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (bits & rows[i].bit)
			sink_meta(s, "unseen", rows[i].name);
}

void sink_begin(struct sink *s, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_MARK, .mark = {.what = MARK_BEGIN}};

	s->first_ts = s->last_ts = ts;
	writer_event(s->w, &ev);
}

void sink_put(struct sink *s, const struct event *ev)
{
	if (ev->ts < s->last_ts)
		s->late++;
	else
		s->last_ts = ev->ts;
	writer_event(s->w, ev);
}

void sink_lost(struct sink *s, uint64_t ts, uint16_t cpu, const struct ev_lost *lost)
{
	struct event ev = {.ts = ts, .kind = EV_LOST, .cpu = cpu, .lost = *lost};

	s->res->lost += lost->count;
	sink_put(s, &ev);
}

static void end(struct sink *s)
{
	struct event ev = {.ts = s->last_ts, .kind = EV_MARK, .mark = {.what = MARK_END}};

	if (s->late)
		sink_lost(s, s->last_ts, 0,
			  &(struct ev_lost){.cause = LOSS_LATE, .count = s->late});
	if (stacks_gone(s->stacks))
		sink_lost(s, s->last_ts, 0,
			  &(struct ev_lost){.cause = LOSS_STACK_GONE,
					    .count = stacks_gone(s->stacks)});
	writer_event(s->w, &ev);
}

static int add_names(struct sink *s)
{
	char notes[sizeof(s->res->notes)] = "";
	struct symtab *st;
	struct reader *r;
	int rc = writer_flush(s->w, true);

	rc = rc ? rc : reader_open(s->opts->output, &r);
	if (rc)
		return rc;
	st = symbolize(r, notes, sizeof(notes) / 2);
	reader_close(r);
	writer_symbols(s->w, st);
	symtab_free(st);
	if (notes[0])
		import_note(s->res, "%s", notes);
	return 0;
}

int sink_close(struct sink *s, int rc)
{
	struct stat st;

	if (!s->w)
		return rc;
	if (!rc) {
		end(s);
		rc = s->opts->no_names ? 0 : add_names(s);
	}
	s->res->events = writer_events(s->w);
	s->res->span_ns = s->last_ts - s->first_ts;
	stacks_free(s->stacks);
	procs_free(s->procs);
	if (rc)
		writer_abandon(s->w);
	else
		rc = writer_close(s->w, END_DONE);
	s->w = NULL;
	if (!stat(s->opts->output, &st))
		s->res->bytes = (uint64_t)st.st_size;
	if (!rc)
		return 0;
	unlink(s->opts->output);
	/* What was there before is as it was. */
	if (s->res->saved_as[0] && !rename(s->res->saved_as, s->opts->output))
		s->res->saved_as[0] = '\0';
	return rc;
}
