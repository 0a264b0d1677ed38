/* SPDX-License-Identifier: MIT */
/* The steps that thaw took while it recorded, in plain words. */
#ifndef THAW_REPORT_STEPS_H
#define THAW_REPORT_STEPS_H

#include "base/buf.h"
#include "wire/event.h"

/* "thaw used 4.2% of the machine's CPU time (allowed: 3.0%): no samples from then on" */
void step_words(struct buf *b, const struct ev_mark *mark);
/* "rate", "overhead": the names that other outputs use. */
const char *step_name(uint32_t step);
const char *step_cause_name(uint32_t cause);
/* For a status line; "" if there is nothing to say. */
const char *step_label(uint32_t step);

#endif
