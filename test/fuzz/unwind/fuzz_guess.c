// SPDX-License-Identifier: MIT
/*
 * Any stack below code that has neither unwind information nor a frame pointer. The bytes say which
 * rules a page of code has and what the words of the stack are; what arch/unwind.h and
 * unwind/step.h promise of a guess is checked by the stack itself, and so is what a walk full of
 * them costs.
 *
 *   1  flags: the stack begins at a multiple of 16 or 8 bytes behind, rbp is known
 *   2  rbp, as a word of the stack (see word_of)
 *   1  number of rules, then 8 bytes each: a rule as in arch/unwind.h
 *   64 the rule of each 64 bytes of code
 *      the words of the stack, 2 bytes each
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define CODE 0x400000ull
#define JIT 0x500000ull
#define BARE 0x600000ull
#define STACK 0x7ff000ull
#define PAGE 4096u
#define ROW_BYTES 64u
#define ROWS (PAGE / ROW_BYTES)
#define RULES_MAX 18u
#define WORDS_MAX 7680u /* 60 KiB: as much as a probe copies */
#define FRAMES 127u
/*
 * What a walk may search for: a word of the stack is looked at once, for itself (2) and for what
 * its rbp may be (UNWIND_GUESS_SAVED + 1); a step from it, for its rule and for what it leads to.
 */
#define FINDS_MAX ((UNWIND_GUESS_SAVED + 3) * WORDS_MAX / 2 + 2 * UNWIND_FOLLOWED_MAX + 4 * FRAMES)

struct world {
	struct unwind_table table;
	struct unwind_rule rules[RULES_MAX];
	uint32_t dir, leaf[UNWIND_LEAF_HEAD + ROWS + 1], *shelf;
	uint64_t words[WORDS_MAX];
	size_t n_words;
	uint64_t finds;
};

/* The upper three bits say what it is. */
static uint64_t word_of(const uint8_t *p)
{
	uint16_t x = (uint16_t)(p[0] | p[1] << 8), low = x & 0x1fff;

	switch (x >> 13) {
	case 0:
		return low;
	case 1:
		return JIT + low % PAGE;
	case 2:
		return BARE + low % PAGE;
	case 3:
		return STACK + 16 * (uint64_t)low;
	case 4:
		return STACK + 8 * (uint64_t)low;
	case 5:
		return 0ull - low;
	default:
		return CODE + low % PAGE;
	}
}

static struct unwind_place find(void *ctx, uint64_t pc)
{
	struct world *w = ctx;
	uint64_t page = pc & ~(PAGE - 1ull);

	w->finds++;
	return (struct unwind_place){
		.kind = page == CODE || page == BARE ? UNWIND_CODE_FILE
			: page == JIT		     ? UNWIND_CODE_ANON
						     : UNWIND_CODE_NONE,
		.table = page == CODE ? &w->table : NULL,
		.bias = CODE,
	};
}

static int read_stack(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct world *w = ctx;
	uint64_t at = (addr - STACK) / 8;

	if (addr < STACK || addr & 7 || at >= w->n_words)
		return -1;
	*ret = w->words[at];
	return 0;
}

static bool world_make(struct world *w, const uint8_t **p, size_t *size)
{
	size_t n = *size ? **p % (RULES_MAX - 2) : 0;

	if (*size < 1 + 8 * n + ROWS)
		return false;
	w->rules[1].cfa = UNWIND_CFA_UNKNOWN;
	memcpy(w->rules + 2, *p + 1, 8 * n);
	*p += 1 + 8 * n;
	for (uint32_t b = 0; b <= UNWIND_LEAF_BLOCKS; b++) {
		uint32_t before = b * (UNWIND_BLOCK / ROW_BYTES);

		w->leaf[b] = before < ROWS ? before : ROWS + 1;
	}
	/* The rows, and one after them: the rest of the leaf is no code. */
	w->leaf[PAGE / UNWIND_BLOCK] = ROWS;
	for (uint32_t i = 0; i < ROWS; i++)
		w->leaf[UNWIND_LEAF_HEAD + i] = i * ROW_BYTES | (uint32_t)((*p)[i] % (n + 2)) << 16;
	w->leaf[UNWIND_LEAF_HEAD + ROWS] = PAGE;
	*p += ROWS;
	*size -= 1 + 8 * n + ROWS;
	w->shelf = w->leaf;
	w->table = (struct unwind_table){.dir = &w->dir,
					 .n_leaves = 1,
					 .shelves = &w->shelf,
					 .rules = w->rules,
					 .n_rules = n + 2,
					 .n_rows = ROWS + 1,
					 .words = w->leaf,
					 .n_words = UNWIND_LEAF_HEAD + ROWS + 1};
	for (w->n_words = 0; w->n_words < WORDS_MAX && *size >= 2; *p += 2, *size -= 2)
		w->words[w->n_words++] = word_of(*p);
	return true;
}

