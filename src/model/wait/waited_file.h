/* SPDX-License-Identifier: MIT */
/*
 * The files that threads waited for in their system calls, as far as the scout looked: each file
 * once.
 */
#ifndef THAW_MODEL_WAITED_FILE_H
#define THAW_MODEL_WAITED_FILE_H

#include "base/map.h"
#include "base/vec.h"
#include "wire/event.h"

struct timeline;

struct waited_file {
	char *path;
	char *type, *source; /* of its file system: "nfs4", "server:/export"; "": not known */
};

struct waited_files {
	VEC(struct waited_file) list;
	struct map by_text;
};

/* A thread waits for a file: sets it for the thread's open wait, if there is one. */
void waited_file_event(struct waited_files *f, const struct timeline *t, const struct ev_file *e);
void waited_files_done(struct waited_files *f);
/* By its number + 1, as in struct interval; NULL for 0. */
const struct waited_file *waited_file_at(const struct waited_files *f, uint32_t file);

#endif
