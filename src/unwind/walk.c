// SPDX-License-Identifier: MIT
/* The steps of arch/unwind.h, each with the rule of the address that it starts from. */
#include "unwind/step.h"

/* Does rbp, taken as a frame pointer, lead to code? */
static bool chain_leads_on(struct memory_reader *r, const struct unwind_regs *regs)
{
	__u64 pc;

	return !regs->no_bp && regs->bp - regs->sp < UNWIND_STACK_MAX && !(regs->bp & 7) &&
	       !UNWIND_READ(r, regs->bp + 8, &pc) && may_return_to(r, pc);
}

/*
 * Walks code without unwind information by its frame pointer, or by a guess. Code that its object's
 * unwind information leaves out seldom has a frame pointer: there both count as guesses.
 */
static enum unwind_stop step_blind(struct memory_reader *r, struct unwind_regs *regs, bool left_out,
				   bool *ret_guessed)
{
	if (chain_leads_on(r, regs)) {
		*ret_guessed = left_out;
		return unwind_by_frame_pointer(r, regs);
	}
	*ret_guessed = unwind_guess(r, regs);
	if (*ret_guessed)
		return UNWIND_STOP_NONE;
	return left_out ? UNWIND_STOP_NO_ROW : unwind_by_frame_pointer(r, regs);
}

static enum unwind_stop unwind_walk_step(struct memory_reader *r, struct unwind_regs *regs,
					 bool *ret_guessed)
{
	/* A return address may belong to the next function: look up the call before it. */
	uint64_t pc = regs->pc - !regs->exact;
	struct unwind_rule rule;
	enum unwind_stop stop = unwind_rule_at(r, pc, &rule);

	*ret_guessed = false;
	if (stop == UNWIND_STOP_NONE)
		stop = unwind_apply(r, &rule, regs);
	if (stop == UNWIND_STOP_NO_ROW || stop == UNWIND_STOP_FP_END)
		return step_blind(r, regs, stop == UNWIND_STOP_NO_ROW, ret_guessed);
	return stop;
}

size_t unwind_walk(const struct unwind_ops *ops, void *ctx, struct unwind_regs regs, uint64_t *ips,
		   size_t max, enum unwind_stop *ret_stop)
{
	struct memory_reader r = {.ops = ops, .ctx = ctx};
	enum unwind_stop stop = UNWIND_STOP_DEPTH;
	bool guessed;
	size_t n = 0;

	while (n < max) {
		ips[n++] = regs.pc;
		stop = unwind_walk_step(&r, &regs, &guessed);
		if (stop != UNWIND_STOP_NONE)
			break;
		if (guessed)
			ips[n - 1] |= UNWIND_GUESSED;
		stop = UNWIND_STOP_DEPTH;
	}
	*ret_stop = stop;
	return n;
}
