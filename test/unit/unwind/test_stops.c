// SPDX-License-Identifier: MIT
/*
 * Why walks stop, and what they do not stop at: a stack of a few words, a table of a few rules, and
 * a page of code without a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "unwind/walk.h"

#define CODE 0x400000ull  /* the table's 0x10000 */
#define JIT 0x500000ull	  /* no file */
#define BARE 0x600000ull  /* a file without a table */
#define STACK 0x7ff000ull /* what can be read */
#define WORDS 32

enum { IN_RSP16 = 0x000, IN_RBP = 0x100, IN_END = 0x200, IN_UNKNOWN = 0x300, IN_NONE = 0x380 };
enum { IN_LOST = 0x400, IN_BACK = 0x500, IN_SIGNAL = 0x600, IN_RBP_AT_RBP = 0x700 };

static struct unwind_rule rules[] = {
	{.cfa = UNWIND_CFA_NONE},
	{.cfa = UNWIND_CFA_UNKNOWN},
	{.cfa = UNWIND_CFA_RSP, .cfa_off = 16},
	{.cfa = UNWIND_CFA_RBP, .cfa_off = 16, .rbp = UNWIND_RBP_AT_CFA, .rbp_off = -16},
	{.cfa = UNWIND_CFA_END},
	{.cfa = UNWIND_CFA_RSP, .cfa_off = 16, .rbp = UNWIND_RBP_UNKNOWN},
	{.cfa = UNWIND_CFA_RSP, .cfa_off = -8},
	{.cfa = UNWIND_CFA_SIGNAL},
	{.cfa = UNWIND_CFA_RSP, .cfa_off = 16, .rbp = UNWIND_RBP_AT_RBP, .rbp_off = 8},
};
static struct unwind_row rows[] = {
	{IN_RSP16, 2}, {IN_RBP, 3},  {IN_END, 4},    {IN_UNKNOWN, 1},	 {IN_NONE, 0},
	{IN_LOST, 5},  {IN_BACK, 6}, {IN_SIGNAL, 7}, {IN_RBP_AT_RBP, 8}, {0x800, 0},
};
static uint32_t leaf[UNWIND_LEAF_HEAD + 10], *shelf = leaf, dir;
static const struct unwind_table table = {
	.first = 0x10000,
	.dir = &dir,
	.n_leaves = 1,
	.shelves = &shelf,
	.rules = rules,
	.n_rules = 9,
};

/* Five rows in the first block, four in the next, and the end. */
static int make_leaf(void **state)
{
	for (uint32_t b = 0; b <= UNWIND_LEAF_BLOCKS; b++)
		leaf[b] = b == 0 ? 0 : b == 1 ? 5 : b == 2 ? 9 : 10;
	memcpy(leaf + UNWIND_LEAF_HEAD, rows, sizeof(rows));
	return 0;
}

static uint64_t stack[WORDS], ips[8];
static enum unwind_stop stop;

static struct unwind_place find(void *ctx, uint64_t pc)
{
	uint64_t page = pc & ~0xfffull;

	return (struct unwind_place){
		.kind = page == CODE || page == BARE ? UNWIND_CODE_FILE
			: page == JIT		     ? UNWIND_CODE_ANON
						     : UNWIND_CODE_NONE,
		.table = page == CODE ? &table : NULL,
		.bias = CODE - table.first,
	};
}

static int read_stack(void *ctx, uint64_t addr, uint64_t *ret)
{
	if (addr < STACK || addr >= STACK + sizeof(stack) || addr & 7)
		return -1;
	*ret = stack[(addr - STACK) / 8];
	return 0;
}

static size_t walk(uint64_t pc, uint64_t sp, uint64_t bp)
{
	static const struct unwind_ops ops = {.find = find, .read = read_stack};
	struct unwind_regs regs = {.pc = pc, .sp = sp, .bp = bp, .exact = 1};

	return unwind_walk(&ops, NULL, regs, ips, 8, &stop);
}

