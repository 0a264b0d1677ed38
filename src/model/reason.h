/* SPDX-License-Identifier: MIT */
/* Why a thread waits: the rows of wait.def, and the rules that pick one. */
#ifndef THAW_MODEL_REASON_H
#define THAW_MODEL_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum reason {
#define REASON(id, UPPER, name, label, words) REASON_##UPPER = id,
#include "model/wait.def"
	REASONS,
};

enum evidence {
#define EVIDENCE(id, UPPER, name, words) EVIDENCE_##UPPER = id,
#include "model/wait.def"
	EVIDENCES,
};

/* What was decided, and by what. */
struct verdict {
	uint8_t reason;	  /* enum reason */
	uint8_t evidence; /* enum evidence */
};

/* "disk" */
const char *reason_name(enum reason r);
/* "kernel lock", for a column of 11 characters. */
const char *reason_label(enum reason r);
/* "for the disk", after "it waited". */
const char *reason_words(enum reason r);

const char *evidence_name(enum evidence e);
const char *evidence_words(enum evidence e);

/* Waits for something to do, or to be let go on: nobody is to be helped by ending it sooner. */
static inline bool reason_is_idle(enum reason r)
{
	return r == REASON_IDLE || r == REASON_PARKED || r == REASON_DEAD;
}

#endif
