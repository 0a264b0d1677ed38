// SPDX-License-Identifier: MIT
/* The scheduler's state as a reason. The order of the rules matters: the odd states come first,
 * because the kernel sets them together with the ordinary ones. */
#include "model/reason.h"

#include "wire/event.h"

enum reason reason_of_state(uint32_t state)
{
	static const struct {
		uint32_t all; /* bits that must be set */
		enum reason reason;
	} rules[] = {
		{STATE_DEAD, REASON_DEAD},
		{STATE_ZOMBIE, REASON_DEAD},
		{STATE_GONE, REASON_DEAD},
		{STATE_TRACED, REASON_TRACED},
		{STATE_STOPPED, REASON_STOPPED},
		{STATE_PARKED, REASON_PARKED},
		{STATE_FROZEN, REASON_FROZEN},
		{STATE_RTLOCK, REASON_KERNEL_LOCK},
		{STATE_UNINTERRUPTIBLE | STATE_NOLOAD, REASON_IDLE},
		{STATE_UNINTERRUPTIBLE | STATE_IOWAIT, REASON_DISK},
		{STATE_UNINTERRUPTIBLE, REASON_UNKNOWN},
		{STATE_INTERRUPTIBLE, REASON_UNKNOWN},
	};

	if (state == STATE_INTERRUPTIBLE) /* of most waits */
		return REASON_UNKNOWN;
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((state & rules[i].all) == rules[i].all)
			return rules[i].reason;
	return REASON_UNKNOWN;
}

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
