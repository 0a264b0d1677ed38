/* SPDX-License-Identifier: MIT */
/* Names for all frames of a capture: at the end of its recording, or later on the same machine. */
#ifndef THAW_CAPTURE_SYMBOLIZE_H
#define THAW_CAPTURE_SYMBOLIZE_H

#include "store/reader.h"
#include "store/symtab.h"

/*
 * Whatever can be named is; what cannot is left out. Kernel frames are named only when this is
 * still the boot that was recorded. `notes` gets words about modules that had changed, or "".
 */
struct symtab *symbolize(const struct reader *r, char *notes, size_t notes_room);

#endif
