// SPDX-License-Identifier: MIT
#include "timeline/reason.h"

static const struct {
	const char *name, *label, *words;
	enum reason_group group;
	unsigned traits;
} reasons[REASONS] = {
#define REASON(id, UPPER, name, label, words, group, traits, level, light, dark)                   \
	[id] = {name, label, words, REASON_GROUP_##group, traits},
#include "timeline/reason.def"
};

static const struct {
	const char *name, *words;
} evidences[EVIDENCES] = {
#define EVIDENCE(id, UPPER, name, words) [id] = {name, words},
#include "timeline/reason.def"
};

/* Numbers of later versions, and retired ones, become REASON_UNKNOWN. */
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

enum reason_group reason_group(enum reason r)
{
	return reasons[known(r)].group;
}

bool reason_has(enum reason r, enum reason_trait trait)
{
	return reasons[known(r)].traits & trait;
}

const char *evidence_name(enum evidence e)
{
	return evidences[e < EVIDENCES ? e : EVIDENCE_NONE].name;
}

const char *evidence_words(enum evidence e)
{
	return evidences[e < EVIDENCES ? e : EVIDENCE_NONE].words;
}