static void test_to_the_end(void **state)
{
	stack[1] = CODE + IN_RBP + 5; /* from rsp + 16 into a function with a frame pointer, */
	stack[6] = 0x1234;	      /* whose rbp is 6 words up, */
	stack[7] = CODE + IN_END + 9; /* called from the entry */
	assert_int_equal(walk(CODE + IN_RSP16, STACK, STACK + 48), 3);
	assert_int_equal(stop, UNWIND_STOP_END);
	assert_int_equal(ips[0], CODE + IN_RSP16);
	assert_int_equal(ips[1], CODE + IN_RBP + 5);
	assert_int_equal(ips[2], CODE + IN_END + 9);
	/* A return address of zero is an end, too. */
	stack[7] = 0;
	assert_int_equal(walk(CODE + IN_RSP16, STACK, STACK + 48), 2);
	assert_int_equal(stop, UNWIND_STOP_END);
}

/* A call that does not return is the last of its function: the address after it is another's. */
static void test_return_address_belongs_to_the_call(void **state)
{
	stack[1] = CODE + IN_UNKNOWN; /* called from the last byte before it, in the entry */
	assert_int_equal(walk(CODE + IN_RSP16, STACK, 0), 2);
	assert_int_equal(stop, UNWIND_STOP_END);
	/* Where the thread itself is, it is. */
	assert_int_equal(walk(CODE + IN_UNKNOWN, STACK, 0), 1);
	assert_int_equal(stop, UNWIND_STOP_RULE);
}

static void test_stops(void **state)
{
	static const struct {
		uint64_t caller;
		enum unwind_stop stop;
	} cases[] = {
		{CODE + IN_UNKNOWN + 4, UNWIND_STOP_RULE},
		{CODE + IN_NONE + 4, UNWIND_STOP_NO_ROW},
		{CODE + 0xf00, UNWIND_STOP_NO_ROW},
		{BARE + 4, UNWIND_STOP_NO_TABLE},
		{0x900000, UNWIND_STOP_NO_MAP},
		{CODE + IN_BACK + 4, UNWIND_STOP_STUCK},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stack[1] = cases[i].caller;
		assert_int_equal(walk(CODE + IN_RSP16, STACK, 0), 2);
		assert_int_equal(stop, cases[i].stop);
		assert_int_equal(ips[1], cases[i].caller);
	}
	assert_int_equal(walk(CODE + IN_RSP16, STACK + sizeof(stack), 0), 1);
	assert_int_equal(stop, UNWIND_STOP_READ);
	/* A signal's frame of which only the start can be read. */
	assert_int_equal(walk(CODE + IN_SIGNAL, STACK + 128, 0), 1);
	assert_int_equal(stop, UNWIND_STOP_READ);
}

static void test_depth(void **state)
{
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = CODE + 4;
	assert_int_equal(walk(CODE, STACK, 0), 8);
	assert_int_equal(stop, UNWIND_STOP_DEPTH);
}

static void test_lost_rbp(void **state)
{
	/* A frame that needs the lost rbp stops the walk rather than guess. */
	stack[1] = CODE + IN_RBP + 4;
	assert_int_equal(walk(CODE + IN_LOST, STACK, STACK + 32), 2);
	assert_int_equal(stop, UNWIND_STOP_RULE);
	/* One that does not goes on. */
	stack[1] = CODE + IN_RSP16 + 4;
	stack[3] = CODE + IN_END + 4;
	assert_int_equal(walk(CODE + IN_LOST, STACK, STACK + 32), 3);
	assert_int_equal(stop, UNWIND_STOP_END);
}

static void test_rbp_saved_by_rbp(void **state)
{
	stack[1] = CODE + IN_RBP + 4; /* its caller's rbp is read at rbp + 8 */
	stack[5] = STACK + 64;
	stack[9] = CODE + IN_END + 4;
	assert_int_equal(walk(CODE + IN_RBP_AT_RBP, STACK, STACK + 32), 3);
	assert_int_equal(stop, UNWIND_STOP_END);
}

