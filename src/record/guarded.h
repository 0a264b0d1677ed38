/* SPDX-License-Identifier: MIT */
/* Puts the guard's verdict into the capture, and into a line for the user who has just recorded. */
#ifndef THAW_RECORD_GUARDED_H
#define THAW_RECORD_GUARDED_H

#include "engine/plan.h"
#include "store/writer.h"

/* The verdict and its findings as facts of the capture: docs/format.md. */
void guard_describe(struct writer *w, const struct plan *plan, const char *engine);

/* One short line, if less is recorded than thaw can, or a risk was accepted; otherwise "". */
void guard_note(const struct plan *plan, const char *engine, char *out, size_t room);

#endif
