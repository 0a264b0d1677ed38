/* SPDX-License-Identifier: MIT */
/*
 * Which file a sleeping thread waits for, by its system call and that call's arguments. The scout
 * looks it up when the thread has slept for a while; by then a descriptor may be another file's. So
 * the scout looks twice, at the start and at the end of the recording; where its answers differ,
 * the file is not known.
 */
#ifndef THAW_COLLECT_ASLEEP_FILE_H
#define THAW_COLLECT_ASLEEP_FILE_H

#include "scout/scout.h"
#include "wire/event.h"
#include "wire/probe.h"

struct asleep_file {
	char *text; /* path, type and source, each with its zero; NULL: not known */
	size_t len;
	bool changed;
};

/* False: by its call, the thread does not wait for a file. */
bool asleep_file_question(const struct pr_asleep *a, struct scout_question *ret);
void asleep_file_take(struct asleep_file *f, const struct scout_answer *a);
/* False: there is nothing to tell. Points into f. */
bool asleep_file_event(const struct asleep_file *f, uint32_t tid, struct ev_file *ret);
void asleep_file_done(struct asleep_file *f);

#endif
