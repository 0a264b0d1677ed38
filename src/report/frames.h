/* SPDX-License-Identifier: MIT */
/* Which frames of a stack say something to a person. */
#ifndef THAW_REPORT_FRAMES_H
#define THAW_REPORT_FRAMES_H

#include <stdbool.h>

#include "model/wait/names.h"

#define PATH_FRAMES 12

/* Names for a short stack, root first; returns how many. If none is telling, the leaf's. */
size_t frames_telling(struct names *names, uint32_t kstack, uint32_t ustack,
		      const char *ret[PATH_FRAMES]);

/* Is it on so many stacks that its name says nothing? */
bool frames_plain(const char *name);

#endif