static void test_frame_pointers(void **state)
{
	stack[4] = STACK + 80; /* two frames of run-time code, then a file's */
	stack[5] = JIT + 0x20;
	stack[10] = STACK + 128;
	stack[11] = CODE + IN_RBP + 4;
	stack[17] = CODE + IN_END + 4;
	assert_int_equal(walk(JIT + 0x10, STACK, STACK + 32), 4);
	assert_int_equal(stop, UNWIND_STOP_END);
	assert_int_equal(ips[1], JIT + 0x20);
	assert_int_equal(ips[2], CODE + IN_RBP + 4);
	/* Below the stack pointer there is no frame. */
	memset(stack, 0, sizeof(stack));
	assert_int_equal(walk(JIT + 0x10, STACK + 64, STACK + 32), 1);
	assert_int_equal(stop, UNWIND_STOP_FP_END);
}

/* Run-time code that uses rbp as it likes: its caller is looked for, and said to be a guess. */
static void test_guess(void **state)
{
	memset(stack, 0, sizeof(stack));
	stack[0] = CODE + IN_RSP16 + 4; /* not where a call leaves its return address */
	stack[1] = CODE + IN_NONE + 4;	/* no code */
	stack[3] = CODE + IN_RSP16 + 4; /* does not lead on */
	stack[7] = CODE + IN_RSP16 + 8;
	stack[9] = CODE + IN_END + 4;
	assert_int_equal(walk(JIT + 0x10, STACK, 12345), 3);
	assert_int_equal(stop, UNWIND_STOP_END);
	assert_int_equal(ips[0], (JIT + 0x10) | UNWIND_GUESSED);
	assert_int_equal(ips[1], CODE + IN_RSP16 + 8);
	assert_int_equal(ips[2], CODE + IN_END + 4);
	/* A caller with a frame pointer, which the run-time code has pushed. */
	memset(stack, 0, sizeof(stack));
	stack[2] = STACK + 64;
	stack[3] = CODE + IN_RBP + 4;
	stack[9] = CODE + IN_END + 4;
	assert_int_equal(walk(JIT + 0x10, STACK, 12345), 3);
	assert_int_equal(ips[0], (JIT + 0x10) | UNWIND_GUESSED);
	assert_int_equal(ips[1], CODE + IN_RBP + 4);
	assert_int_equal(ips[2], CODE + IN_END + 4);
	/* Nothing that leads anywhere: no guess. */
	memset(stack, 0, sizeof(stack));
	stack[3] = CODE + IN_RSP16 + 4;
	assert_int_equal(walk(JIT + 0x10, STACK, 12345), 1);
	assert_int_equal(stop, UNWIND_STOP_FP_END);
	assert_int_equal(ips[0], JIT + 0x10);
}

static void test_signal_frame(void **state)
{
	/* 5 words of ucontext, then the registers; the interrupted pc is exact. */
	memset(stack, 0, sizeof(stack));
	stack[5 + UNWIND_GREG_RSP] = STACK + 8 * 26;
	stack[5 + UNWIND_GREG_RIP] = CODE + IN_RSP16; /* its first byte: pc - 1 is not code */
	stack[27] = CODE + IN_END + 4;
	assert_int_equal(walk(CODE + IN_SIGNAL, STACK, 0), 3);
	assert_int_equal(stop, UNWIND_STOP_END);
	assert_int_equal(ips[1], CODE + IN_RSP16);
	assert_int_equal(ips[2], CODE + IN_END + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_the_end),
		cmocka_unit_test(test_return_address_belongs_to_the_call),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_lost_rbp),
		cmocka_unit_test(test_rbp_saved_by_rbp),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_signal_frame),
	};

	return cmocka_run_group_tests(tests, make_leaf, NULL);
}
