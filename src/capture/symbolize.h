/* SPDX-License-Identifier: MIT */
/*
 * Names for all frames of a capture, and for the data in which its locks lie: at the end of its
 * recording, or later on the same machine.
 */
#ifndef THAW_CAPTURE_SYMBOLIZE_H
#define THAW_CAPTURE_SYMBOLIZE_H

#include "store/reader.h"
#include "store/symtab.h"

/*
 * Whatever can be named is; what cannot is left out. Kernel frames are named only when this is
 * still the boot that was recorded. `notes` gets words about modules that had changed, or "".
 * Reads all events, and rewinds.
 */
struct symtab *symbolize(struct reader *r, char *notes, size_t notes_room);

/*
 * The same for a capture that still grows: each call names what has come since the last, into
 * `into`, and stops asking when `until_ns` (of clock_mono_ns()) has come; what is left then stays
 * without a name.
 */
struct namer;
struct namer *namer_new(void);
/* events: another reader of the same capture, which is read on from where it stands. */
void namer_more(struct namer *n, const struct reader *r, struct reader *events, uint64_t until_ns,
		struct symtab *into);
void namer_free(struct namer *n);

#endif
