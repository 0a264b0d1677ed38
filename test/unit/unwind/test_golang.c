// SPDX-License-Identifier: MIT
/*
 * Tables from what Go programs know of themselves, with programs made by hand: what a function is,
 * where stacks end, where the code begins, and bytes that are damaged. Real ones are in
 * test/live/stacks.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "unit/unwind/cfi_bytes.h"
#include "unit/unwind/made_elf.h"
#include "unwind/table.h"

#define TEXT 0x401000ull
#define TEXT_SIZE 0x1000ull
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u
#define TOPFRAME 1
#define SPWRITE 2
#define CODE_SIZE 14

struct function {
	const char *name;
	uint32_t begin;
	uint8_t flags;
	const char *rows; /* pairs, as Go has them; the zero after them ends them */
	const char *code;
};

/* sub $0x18; mov %rbp, 0x10(%rsp); lea 0x10(%rsp), %rbp */
#define OLD_FRAME "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10"
#define NEW_FRAME "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x90\x90\x90\x90\x90"
#define NO_FRAME "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"

/* Depth 0 for 4 bytes, 24 for 0x38, 0 for 4: +1, +24, -24, in zigzag. */
#define ROWS "\x02\x04\x30\x38\x2f\x04"
static const struct function all[] = {
	{"runtime.goexit.abi0", 0x000, TOPFRAME, "\x02\x40", NO_FRAME},
	{"main.main", 0x100, 0, ROWS, OLD_FRAME},
	{"runtime.nanotime1.abi0", 0x200, SPWRITE, ROWS, OLD_FRAME},
	{"runtime.systemstack.abi0", 0x300, SPWRITE, "\x02\x40", NO_FRAME},
	{"runtime.mcall", 0x400, SPWRITE, ROWS, NEW_FRAME},
	{"runtime.gogo.abi0", 0x500, SPWRITE, "\x02\x40", NO_FRAME},
	{"runtime.sigtramp.abi0", 0x600, TOPFRAME, ROWS, NO_FRAME},
	{"runtime.asmcgocall.abi0", 0x700, SPWRITE, ROWS, NEW_FRAME},
	{"main.large", 0x800, 0, "\x02\x04\x80\x80\x18\x3c", NO_FRAME},
	{"main.unknown", 0x900, 0, NULL, NO_FRAME},
	/* mov $15, %rax; syscall; int3 */
	{"runtime.sigreturn__sigaction.abi0", 0xa00, 0, "\x02\x0a",
	 "\x48\xc7\xc0\x0f\0\0\0\x0f\x05\xcc\xcc\xcc\xcc\xcc"},
};
#define N (sizeof(all) / sizeof(*all))

static void set64(struct buf *b, size_t at, uint64_t v)
{
	memcpy(b->p + at, &v, 8);
}

static struct buf pclntab(uint32_t magic, uint64_t text)
{
	struct buf b = {0}, names = {0}, rows = {0}, records = {0};
	size_t functab = 8 * N + 4;
	uint32_t end = 0xa20, offsets[N];

	buf_put(&rows, "", 1); /* offset 0 is that of nothing */
	for (size_t i = 0; i < N; i++) {
		const struct function *f = &all[i];
		uint8_t odds[4] = {0, f->flags, 0, 0};

		offsets[i] = (uint32_t)(functab + records.len);
		put32(&records, f->begin);
		put32(&records, (uint32_t)names.len);
		put32(&records, 0);
		put32(&records, 0);
		put32(&records, f->rows ? (uint32_t)rows.len : 0);
		for (int k = 0; k < 4; k++)
			put32(&records, 0);
		if (magic == MAGIC_120)
			put32(&records, 1);
		buf_put(&records, odds, sizeof(odds));
		buf_put(&names, f->name, strlen(f->name) + 1);
		if (f->rows)
			buf_put(&rows, f->rows, strlen(f->rows) + 1);
	}
	buf_put(&names, "padding", 8);
	put32(&b, magic);
	put32(&b, 0x08010000);
	put64(&b, N);
	put64(&b, 0);
	put64(&b, text);
	for (int i = 0; i < 5; i++)
		put64(&b, 0);
	set64(&b, 32, b.len);
	buf_put(&b, names.p, names.len);
	set64(&b, 56, b.len);
	buf_put(&b, rows.p, rows.len);
	set64(&b, 64, b.len);
	for (size_t i = 0; i < N; i++) {
		put32(&b, all[i].begin);
		put32(&b, offsets[i]);
	}
	put32(&b, end);
	buf_put(&b, records.p, records.len);
	buf_done(&names);
	buf_done(&rows);
	buf_done(&records);
	return b;
}

