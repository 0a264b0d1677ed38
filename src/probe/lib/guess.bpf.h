/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Searches the stack for the caller of code that has neither unwind information nor a frame
 * pointer: arch/unwind.h says what counts as one. A guess is marked in the list of addresses.
 *
 * A search is a bpf_loop() over UNWIND_GUESS_SLOTS words of the stack at most, most of which are
 * rejected by where they point. It begins only where a walk would end. Included by unwind.bpf.h,
 * whose parts of a step it takes.
 */
#ifndef THAW_PROBE_GUESS_H
#define THAW_PROBE_GUESS_H

struct guess {
	struct stack_walk trial;
	struct unwind_regs start;
	__u64 from; /* the first word */
	/* The best so far: the nearest one after a direct call, or what was found. */
	__u64 at, pc, bp;
	__u64 need; /* an address whose table is not ready */
	/* The candidate under trial, and how many tries are left. */
	__u64 slot, to;
	__u32 slots, tries, fits;
};

/* Is there a stub at `pc`, which only jumps on? */
STEP_PART int jumps_on(__u64 pc)
{
	__u64 code[UNWIND_STUB_WORDS + 1] = {};

	if (bpf_probe_read_user(code, UNWIND_STUB_WORDS * 8, (void *)pc))
		return 0;
	return unwind_stub_jumps(code);
}

/* enum unwind_call */
STEP_PART int call_before(__u64 code)
{
	return unwind_call_before(code);
}

/* Can a direct call to `target` have led to code without a table? */
static __always_inline bool direct_fits(struct guess *g, __u64 target)
{
	if (!find_mapping(&g->trial, target))
		return false;
	return g->trial.object == OBJECT_ANON || g->trial.object == OBJECT_NO_TABLE ||
	       jumps_on(target);
}

/* The k-th word that may be the candidate's rbp; 0: this one cannot. */
STEP_PART __u64 guess_bp(const struct unwind_regs *r, __u64 slot, __u32 k)
{
	return r ? unwind_guess_bp(NULL, slot, r, k) : 0;
}

/* enum unwind_stop: one step by a rule that is known. */
STEP_PART int guess_step(struct unwind_regs *regs, __u32 index)
{
	struct unwind_rule *rules = (struct unwind_rule *)shelf_of(2 * index), copy;

	if (!regs || !rules)
		return UNWIND_STOP_NO_TABLE;
	copy = rules[index & (SHELF_WORDS / 2 - 1)];
	return unwind_apply(NULL, &copy, regs);
}

/* Do the first steps from trial.regs lead on? */
#define GUESS_STEPS 8
STEP_PART int guess_follow(struct guess *g)
{
	enum unwind_stop stop;
	__u32 index;

	if (!g)
		return 0;
	for (__u32 i = 0; i < GUESS_STEPS; i++) {
		__u64 pc = g->trial.regs.pc - !g->trial.regs.exact;

		if (!find_mapping(&g->trial, pc))
			return 0;
		/* Other code without a table that is ready: any step before has led somewhere. */
		if (g->trial.object < OBJECT_FIRST)
			return i;
		index = find_rule(g->trial.object, pc - g->trial.bias);
		stop = guess_step(&g->trial.regs, index);
		if (i && stop == UNWIND_STOP_END)
			return 1;
		if (!unwind_guess_leads(NULL, stop, &g->trial.regs))
			return 0;
		if (stop == UNWIND_STOP_END)
			return 1;
	}
	return 1;
}

/* The next candidate that comes after a call; 1 if there is none left. */
STEP_PART int guess_next(struct guess *g)
{
	__u64 slot, pc, code, to;
	enum unwind_call call;

	if (!g)
		return 1;
	slot = g->from + (__u64)UNWIND_GUESS_STEP * g->slots;
	if (g->slots++ >= UNWIND_GUESS_SLOTS || UNWIND_READ(NULL, slot, &pc))
		return 1;
	if (((pc - 1 < g->trial.start) | (pc - 1 >= g->trial.end)) &&
	    !find_mapping(&g->trial, pc - 1))
		return 0;
	if (g->trial.object < OBJECT_FIRST && g->trial.object != OBJECT_NOT_READY)
		return 0;
	if (UNWIND_READ(NULL, pc - 8, &code))
		return 0;
	call = call_before(code);
	if (call == UNWIND_CALL_NONE)
		return 0;
	if (g->trial.object == OBJECT_NOT_READY) {
		g->need = pc;
		return 1;
	}
	/* A call through a word beside the code counts as direct: the word can be read. */
	to = unwind_call_operand(pc, code);
	if (call == UNWIND_CALL_INDIRECT && unwind_call_by_word(code)) {
		if (UNWIND_READ(NULL, to, &to))
			return 0;
		call = UNWIND_CALL_DIRECT;
	}
	g->fits = call == UNWIND_CALL_INDIRECT || direct_fits(g, to);
	if (!g->fits && g->at)
		return 0;
	g->slot = slot;
	g->to = pc;
	g->tries = UNWIND_GUESS_SAVED + 2;
	return 0;
}

/* Tries the candidate with the next word that may be its rbp, at last without; 1: found. */
static __always_inline long guess_try(struct guess *g)
{
	__u32 k = UNWIND_GUESS_SAVED + 2 - g->tries--;
	__u64 bp = k <= UNWIND_GUESS_SAVED ? guess_bp(&g->start, g->slot, k) : 0;

	if (!bp && k <= UNWIND_GUESS_SAVED)
		return 0;
	unwind_guess_take(g->slot, g->to, bp, &g->trial.regs);
	if (!guess_follow(g))
		return 0;
	g->at = g->slot;
	g->pc = g->to;
	g->bp = bp;
	g->tries = 0;
	return g->fits & 1;
}

/* One loop over candidates and tries: the verifier sees neither of them inside the other. */
static long guess_on(__u32 i, struct guess *g)
{
	return g->tries ? guess_try(g) : guess_next(g) & 1;
}

/* enum unwind_stop: FP_END if none was found. */
STEP_PART int step_by_guess(struct stack_walk *w)
{
	struct guess g = {};

	if (!w)
		return UNWIND_STOP_FP_END;
	g.trial.space = w->space;
	g.start = w->regs;
	g.from = unwind_guess_first(w->regs.sp);
	bpf_loop(UNWIND_GUESS_SLOTS * (UNWIND_GUESS_SAVED + 3) + 1, guess_on, &g, 0);
	if (g.need) {
		w->bias = g.need;
		w->flags |= WALK_NEED;
		return UNWIND_STOP_NOT_READY;
	}
	if (!g.at)
		return UNWIND_STOP_FP_END;
	unwind_guess_take(g.at, g.pc, g.bp, &w->regs);
	return UNWIND_STOP_NONE;
}

#endif
