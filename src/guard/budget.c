// SPDX-License-Identifier: MIT
#include "guard/budget.h"

void budget_init(struct budget *b, uint64_t limit, uint64_t cpus, uint64_t now)
{
	*b = (struct budget){
		.limit = limit, .cpus = cpus ? cpus : 1, .since = now + BUDGET_START_NS};
}

void budget_restart(struct budget *b, uint64_t now, uint64_t used_ns)
{
	b->since = now;
	b->used = used_ns;
}

bool budget_over(struct budget *b, uint64_t now, uint64_t used_ns, uint64_t *ret_share)
{
	uint64_t ns, used, share;

	/* Still starting: only what comes after counts. */
	if (now <= b->since) {
		b->used = used_ns;
		return false;
	}
	ns = now - b->since;
	if (ns < BUDGET_WINDOW_NS)
		return false;
	used = used_ns > b->used ? used_ns - b->used : 0;
	share = (uint64_t)((double)used * BUDGET_WHOLE / ((double)ns * (double)b->cpus));
	*ret_share = share;
	budget_restart(b, now, used_ns);
	return b->limit < BUDGET_WHOLE && share > b->limit;
}

uint64_t budget_counted(uint64_t used_ns, uint64_t build_ns, uint64_t free_ns)
{
	uint64_t free = build_ns < free_ns ? build_ns : free_ns;

	/* The two are not read at the same moment. */
	return used_ns > free ? used_ns - free : 0;
}

#define BIT(step) (1u << (step))

void ladder_init(struct ladder *l, bool rate, bool wait_stacks, bool samples)
{
	l->left = BIT(STEP_DETACH) | (rate && samples ? BIT(STEP_RATE) : 0) |
		  (wait_stacks ? BIT(STEP_WAIT_STACKS) : 0) | (samples ? BIT(STEP_SAMPLES) : 0);
}

/* Which steps an alarm asks for; taken in the order of their numbers. */
static uint32_t steps_for(enum alarm alarm)
{
	switch (alarm) {
	case ALARM_NOTE:
		return 0;
	case ALARM_LOAD:
		return BIT(STEP_RATE) | BIT(STEP_WAIT_STACKS) | BIT(STEP_SAMPLES) |
		       BIT(STEP_DETACH);
	case ALARM_SAMPLING:
		return BIT(STEP_RATE) | BIT(STEP_SAMPLES);
	case ALARM_GRAVE:
		return BIT(STEP_DETACH);
	}
	return 0;
}

enum step ladder_next(struct ladder *l, enum alarm alarm)
{
	uint32_t may = l->left & steps_for(alarm);

	for (unsigned s = STEP_RATE; s <= STEP_DETACH; s++) {
		if (!(may & BIT(s)))
			continue;
		l->left &= ~BIT(s);
		/* Without samples there is no rate to lower. */
		if (s == STEP_SAMPLES)
			l->left &= ~BIT(STEP_RATE);
		if (s == STEP_DETACH)
			l->left = 0;
		return s;
	}
	return STEP_NOTED;
}
