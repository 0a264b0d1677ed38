/* SPDX-License-Identifier: MIT */
/*
 * The walk over a user stack outside of the kernel: from a thread's registers to the addresses of
 * its calls. The caller's unwind_ops say what lies at an address, and read the stack, from a copy
 * or from the process. The steps are those of arch/unwind.h, which the probes share.
 */
#ifndef THAW_UNWIND_WALK_H
#define THAW_UNWIND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"
#include "arch/unwind.h"

enum unwind_code {
	UNWIND_CODE_NONE, /* no mapping, or no code */
	UNWIND_CODE_FILE, /* code of a file: by its table */
	UNWIND_CODE_ANON, /* without a file (JIT): by frame pointers and guesses */
};

struct unwind_place {
	enum unwind_code kind;
	const struct unwind_table *table; /* of a file; NULL if it has none */
	uint64_t bias;			  /* address in the process - address in the file */
};

struct unwind_ops {
	struct unwind_place (*find)(void *ctx, uint64_t pc);
	/* A word of the stack; not zero if it cannot be read. */
	int (*read)(void *ctx, uint64_t addr, uint64_t *ret);
};

/*
 * Fills ips with up to `max` addresses and says how many: first where the thread is, then return
 * addresses, outwards. *ret_stop says why there are no more. UNWIND_GUESSED marks an address whose
 * caller was guessed.
 */
size_t unwind_walk(const struct unwind_ops *ops, void *ctx, struct unwind_regs regs, uint64_t *ips,
		   size_t max, enum unwind_stop *ret_stop);

#endif
