/* SPDX-License-Identifier: MIT */
/* What the recorder and its scout send each other, and the inside of the scout. */
#ifndef THAW_SCOUT_SCOUT_PRIVATE_H
#define THAW_SCOUT_SCOUT_PRIVATE_H

#include <limits.h>

#include "base/vec.h"
#include "scout/build_ids.h"
#include "scout/scout.h"

#define SCOUT_PATH_MAX PATH_MAX

/* A message each, on a socket that keeps them apart; the path follows, with its zero. */
struct scout_asked {
	uint64_t number;
	uint32_t kind, pid;
	uint64_t start, end, dev, inode;
	uint64_t futex;
	uint32_t tid;
	int32_t fd;
	uint32_t vector, pad;
};

/* Goes over a pipe. Areas, files, calls and text follow, as many as it says. */
struct scout_head {
	uint64_t number;
	uint64_t at_ns, cost_ns;
	uint64_t start, dev, inode;
	uint32_t kind, pid;
	int32_t status;
	uint32_t n_areas, n_files, n_calls, n_text;
	uint32_t tid;
};

/* What has been found out so far. */
struct scout_findings {
	VEC(struct scout_area) areas;
	VEC(struct scout_file) files;
	VEC(struct scout_call) calls;
	VEC(char) text;
};
void scout_findings_done(struct scout_findings *f);

/* ---- scout_read.c: each may wait forever ---- */
/* All mappings, or those with code. 0 or a negative errno. */
int scout_read_maps(uint32_t pid, bool all, struct scout_findings *ret);
/* Memory of another process, into the text: see struct scout_memory. 0 or a negative errno. */
int scout_read_memory(const struct scout_asked *q, struct scout_findings *ret);
/* Its command line, into the text. The same. */
int scout_read_command(uint32_t pid, struct scout_findings *ret);
/* For which file a thread waits, into the text: see SCOUT_FILE. The same. */
int scout_read_file(const struct scout_asked *q, struct scout_findings *ret);
/* The threads of a process, their calls not yet known. */
int scout_read_threads(uint32_t pid, struct scout_findings *ret);
uint32_t scout_read_call(uint32_t pid, uint32_t tid);
struct scout_mapped {
	uint32_t pid;
	uint64_t start, end, dev, inode;
	char path[SCOUT_PATH_MAX];
};
void scout_read_build_id(struct build_ids *ids, const struct scout_mapped *m,
			 struct scout_file *ret);
/* Its executable segments, as areas. */
void scout_read_segments(const struct scout_mapped *m, struct scout_findings *ret);

/* ---- scout_serve.c: the child; returns when the other side is gone ---- */
void scout_serve(int questions, int answers);

#endif
