/* SPDX-License-Identifier: MIT */
/*
 * Names for all frames of a capture, and for the data in which its locks lie: at the end of its
 * recording, or later on the same machine.
 */
#ifndef THAW_RECORD_SYMBOLIZE_H
#define THAW_RECORD_SYMBOLIZE_H

#include "store/reader.h"
#include "store/symtab.h"

/*
 * Leaves out what it cannot name. Names kernel frames only in the boot that was recorded. `notes`
 * says which modules had changed, or is "". Reads all events, and rewinds. `namer` may be NULL.
 */
struct namer;
struct symtab *symbolize(struct reader *r, struct namer *namer, char *notes, size_t notes_room);

/*
 * The same for a capture that still grows: each call names, into `into`, what has come since the
 * last call. It stops at `until_ns` (of clock_mono_ns()); what is left by then gets no name.
 */
/* kept_dir: see kept_for(). */
struct namer *namer_new(const char *kept_dir);
/* Adds kernel code that has a name already; an engine_code_fn. */
void namer_own_code(void *namer, uint64_t begin, uint64_t end, const char *name);
/* events: another reader of the same capture, which is read on from where it stands. */
void namer_more(struct namer *n, const struct reader *r, struct reader *events, uint64_t until_ns,
		struct symtab *into);
void namer_free(struct namer *n);

#endif
