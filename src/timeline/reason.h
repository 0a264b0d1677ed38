/* SPDX-License-Identifier: MIT */
/* Why a thread waits: the rows of reason.def. */
#ifndef THAW_TIMELINE_REASON_H
#define THAW_TIMELINE_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum reason {
#define REASON(id, UPPER, name, label, words, group, traits, level, light, dark)                   \
	REASON_##UPPER = id,
#include "timeline/reason.def"
	REASONS,
};

enum evidence {
#define EVIDENCE(id, UPPER, name, words) EVIDENCE_##UPPER = id,
#include "timeline/reason.def"
	EVIDENCES,
};

enum reason_group {
	REASON_GROUP_OTHER,
	REASON_GROUP_LOCK,    /* another thread has what it wants */
	REASON_GROUP_PEERS,   /* others have to arrive, to end or to signal */
	REASON_GROUP_STORAGE, /* disks and memory */
	REASON_GROUP_TALK,    /* networks, pipes and other channels */
	REASON_GROUP_CPU,
	REASON_GROUP_IDLE, /* something to do, or to be let go on */
};

enum reason_trait {
	TRAIT_LEADS = 1,
	TRAIT_STALLS = 2,
	TRAIT_CHOSEN = 4,
	TRAIT_PALE = 8,
	TRAIT_OUTSIDE = 16,
	TRAIT_ANSWER = 32,
	TRAIT_QUIET = 64,
	TRAIT_LOCK = 128,
	TRAIT_HELD = 256,
	TRAIT_UNSURE = 512,
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

enum reason_group reason_group(enum reason r);
bool reason_has(enum reason r, enum reason_trait trait);

/* Ending such a wait sooner would help nobody. */
static inline bool reason_is_idle(enum reason r)
{
	return reason_group(r) == REASON_GROUP_IDLE;
}

/* It could run: no wait. */
static inline bool reason_is_runnable(enum reason r)
{
	return reason_group(r) == REASON_GROUP_CPU;
}

#endif
