/* SPDX-License-Identifier: MIT */
/* Why a thread waits: the rows of reason.def, and the rule that picks one. */
#ifndef THAW_MODEL_REASON_H
#define THAW_MODEL_REASON_H

#include <stdint.h>

enum reason {
#define REASON(id, UPPER, name, label, words) REASON_##UPPER = id,
#include "model/reason.def"
	REASONS,
};

/* From the scheduler's state bits (wire/event.h). */
enum reason reason_of_state(uint32_t state);

const char *reason_name(enum reason r);
const char *reason_label(enum reason r);
const char *reason_words(enum reason r);

#endif
