/* SPDX-License-Identifier: MIT */
/*
 * An unwind table as bytes, which the child that reads files sends to the recorder, and which are
 * kept on disk. They are only for the machine that made them; bytes of another version, or damaged
 * ones, are refused.
 */
#ifndef THAW_UNWIND_PACK_H
#define THAW_UNWIND_PACK_H

#include "base/buf.h"
#include "unwind/table.h"

/* Increase it whenever the same file gives another table, or the same table other bytes. */
#define UNWIND_PACK_VERSION 2u
/* No table is longer. */
#define UNWIND_PACK_MAX                                                                            \
	(1024 + UNWIND_LOADS_MAX * sizeof(struct unwind_load) + UNWIND_LEAVES_MAX * 4 +            \
	 UNWIND_LEAVES_MAX * UNWIND_LEAF_HEAD * 4 + UNWIND_ROWS_MAX * 4ull +                       \
	 UNWIND_RULES_MAX * sizeof(struct unwind_rule))

void unwind_pack(const struct unwind_table *t, struct buf *out);
/* Takes the bytes over if they pass the checks for a table; else -EBADMSG. */
int unwind_unpack(struct buf *bytes, struct unwind_table **ret);

#endif