static struct buf program(const struct buf *table, uint64_t entry)
{
	static uint8_t text[TEXT_SIZE];

	for (size_t i = 0; i < N; i++)
		memcpy(text + all[i].begin, all[i].code, CODE_SIZE);
	return made_elf(&(struct made_elf){
		.type = ET_EXEC,
		.entry = entry,
		.address = TEXT,
		.text = text,
		.text_size = TEXT_SIZE,
		.sections = {{".gopclntab", table, false}, {".text", NULL, true}},
	});
}

/* Takes the table. */
static int build(struct buf table, uint64_t entry, struct unwind_table **ret)
{
	struct buf f = program(&table, entry);
	struct elf *e;
	int rc;

	assert_int_equal(elf_open_bytes(f.p, f.len, &e), 0);
	rc = unwind_table_build(e, ret);
	elf_free(e);
	buf_done(&f);
	buf_done(&table);
	return rc;
}

static void expect(const struct unwind_table *t, uint64_t at, enum unwind_cfa cfa, int64_t off)
{
	struct unwind_rule rule = {0};
	bool found = unwind_table_find(t, TEXT + at, &rule);

	if (found != (cfa != UNWIND_CFA_NONE))
		fail_msg("0x%llx: rule %u", (unsigned long long)at, rule.cfa);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_off + rule.cfa_add * 65536, off);
}

static void expect_all(const struct unwind_table *t)
{
	expect(t, 0x000, UNWIND_CFA_END, 0);
	expect(t, 0x03f, UNWIND_CFA_END, 0);
	expect(t, 0x100, UNWIND_CFA_RSP, 8);
	expect(t, 0x104, UNWIND_CFA_RSP, 32);
	expect(t, 0x13b, UNWIND_CFA_RSP, 32);
	expect(t, 0x13c, UNWIND_CFA_RSP, 8);
	/* It goes to another stack in its middle. */
	expect(t, 0x200, UNWIND_CFA_RSP, 8);
	expect(t, 0x210, UNWIND_CFA_RBP_OTHER, 16);
	/* It has its caller's frame pointer all the time. */
	expect(t, 0x300, UNWIND_CFA_RBP_OTHER, 16);
	/* It never comes back. */
	expect(t, 0x410, UNWIND_CFA_END, 0);
	expect(t, 0x510, UNWIND_CFA_END, 0);
	/* The kernel has called it. */
	expect(t, 0x610, UNWIND_CFA_RSP, 32);
	expect(t, 0x710, UNWIND_CFA_RBP_OTHER, 16);
	expect(t, 0x803, UNWIND_CFA_RSP, 8);
	expect(t, 0x804, UNWIND_CFA_RSP, 8 + (3 << 16));
	expect(t, 0x900, UNWIND_CFA_NONE, 0);
	expect(t, 0xa00, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0xb00, UNWIND_CFA_NONE, 0);
}

static void test_versions(void **state)
{
	static const uint32_t magics[] = {MAGIC_118, MAGIC_120};

	for (size_t i = 0; i < 2; i++) {
		struct unwind_table *t;

		assert_int_equal(build(pclntab(magics[i], TEXT), TEXT + 0x500, &t), 0);
		expect_all(t);
		unwind_table_free(t);
	}
}

static void test_other_versions(void **state)
{
	struct unwind_table *t;

	assert_int_equal(build(pclntab(0xfffffffbu, TEXT), TEXT + 0x500, &t), -ENODATA);
	assert_int_equal(build(pclntab(0xffffffffu, TEXT), TEXT + 0x500, &t), -ENODATA);
}

/* The loader would write where the code begins. Then the program must begin with a function. */
static void test_text_not_told(void **state)
{
	struct unwind_table *t;

	assert_int_equal(build(pclntab(MAGIC_120, 0), TEXT + 0x500, &t), 0);
	expect_all(t);
	unwind_table_free(t);
	assert_int_equal(build(pclntab(MAGIC_120, 0), TEXT + 0x504, &t), -ENODATA);
}

/* Whatever is cut off or turned over, there is a table or none. */
static void test_damage(void **state)
{
	struct buf whole = pclntab(MAGIC_120, TEXT);

	for (size_t i = 0; i < 2 * whole.len; i++) {
		struct buf b = {0};
		struct unwind_table *t;

		buf_put(&b, whole.p, i < whole.len ? i : whole.len);
		if (i >= whole.len)
			b.p[i - whole.len] ^= 0x81;
		if (!build(b, TEXT + 0x500, &t)) {
			assert_int_equal(unwind_table_check(t), 0);
			unwind_table_free(t);
		}
	}
	buf_done(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_text_not_told),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
