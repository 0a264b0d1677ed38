/* SPDX-License-Identifier: MIT */
/*
 * A process that syncs the capture once a second, and a last time when its owner closes the file or
 * dies. On a busy disk fdatasync() takes seconds, and nothing ends a thread that is in it: as a
 * thread it would keep thaw, and so the user, until the disk is done. As a process it stays behind
 * for that long, with nothing but the file.
 */
#ifndef THAW_STORE_SYNCER_H
#define THAW_STORE_SYNCER_H

#include <stdint.h>

struct syncer;

/* Best made early: a fork copies what its parent has mapped. NULL if there can be none. */
struct syncer *syncer_new(void);
/* From now on this file; the descriptor stays the caller's. */
int syncer_watch(struct syncer *s, int fd);
/* Something was written. */
void syncer_note(struct syncer *s);
/* The errno of a sync that failed; 0: none has. */
int syncer_error(const struct syncer *s);
/* Lets it sync a last time, and waits so long for that at most. Frees; NULL is fine. */
void syncer_end(struct syncer *s, uint64_t patience_ns, int *ret_error);

#endif
