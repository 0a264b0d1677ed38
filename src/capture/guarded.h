/* SPDX-License-Identifier: MIT */
/* What the guard said, for those who read a capture and for those who have just made one. */
#ifndef THAW_CAPTURE_GUARDED_H
#define THAW_CAPTURE_GUARDED_H

#include "capture/plan.h"
#include "store/writer.h"

/* The verdict and its findings as facts of the capture: docs/format.md. */
void guard_describe(struct writer *w, const struct plan *plan, const char *engine);

/* One short line, if less is recorded than thaw can, or a risk was accepted; otherwise "". */
void guard_note(const struct plan *plan, const char *engine, char *out, size_t room);

#endif
