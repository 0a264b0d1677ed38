/* SPDX-License-Identifier: MIT */
/*
 * The steps of arch/unwind.h as the walk (walk.c) and the search for callers (guess.c) take them.
 * To be included first: the steps read through what is defined here.
 */
#ifndef THAW_UNWIND_STEP_H
#define THAW_UNWIND_STEP_H

#include <linux/types.h>

static inline int read_word(void *reader, __u64 addr, __u64 *ret);
static inline int may_return_to(void *reader, __u64 pc);
#define UNWIND_READ(ctx, addr, ret) read_word(ctx, addr, ret)
#define UNWIND_RETURN(ctx, pc) may_return_to(ctx, pc)

#include "unwind/walk.h"

/* How many steps all guesses of a walk may take: each is a search in an unwind table. */
#define UNWIND_FOLLOWED_MAX 16384u
struct memory_reader {
	const struct unwind_ops *ops;
	void *ctx;
	uint32_t followed; /* steps taken from guessed callers */
};

static inline int read_word(void *reader, __u64 addr, __u64 *ret)
{
	const struct memory_reader *r = reader;
	uint64_t val;
	int rc = r->ops->read(r->ctx, addr, &val);

	if (!rc)
		*ret = val;
	return rc;
}

/* The rule of an address. */
static inline enum unwind_stop unwind_rule_at(const struct memory_reader *r, uint64_t pc,
					      struct unwind_rule *ret)
{
	struct unwind_place place = r->ops->find(r->ctx, pc);

	if (place.kind == UNWIND_CODE_NONE)
		return UNWIND_STOP_NO_MAP;
	if (place.kind == UNWIND_CODE_ANON)
		return UNWIND_STOP_FP_END;
	if (!place.table)
		return UNWIND_STOP_NO_TABLE;
	return unwind_table_find(place.table, pc - place.bias, ret) ? UNWIND_STOP_NONE
								    : UNWIND_STOP_NO_ROW;
}

/* Code is not available here, only its rules. */
static inline int may_return_to(void *reader, __u64 pc)
{
	struct unwind_rule rule;
	enum unwind_stop stop = unwind_rule_at(reader, pc - 1, &rule);

	return stop == UNWIND_STOP_NONE || stop == UNWIND_STOP_FP_END;
}

/* From code without unwind information to its caller. False, with nothing changed: none found. */
bool unwind_guess(struct memory_reader *r, struct unwind_regs *regs);

#endif
