/* SPDX-License-Identifier: MIT */
/*
 * The capture that an importer writes: the file, and what turns addresses into frames in it. Events
 * come in the order of time, after sink_begin().
 */
#ifndef THAW_IMPORT_SINK_H
#define THAW_IMPORT_SINK_H

#include "capture/engine.h"
#include "capture/procs.h"
#include "capture/stacks.h"
#include "capture/tables.h"
#include "import/import.h"
#include "store/writer.h"
#include "wire/loss.h"
#include "wire/unseen.h"

struct sink {
	const struct import_opts *opts;
	struct import_result *res;
	struct writer *w;
	struct procs *procs;
	struct stacks *stacks;
	struct engine engine; /* none that records: what the parts of capture/ ask for */
	uint64_t first_ts, last_ts;
	uint64_t late;
};

int sink_open(struct sink *s, const struct import_opts *o, const struct writer_clock *clock,
	      struct import_result *res);
void sink_meta(struct sink *s, const char *key, const char *value);
void sink_number(struct sink *s, const char *key, uint64_t value);
/* enum unseen. */
void sink_unseen(struct sink *s, uint32_t bits);

void sink_begin(struct sink *s, uint64_t ts);
void sink_put(struct sink *s, const struct event *ev);
void sink_lost(struct sink *s, uint64_t ts, uint16_t cpu, const struct ev_lost *lost);

/* Ends it, finds names, seals the file; frees in any case. Without `rc`: else the file is removed.
 */
int sink_close(struct sink *s, int rc);

#endif
