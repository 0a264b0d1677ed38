/* SPDX-License-Identifier: MIT */
/* The file that a capture is written to: what was there before, and whose it is. */
#ifndef THAW_CAPTURE_OUTFILE_H
#define THAW_CAPTURE_OUTFILE_H

#include <stddef.h>

/* A file that is there already is renamed; `saved` says to what, or is "". */
int outfile_put_aside(const char *path, char *saved, size_t room);
/* Under sudo it belongs to who called. */
void outfile_give(const char *path);

#endif
