// SPDX-License-Identifier: MIT
/*
 * Any bytes as an ELF file: its table is built, what table.h and wire/unwind.h promise of it is
 * checked, and stacks of random words are walked with it. The file's tail is the random words.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define STACK_AT 0x7ffc00000000ull
#define FRAMES 64

struct world {
	const struct unwind_table *table;
	const uint8_t *stack;
	size_t len;
};

static struct unwind_place find(void *ctx, uint64_t pc)
{
	struct world *w = ctx;

	/* Every 16th page is a JIT compiler's, and the upper half is nobody's. */
	if (pc >> 63)
		return (struct unwind_place){.kind = UNWIND_CODE_NONE};
	if ((pc >> 12 & 15) == 3)
		return (struct unwind_place){.kind = UNWIND_CODE_ANON};
	return (struct unwind_place){.kind = UNWIND_CODE_FILE, .table = w->table};
}

static int read_stack(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct world *w = ctx;

	if (addr < STACK_AT || addr - STACK_AT > w->len || w->len - (addr - STACK_AT) < 8)
		return -1;
	memcpy(ret, w->stack + (addr - STACK_AT), 8);
	return 0;
}

static uint64_t row_address(const struct unwind_table *t, size_t block, size_t row)
{
	uint64_t at = t->first + ((uint64_t)block << UNWIND_BLOCK_SHIFT);

	return (at & ~0xffffull) | t->rows[row].pc;
}

static void check_rows(const struct unwind_table *t)
{
	uint64_t last = 0;

	for (size_t b = 0; b < t->n_blocks; b++) {
		PROMISE(t->blocks[b] <= t->blocks[b + 1] && t->blocks[b + 1] <= t->n_rows);
		for (size_t i = t->blocks[b]; i < t->blocks[b + 1]; i++) {
			uint64_t at = row_address(t, b, i);
			struct unwind_rule rule;
			bool found = unwind_table_find(t, at, &rule);

			PROMISE((at - t->first) >> UNWIND_BLOCK_SHIFT == b);
			PROMISE(!i || at > last);
			PROMISE(t->rows[i].rule < t->n_rules);
			PROMISE(!i || t->rows[i].rule != t->rows[i - 1].rule);
			PROMISE(found == (t->rules[t->rows[i].rule].cfa != UNWIND_CFA_NONE));
			PROMISE(!found || !memcmp(&rule, &t->rules[t->rows[i].rule], sizeof(rule)));
			last = at;
		}
	}
}

static void check_table(const struct unwind_table *t)
{
	struct unwind_rule rule;

	PROMISE(t->n_rows && t->n_rows <= UNWIND_ROWS_MAX);
	PROMISE(t->n_rules >= 2 && t->n_rules <= UNWIND_RULES_MAX);
	PROMISE(!(t->first & 0xffff));
	PROMISE(t->blocks[0] == 0 && t->blocks[t->n_blocks] == t->n_rows);
	PROMISE(t->rules[0].cfa == UNWIND_CFA_NONE && t->rules[1].cfa == UNWIND_CFA_UNKNOWN);
	for (size_t i = 0; i < t->n_rules; i++) {
		PROMISE(t->rules[i].cfa <= UNWIND_CFA_RBX);
		/* Bytes that a rule does not use are zero: the same rule is there once. */
		for (size_t k = 0; k < i && i < 64; k++)
			PROMISE(memcmp(&t->rules[i], &t->rules[k], sizeof(rule)));
	}
	check_rows(t);
	/* Nothing is known before the first byte and behind the last. */
	PROMISE(!unwind_table_find(t, t->first - 1, &rule));
	PROMISE(t->rules[t->rows[t->n_rows - 1].rule].cfa == UNWIND_CFA_NONE);
	PROMISE(!unwind_table_find(t, t->first + (t->n_blocks << UNWIND_BLOCK_SHIFT), &rule));
	PROMISE(!unwind_table_find(t, UINT64_MAX, &rule));
}

static void walk(const struct unwind_table *t, const uint8_t *data, size_t size)
{
	static const struct unwind_ops ops = {.find = find, .read = read_stack};
	struct world w = {.table = t, .stack = data, .len = size};
	uint64_t ips[FRAMES];

	for (size_t i = 0; i < 32 && i < t->n_rows; i++) {
		size_t row = i * t->n_rows / 32;
		struct unwind_regs regs = {.sp = STACK_AT, .bp = STACK_AT + 16, .exact = i & 1};
		enum unwind_stop stop = UNWIND_STOP_NONE;
		size_t n, b = 0;

		while (t->blocks[b + 1] <= row && b + 1 < t->n_blocks)
			b += 1;
		regs.pc = row_address(t, b, row);
		n = unwind_walk(&ops, &w, regs, ips, FRAMES, &stop);
		PROMISE(n >= 1 && n <= FRAMES && ips[0] == regs.pc);
		PROMISE(stop > UNWIND_STOP_NONE && stop < UNWIND_STOPS);
		PROMISE(stop != UNWIND_STOP_DEPTH || n == FRAMES);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *t;
	struct elf *e;

	if (elf_open_bytes(data, size, &e))
		return 0;
	if (!unwind_table_build(e, &t)) {
		check_table(t);
		walk(t, data, size);
		unwind_table_free(t);
	}
	elf_free(e);
	return 0;
}
