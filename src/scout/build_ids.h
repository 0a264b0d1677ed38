/* SPDX-License-Identifier: MIT */
/*
 * The build ids of mapped files. Many processes map the same few files, so each is read once, and
 * again when it has changed. A file is known by device, inode, size and the times of its last
 * change. A path is not enough, nor an inode, which another file gets when the first is deleted.
 *
 * Reading may wait forever, so only the scout calls this, from any of its threads.
 */
#ifndef THAW_SCOUT_BUILD_IDS_H
#define THAW_SCOUT_BUILD_IDS_H

#include <stdint.h>

#include "store/types.h"
#include "symbol/opener.h"

struct build_ids;

struct build_id {
	uint8_t len; /* 0: none, or not readable */
	uint8_t id[BUILD_ID_MAX];
};

/* As long as the scout lives, and never freed there. */
struct build_ids *build_ids_new(void);
/* Of a mapped file. */
struct build_id build_ids_ask(struct build_ids *b, const struct opener_want *w);

/* ---- for tests ---- */

void build_ids_free(struct build_ids *b);

#endif
