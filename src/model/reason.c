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
		{STATE_RTLOCK, REASON_RTLOCK},
		{STATE_UNINTERRUPTIBLE | STATE_NOLOAD, REASON_IDLE_KTHREAD},
		{STATE_UNINTERRUPTIBLE | STATE_IOWAIT, REASON_IO},
		{STATE_UNINTERRUPTIBLE, REASON_UNINTERRUPTIBLE},
		{STATE_INTERRUPTIBLE, REASON_SLEEP},
	};

	if (state == STATE_INTERRUPTIBLE) /* of most waits */
		return REASON_SLEEP;
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((state & rules[i].all) == rules[i].all)
			return rules[i].reason;
	return REASON_UNKNOWN;
}

static const struct {
	const char *name, *label, *words;
} rows[REASONS] = {
#define REASON(id, UPPER, name, label, words) [id] = {name, label, words},
#include "model/reason.def"
};

const char *reason_name(enum reason r)
{
	return rows[r < REASONS ? r : REASON_UNKNOWN].name;
}

const char *reason_label(enum reason r)
{
	return rows[r < REASONS ? r : REASON_UNKNOWN].label;
}

const char *reason_words(enum reason r)
{
	return rows[r < REASONS ? r : REASON_UNKNOWN].words;
}
