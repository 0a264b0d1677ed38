// SPDX-License-Identifier: MIT
#include "import/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "record/outfile.h"
#include "record/symbolize.h"
#include "store/reader.h"
#include "wire/meta.h"

#define STACKS_BUDGET (16u << 20)

static const struct engine_ops no_engine = {.name = "import"};

int sink_open(struct sink *s, const struct import_opts *o, const struct writer_clock *clock,
	      struct import_result *res)
{
	char *path = NULL;
	/*
	 * The file that it is made from stays: a power cut costs nothing that a second import could
	 * not restore.
	 */
	const struct writer_opts opts = {.no_sync = true, .clock = clock};
	int fd, rc = outfile_open(o->output, &path, &fd);

	*s = (struct sink){.opts = o, .res = res, .engine = {.ops = &no_engine}, .path = path};
	rc = rc ? rc : writer_open_fd(fd, o->output, &opts, &s->w);
	if (rc) {
		free(path);
		return rc;
	}
	s->procs = procs_new(s->w);
	s->stacks = stacks_new(s->w, s->procs, &s->engine, STACKS_BUDGET);
	writer_meta(s->w, META_ENGINE, "import");
	writer_meta(s->w, META_THAW_VERSION, THAW_VERSION);
	writer_meta(s->w, META_IMPORTED, o->path);
	writer_meta(s->w, META_IMPORTED_AS, res->format);
	writer_meta(s->w, META_KERNEL_LOCKS, "no");
	return 0;
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

static void sink_end(struct sink *s)
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

	rc = rc ? rc : writer_reader(s->w, &r);
	if (rc)
		return rc;
	st = symbolize(r, NULL, notes, sizeof(notes) / 2);
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
		sink_end(s);
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
	if (!stat(s->path, &st))
		s->res->bytes = (uint64_t)st.st_size;
	rc = rc ? rc : outfile_settle(&s->path, s->res->saved_as, sizeof(s->res->saved_as));
	if (rc)
		unlink(s->path);
	free(s->path);
	s->path = NULL;
	return rc;
}
