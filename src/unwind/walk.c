// SPDX-License-Identifier: MIT
/* The steps of wire/unwind.h, each with the rule of the address that it starts from. */
#include <linux/types.h>

/* Before the first header that includes wire/unwind.h: the steps read through it. */
static inline int read_word(void *reader, __u64 addr, __u64 *ret);
#define UNWIND_READ(ctx, addr, ret) read_word(ctx, addr, ret)

#include "unwind/walk.h"

struct reader {
	const struct unwind_ops *ops;
	void *ctx;
};

static inline int read_word(void *reader, __u64 addr, __u64 *ret)
{
	const struct reader *r = reader;
	uint64_t val;
	int rc = r->ops->read(r->ctx, addr, &val);

	if (!rc)
		*ret = val;
	return rc;
}

static enum unwind_stop step(struct reader *r, struct unwind_regs *regs)
{
	/* A return address may be the first of the next function: the call is what counts. */
	uint64_t pc = regs->pc - !regs->exact;
	struct unwind_place place = r->ops->find(r->ctx, pc);
	struct unwind_rule rule;

	switch (place.kind) {
	case UNWIND_CODE_NONE:
		return UNWIND_STOP_NO_MAP;
	case UNWIND_CODE_ANON:
		return unwind_by_frame_pointer(r, regs);
	case UNWIND_CODE_FILE:
		break;
	}
	if (!place.table)
		return UNWIND_STOP_NO_TABLE;
	if (!unwind_table_find(place.table, pc - place.bias, &rule))
		return UNWIND_STOP_NO_ROW;
	return unwind_apply(r, &rule, regs);
}

size_t unwind_walk(const struct unwind_ops *ops, void *ctx, struct unwind_regs regs, uint64_t *ips,
		   size_t max, enum unwind_stop *ret_stop)
{
	struct reader r = {.ops = ops, .ctx = ctx};
	enum unwind_stop stop = UNWIND_STOP_DEPTH;
	size_t n = 0;

	while (n < max) {
		ips[n++] = regs.pc;
		stop = step(&r, &regs);
		if (stop != UNWIND_STOP_NONE)
			break;
		stop = UNWIND_STOP_DEPTH;
	}
	*ret_stop = stop;
	return n;
}
