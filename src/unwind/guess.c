// SPDX-License-Identifier: MIT
/*
 * Searches a copy of the stack for the caller of code that has neither unwind information nor a
 * frame pointer. arch/unwind.h says what a caller looks like. The code itself is not available
 * here, so nobody can check that a word points after a call. But there is time to follow each
 * candidate to its end: one that leads neither to the entry of its program or thread nor into other
 * code without unwind information is no caller.
 *
 * A program may make a stack where each word leads far, but nowhere. That must not keep the
 * collector from its rings, so all guesses of a walk together have UNWIND_FOLLOWED_MAX steps.
 */
#include "unwind/step.h"

#define FOLLOW_MAX 256 /* frames */

/* No call returns to the beginning of a function, or to code that calls nobody. */
static bool calls_from(const struct memory_reader *r, uint64_t pc)
{
	struct unwind_rule before, at;

	if (unwind_rule_at(r, pc - 1, &before) != UNWIND_STOP_NONE)
		return false;
	return unwind_rule_at(r, pc, &at) != UNWIND_STOP_NONE || at.cfa != UNWIND_CFA_RSP ||
	       at.cfa_off % UNWIND_GUESS_STEP == 0;
}

static bool unwind_guess_follow(struct memory_reader *r, struct unwind_regs regs)
{
	struct unwind_rule rule;
	enum unwind_stop stop;

	for (int i = 0; i < FOLLOW_MAX; i++) {
		if (r->followed == UNWIND_FOLLOWED_MAX)
			return false;
		r->followed++;
		stop = unwind_rule_at(r, regs.pc - !regs.exact, &rule);
		if (stop == UNWIND_STOP_FP_END)
			return i > 0;
		if (stop != UNWIND_STOP_NONE)
			return false;
		stop = unwind_apply(r, &rule, &regs);
		if (!i && !unwind_guess_leads(r, stop, &regs))
			return false;
		/* The candidate was right up to the end of the copy. */
		if (stop == UNWIND_STOP_END || stop == UNWIND_STOP_READ)
			return true;
		if (stop != UNWIND_STOP_NONE)
			return false;
	}
	return true;
}

/* Tries the candidate with each word that may be its rbp, and without one. */
static bool guess_try(struct memory_reader *r, __u64 slot, __u64 pc, struct unwind_regs *regs)
{
	for (uint32_t k = 0; k <= UNWIND_GUESS_SAVED + 1; k++) {
		__u64 bp = k <= UNWIND_GUESS_SAVED ? unwind_guess_bp(r, slot, regs, k) : 0;
		struct unwind_regs trial = *regs;

		if (!bp && k <= UNWIND_GUESS_SAVED)
			continue;
		unwind_guess_take(slot, pc, bp, &trial);
		if (!unwind_guess_follow(r, trial))
			continue;
		*regs = trial;
		return true;
	}
	return false;
}

bool unwind_guess(struct memory_reader *r, struct unwind_regs *regs)
{
	__u64 slot = unwind_guess_first(regs->sp), pc;

	for (uint32_t i = 0; i < UNWIND_GUESS_SLOTS; i++, slot += UNWIND_GUESS_STEP) {
		if (UNWIND_READ(r, slot, &pc))
			return false;
		if (calls_from(r, pc) && guess_try(r, slot, pc, regs))
			return true;
	}
	return false;
}
