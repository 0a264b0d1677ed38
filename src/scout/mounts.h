/* SPDX-License-Identifier: MIT */
/* The mount table of a process: which file system is where, and what serves it. */
#ifndef THAW_SCOUT_MOUNTS_H
#define THAW_SCOUT_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct mounted {
	int id;
	bool device;		   /* it has its own block device, as a rule a disk */
	uint32_t point, point_len; /* into text: where, as the process sees it */
	uint32_t type, source;	   /* "nfs4", "server:/export" */
};

struct mounts {
	VEC(struct mounted) list;
	VEC(char) text;
};

/* One line of /proc/PID/mountinfo; false: it is none. */
bool mounts_add_line(struct mounts *m, const char *line);
/* 0 or a negative errno. */
int mounts_read(struct mounts *m, uint32_t pid);
void mounts_done(struct mounts *m);

const struct mounted *mounts_by_id(const struct mounts *m, int id);
/* The mount at exactly this place, or NULL. The last of several hides the others. */
const struct mounted *mounts_at(const struct mounts *m, const char *path);
/* The mount that holds a path, which must be free of links. */
const struct mounted *mounts_over(const struct mounts *m, const char *path);
/* Can the kernel answer for it without a server or another process? */
bool mounts_is_local(const struct mounts *m, const struct mounted *at);

static inline const char *mounts_text(const struct mounts *m, uint32_t at)
{
	return m->text.v + at;
}

#endif
