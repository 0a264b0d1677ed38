/* SPDX-License-Identifier: MIT */
/*
 * The capture that an importer writes: the file, and what turns addresses into frames in it. Events
 * come in the order of time, after sink_begin().
 */
#ifndef THAW_IMPORT_SINK_H
#define THAW_IMPORT_SINK_H

#include "collect/stacks.h"
#include "engine/engine.h"
#include "import/import.h"
#include "scout/procs.h"
#include "store/writer.h"
#include "unwind_tables/unwinds.h"
#include "wire/loss.h"
#include "wire/unseen.h"

struct sink {
	const struct import_opts *opts;
	struct import_result *res;
	struct writer *w;
	char *path; /* of what it writes */
	struct procs *procs;
	struct stacks *stacks;
	struct engine engine; /* records nothing: collect/ asks for one */
	uint64_t first_ts, last_ts;
	uint64_t late;
};

int sink_open(struct sink *s, const struct import_opts *o, const struct writer_clock *clock,
	      struct import_result *res);

void sink_begin(struct sink *s, uint64_t ts);
void sink_put(struct sink *s, const struct event *ev);
void sink_lost(struct sink *s, uint64_t ts, uint16_t cpu, const struct ev_lost *lost);

/* Finds names and seals the file, or removes it if `rc` is an error; frees in any case. */
int sink_close(struct sink *s, int rc);

#endif
