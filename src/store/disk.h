/* SPDX-License-Identifier: MIT */
/*
 * The writer's own thread: takes chunks from a bounded queue and appends them, while a process
 * syncs the file. The first error is kept, and what comes after it is thrown away.
 */
#ifndef THAW_STORE_DISK_H
#define THAW_STORE_DISK_H

#include "store/append.h"

struct disk;

/* Takes the descriptor of an empty file over, also when it fails. */
int disk_open(int fd, const struct writer_opts *o, struct disk **ret);

/* Takes the chunk over. Waits while the queue is full. */
void disk_put(struct disk *d, struct chunk *c);

/* Waits until everything that was put is written; returns disk_status(). */
int disk_wait(struct disk *d);
int disk_status(struct disk *d);
uint64_t disk_bytes(const struct disk *d);

/* Writes what is in the queue, seals the file if `cause` is not 0, frees; the first error. */
int disk_close(struct disk *d, enum end_cause cause);

#endif
