/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables that were built before, on disk: the next recording begins with them.
 *
 * An entry is the table of one file in one state: device, inode, size and time of last change make
 * its name, and are repeated inside. A build id would not do: any user could give a file the C
 * library's build id, and so decide how thaw walks everybody's stacks. Nobody can set a time of
 * change. (On a file system that a user serves, where that is possible, nothing is kept.) The
 * table's build id is always compared with the one that was asked for.
 */
#ifndef THAW_UNWIND_TABLES_KEPT_H
#define THAW_UNWIND_TABLES_KEPT_H

#include "kept/folder.h"
#include "symbol/opener.h"
#include "unwind/table.h"

/* The table of a file, or NULL. `k` may be NULL. */
struct unwind_table *kept_get(struct kept *k, const struct opener_facts *f);
/* Keeps a table that was built from the file after it was seen in this state. */
void kept_put(struct kept *k, const struct opener_facts *f, const struct unwind_table *t);

#endif
