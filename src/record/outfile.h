/* SPDX-License-Identifier: MIT */
/*
 * The file that a capture is written to. Thaw always makes it itself, and never writes into a file
 * that it finds under the name, unless that is empty and ours. The new file stands beside the old
 * one until it is worth keeping; only then is the old one put aside.
 */
#ifndef THAW_RECORD_OUTFILE_H
#define THAW_RECORD_OUTFILE_H

#include <stddef.h>

/*
 * Under sudo the file belongs to the caller. `ret_path` (to be freed) is where it is for now, with
 * links at the end of the name followed.
 */
int outfile_open(const char *path, char **ret_path, int *ret_fd);
/*
 * Gives a file that is worth keeping its final name, and sets *path to it. A file that has the name
 * already is renamed to `saved` ("": there was none). On failure nothing changes.
 */
int outfile_settle(char **path, char *saved, size_t room);

#endif
