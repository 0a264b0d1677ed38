// SPDX-License-Identifier: MIT
/*
 * Any bytes as an ELF file: its table is built, what table.h and wire/unwind.h promise of it is
 * checked, and stacks of random words are walked with it. The file's tail is the random words.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/pack.h"
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

	/*
	 * Every 16th page is a JIT compiler's, and the upper half is nobody's; nor is the byte
	 * before it, where the call would be that returns to its beginning.
	 */
	if (pc >= (1ull << 63) - 1)
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

/* The rows, one after the other: leaf by leaf, with what its head and the rows say of each. */
struct rows {
	const struct unwind_table *t;
	size_t leaf;
	uint32_t row; /* of the leaf, the next one */
	uint64_t at;
	uint32_t rule;
};

static bool rows_next(struct rows *r)
{
	for (; r->leaf < r->t->n_leaves; r->leaf++, r->row = 0) {
		uint32_t dir = r->t->dir[r->leaf];
		const uint32_t *leaf = r->t->words + dir;

		if (dir & UNWIND_DIR_RULE) {
			if (r->row++)
				continue;
			r->at = r->t->first + r->leaf * UNWIND_LEAF;
			r->rule = dir & ~UNWIND_DIR_RULE;
			return true;
		}
		if (r->row == leaf[UNWIND_LEAF_BLOCKS])
			continue;
		r->rule = leaf[UNWIND_LEAF_HEAD + r->row] >> 16;
		r->at = r->t->first + r->leaf * UNWIND_LEAF +
			(uint16_t)leaf[UNWIND_LEAF_HEAD + r->row];
		r->row++;
		return true;
	}
	return false;
}

static void check_rows(const struct unwind_table *t)
{
	struct rows r = {.t = t};
	uint64_t last = 0;
	uint32_t rule = 0;
	size_t n = 0;

	while (rows_next(&r)) {
		struct unwind_rule got, before;
		bool found = unwind_table_find(t, r.at, &got);

		PROMISE(!last || r.at > last);
		PROMISE(r.rule < t->n_rules);
		PROMISE(found == (t->rules[r.rule].cfa != UNWIND_CFA_NONE));
		PROMISE(!found || !memcmp(&got, &t->rules[r.rule], sizeof(got)));
		/* Up to the next row it is the last one that holds, over the ends of leaves, too.
		 */
		found = last && unwind_table_find(t, r.at - 1, &before);
		PROMISE(!last || found == (t->rules[rule].cfa != UNWIND_CFA_NONE));
		PROMISE(!found || !memcmp(&before, &t->rules[rule], sizeof(before)));
		last = r.at;
		rule = r.rule;
		n++;
	}
	PROMISE(n && rule == 0);
}

/* It survives the way through bytes, and no byte of them can be another. */
static void check_packed(const struct unwind_table *t, size_t seed)
{
	struct unwind_table *again;
	struct buf b = {0}, damaged = {0};

	unwind_pack(t, &b);
	PROMISE(b.len <= UNWIND_PACK_MAX);
	buf_put(&damaged, b.p, b.len);
	damaged.p[seed % b.len] ^= (uint8_t)(1 + seed % 255);
	PROMISE(unwind_unpack(&damaged, &again) == -EBADMSG);
	damaged.len = seed % b.len;
	PROMISE(unwind_unpack(&damaged, &again) == -EBADMSG);
	PROMISE(!unwind_unpack(&b, &again));
	PROMISE(again->n_words == t->n_words && again->n_leaves == t->n_leaves);
	PROMISE(!memcmp(again->words, t->words, 4 * t->n_words));
	unwind_table_free(again);
	buf_done(&damaged);
}

static void check_table(const struct unwind_table *t)
{
	struct unwind_rule rule;

	PROMISE(t->n_rows && t->n_rows <= UNWIND_ROWS_MAX);
	PROMISE(t->n_rules >= 2 && t->n_rules <= UNWIND_RULES_MAX);
	PROMISE(!unwind_table_check(t));
	PROMISE(t->rules[0].cfa == UNWIND_CFA_NONE && t->rules[1].cfa == UNWIND_CFA_UNKNOWN);
	for (size_t i = 0; i < t->n_rules; i++) {
		PROMISE(t->rules[i].cfa <= UNWIND_CFA_RBX);
		/* Bytes that a rule does not use are zero: the same rule is there once. */
		for (size_t k = 0; k < i && i < 64; k++)
			PROMISE(memcmp(&t->rules[i], &t->rules[k], sizeof(rule)));
	}
	check_rows(t);
	/* Nothing is known before the first byte and after the last. */
	PROMISE(!unwind_table_find(t, t->first - 1, &rule));
	PROMISE(!unwind_table_find(t, t->first + t->n_leaves * UNWIND_LEAF, &rule));
	PROMISE(!unwind_table_find(t, UINT64_MAX, &rule));
}

static void walk(const struct unwind_table *t, const uint8_t *data, size_t size)
{
	static const struct unwind_ops ops = {.find = find, .read = read_stack};
	struct world w = {.table = t, .stack = data, .len = size};
	struct rows rows = {.t = t};
	uint64_t ips[FRAMES];

	for (size_t i = 0; rows_next(&rows); i++) {
		struct unwind_regs regs = {.sp = STACK_AT, .bp = STACK_AT + 16, .exact = i & 1};
		enum unwind_stop stop = UNWIND_STOP_NONE;
		size_t n;

		if (i % (t->n_rows / 32 + 1))
			continue;
		regs.pc = rows.at;
		n = unwind_walk(&ops, &w, regs, ips, FRAMES, &stop);
		PROMISE(n >= 1 && n <= FRAMES && (ips[0] & ~UNWIND_GUESSED) == regs.pc);
		PROMISE(stop > UNWIND_STOP_NONE && stop < UNWIND_STOPS);
		PROMISE(stop != UNWIND_STOP_DEPTH || n == FRAMES);
		/*
		 * The last that a walk came to has no caller, and so none that was guessed. If it
		 * is no address, it may have any bits.
		 */
		PROMISE(stop == UNWIND_STOP_DEPTH || stop == UNWIND_STOP_NO_MAP ||
			!(ips[n - 1] & UNWIND_GUESSED));
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
		check_packed(t, size);
		walk(t, data, size);
		unwind_table_free(t);
	}
	elf_free(e);
	return 0;
}
