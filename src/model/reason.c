// SPDX-License-Identifier: MIT
#include "model/reason.h"

static const struct {
	const char *name, *label, *words;
} reasons[REASONS] = {
#define REASON(id, UPPER, name, label, words) [id] = {name, label, words},
#include "model/wait.def"
};

static const struct {
	const char *name, *words;
} evidences[EVIDENCES] = {
#define EVIDENCE(id, UPPER, name, words) [id] = {name, words},
#include "model/wait.def"
};

/* Numbers from the future, and those that are not used any more, are not known. */
static enum reason known(enum reason r)
{
	return r < REASONS && reasons[r].name ? r : REASON_UNKNOWN;
}

const char *reason_name(enum reason r)
{
	return reasons[known(r)].name;
}

const char *reason_label(enum reason r)
{
	return reasons[known(r)].label;
}

const char *reason_words(enum reason r)
{
	return reasons[known(r)].words;
}

const char *evidence_name(enum evidence e)
{
	return evidences[e < EVIDENCES ? e : EVIDENCE_NONE].name;
}

const char *evidence_words(enum evidence e)
{
	return evidences[e < EVIDENCES ? e : EVIDENCE_NONE].words;
}
