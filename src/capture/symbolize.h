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

/*
 * The same for a capture that still grows: each call names what has come since the last, into
 * `into`, and stops asking when `until_ns` (of clock_mono_ns()) has come; what is left then stays
 * without a name.
 */
struct namer;
struct namer *namer_new(void);
void namer_more(struct namer *n, const struct reader *r, uint64_t until_ns, struct symtab *into);
void namer_free(struct namer *n);

#endif