static bool in_code(uint64_t pc)
{
	return pc - CODE < PAGE;
}

/* The caller's rbp: what it was, or a word that may have been pushed; or it is not known. */
static bool rbp_is_there(struct world *w, const struct unwind_regs *from,
			 const struct unwind_regs *to)
{
	uint64_t slot = to->sp - 8, word;

	if (to->no_bp)
		return !to->bp;
	if (to->bp <= slot || to->bp & 15)
		return false;
	if (!from->no_bp && from->bp == to->bp)
		return true;
	for (uint64_t at = slot - 8; at >= from->sp && slot - at <= 8 * UNWIND_GUESS_SAVED; at -= 8)
		if (!read_stack(w, at, &word) && word == to->bp)
			return true;
	return false;
}

/* What has been taken leads on: to the end of the stack, or into other code without a table. */
static bool leads_on(struct memory_reader *r, struct unwind_regs regs)
{
	uint64_t ips[256];
	enum unwind_stop stop;
	size_t n = unwind_walk(r->ops, r->ctx, regs, ips, 256, &stop);

	for (size_t i = 1; i < n; i++)
		if ((ips[i] & ~UNWIND_GUESSED) - JIT <= PAGE)
			return true;
	return stop == UNWIND_STOP_END ||
	       (n > 1 && (stop == UNWIND_STOP_READ || stop == UNWIND_STOP_DEPTH));
}

static void check_guess(struct memory_reader *r, const struct unwind_regs *from)
{
	struct unwind_regs to = *from;
	uint64_t word;

	if (!unwind_guess(r, &to)) {
		PROMISE(!memcmp(&to, from, sizeof(to)));
		return;
	}
	PROMISE(to.sp > from->sp && !(to.sp & 15));
	PROMISE(to.sp - from->sp <= UNWIND_GUESS_STEP * (UNWIND_GUESS_SLOTS + 1));
	PROMISE(!read_stack(r->ctx, to.sp - 8, &word) && word == to.pc);
	PROMISE(in_code(to.pc - 1) && !to.exact);
	PROMISE(rbp_is_there(r->ctx, from, &to));
	PROMISE(leads_on(r, to));
}

static void check_walk(struct world *w, const struct unwind_ops *ops, struct unwind_regs regs)
{
	uint64_t ips[FRAMES];
	enum unwind_stop stop = UNWIND_STOP_NONE;
	size_t n;

	w->finds = 0;
	n = unwind_walk(ops, w, regs, ips, FRAMES, &stop);
	PROMISE(n >= 1 && n <= FRAMES && stop > UNWIND_STOP_NONE && stop < UNWIND_STOPS);
	/* The last that a walk came to has no caller; if it is no address, it may have any bits. */
	PROMISE(stop == UNWIND_STOP_DEPTH || stop == UNWIND_STOP_NO_MAP ||
		!(ips[n - 1] & UNWIND_GUESSED));
	/* Nobody's stack can keep the collector from its work. */
	PROMISE(w->finds <= FINDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct unwind_ops ops = {.find = find, .read = read_stack};
	static struct world w;
	struct memory_reader r = {.ops = &ops, .ctx = &w};
	struct unwind_regs regs = {.pc = JIT + 64, .sp = STACK, .exact = 1};

	if (size < 3)
		return 0;
	memset(&w, 0, sizeof(w));
	regs.sp += data[0] & 1 ? 8 : 0;
	regs.no_bp = data[0] >> 1 & 1;
	regs.bp = word_of(data + 1);
	data += 3;
	size -= 3;
	if (!world_make(&w, &data, &size))
		return 0;
	PROMISE(!unwind_table_check(&w.table));
	check_guess(&r, &regs);
	check_walk(&w, &ops, regs);
	return 0;
}
