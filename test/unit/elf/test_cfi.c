// SPDX-License-Identifier: MIT
/* Call frame information by hand: instructions, expressions, encodings, and what is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fuzz/elf/fuzz_cfi.c"
#include "unit/unwind/cfi_bytes.h"

#define BEGIN 0x1000u
#define SIZE 0x100u
#define ROWS_MAX 64

static struct cfi_row row[ROWS_MAX];

/* The rows of one FDE at BEGIN, into row[]. */
static size_t run(const void *program, size_t len)
{
	struct buf b = {0};
	static struct cfi_rows rows;
	struct cfi_fde fde;
	struct cfi c;
	size_t n = 0;

	put_fde(&b, put_cie(&b), BEGIN, SIZE, program, len);
	assert_int_equal(cfi_open_bytes(b.p, b.len, 0, false, &c), 0);
	buf_done(&b);
	assert_true(cfi_next(&c, &fde));
	assert_int_equal(fde.begin, BEGIN);
	assert_int_equal(fde.end, BEGIN + SIZE);
	cfi_rows_init(&rows, &c, &fde);
	while (n < ROWS_MAX && cfi_rows_next(&rows, &row[n]))
		n++;
	assert_false(cfi_next(&c, &fde));
	cfi_done(&c);
	return n;
}

static size_t count_fdes(struct buf *b, uint64_t addr, bool debug, struct cfi_fde *last)
{
	struct cfi_fde fde;
	struct cfi c;
	size_t n = 0;

	assert_int_equal(cfi_open_bytes(b->p, b->len, addr, debug, &c), 0);
	for (; cfi_next(&c, &fde); n++)
		*last = fde;
	cfi_done(&c);
	buf_done(b);
	return n;
}

static void check(size_t i, uint64_t begin, unsigned reg, int64_t off, enum cfi_where rbp,
		  int64_t rbp_off)
{
	assert_int_equal(row[i].begin, begin);
	assert_int_equal(row[i].rules.cfa, CFI_CFA_REG);
	assert_int_equal(row[i].rules.cfa_reg, reg);
	assert_int_equal(row[i].rules.cfa_off, off);
	assert_int_equal(row[i].rules.rbp, rbp);
	if (rbp != CFI_WHERE_SAME)
		assert_int_equal(row[i].rules.rbp_off, rbp_off);
	assert_int_equal(row[i].rules.ra, CFI_WHERE_AT_CFA);
	assert_int_equal(row[i].rules.ra_off, -8);
	assert_true(row[i].rules.sp_is_cfa);
}

static void test_frame_pointer_function(void **state)
{
	/* push %rbp | mov %rsp, %rbp | ... leave | ret */
	assert_int_equal(
		run(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x80, 0x0c, 7, 8, 0xc6)),
		4);
	check(0, BEGIN, CFI_RSP, 8, CFI_WHERE_SAME, 0);
	check(1, BEGIN + 1, CFI_RSP, 16, CFI_WHERE_AT_CFA, -16);
	check(2, BEGIN + 4, CFI_RBP, 16, CFI_WHERE_AT_CFA, -16);
	check(3, BEGIN + 0x84, CFI_RSP, 8, CFI_WHERE_SAME, 0);
	assert_int_equal(row[3].end, BEGIN + SIZE);
}

static void test_remember_and_restore(void **state)
{
	/* The CFA is part of the state: an early return in the middle of a function. */
	assert_int_equal(run(BYTES(0x41, 0x0e, 32, 0x86, 2, 0x0a, 0x44, 0x0e, 8, 0xc6, 0x41, 0x0b)),
			 4);
	check(1, BEGIN + 1, CFI_RSP, 32, CFI_WHERE_AT_CFA, -16);
	check(2, BEGIN + 5, CFI_RSP, 8, CFI_WHERE_SAME, 0);
	check(3, BEGIN + 6, CFI_RSP, 32, CFI_WHERE_AT_CFA, -16);
}

static void test_advances(void **state)
{
	uint8_t set_loc[] = {0x01, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16};
	uint8_t back[] = {0x48, 0x01, 0x04, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16};

	assert_int_equal(run(BYTES(0x03, 0x10, 0, 0x0e, 16, 0x04, 0x10, 0, 0, 0, 0x0e, 24)), 3);
	check(1, BEGIN + 0x10, CFI_RSP, 16, CFI_WHERE_SAME, 0);
	check(2, BEGIN + 0x20, CFI_RSP, 24, CFI_WHERE_SAME, 0);
	/* By nothing, which is no row, and past the end. */
	assert_int_equal(run(BYTES(0x40, 0x0e, 16, 0x41, 0x0e, 24, 0x03, 0xff, 0xff, 0x0e, 32)), 2);
	check(0, BEGIN, CFI_RSP, 16, CFI_WHERE_SAME, 0);
	check(1, BEGIN + 1, CFI_RSP, 24, CFI_WHERE_SAME, 0);
	assert_int_equal(row[1].end, BEGIN + SIZE);
	assert_int_equal(run(set_loc, sizeof(set_loc)), 2);
	check(1, BEGIN + 0x80, CFI_RSP, 16, CFI_WHERE_SAME, 0);
	/* Backwards is damage: from there on nothing is known. */
	assert_int_equal(run(back, sizeof(back)), 2);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
}

static void test_signed_and_odd_forms(void **state)
{
	/* offset_extended_sf, def_cfa_sf, def_cfa_offset_sf, GNU_args_size, negative_offset */
	assert_int_equal(run(BYTES(0x11, 6, 3, 0x12, 6, 0x7e, 0x41, 0x13, 0x7d, 0x2e, 0x90, 1, 0x41,
				   0x2f, 6, 4)),
			 3);
	check(0, BEGIN, CFI_RBP, 16, CFI_WHERE_AT_CFA, -24);
	check(1, BEGIN + 1, CFI_RBP, 24, CFI_WHERE_AT_CFA, -24);
	check(2, BEGIN + 2, CFI_RBP, 24, CFI_WHERE_AT_CFA, 32);
	/* offset_extended and restore_extended */
	assert_int_equal(run(BYTES(0x05, 6, 2, 0x41, 0x06, 6)), 2);
	check(0, BEGIN, CFI_RSP, 8, CFI_WHERE_AT_CFA, -16);
	check(1, BEGIN + 1, CFI_RSP, 8, CFI_WHERE_SAME, 0);
}

static void test_registers_that_are_not_followed(void **state)
{
	/* Rules of rbx and r12, by offset, register, expression and value: as if they were not. */
	assert_int_equal(run(BYTES(0x83, 3, 0x09, 12, 3, 0x10, 3, 1, 0x50, 0x14, 12, 1, 0x16, 3, 1,
				   0x50, 0x07, 3, 0x08, 12, 0xc3)),
			 1);
	check(0, BEGIN, CFI_RSP, 8, CFI_WHERE_SAME, 0);
}

static void test_lost_registers(void **state)
{
	/* rbp: in a register, by value, undefined, by an expression of another register */
	assert_int_equal(
		run(BYTES(0x09, 6, 3, 0x41, 0x14, 6, 1, 0x41, 0x07, 6, 0x41, 0x10, 6, 2, 0x77, 0)),
		4);
	for (size_t i = 0; i < 4; i++)
		check(i, BEGIN + i, CFI_RSP, 8, CFI_WHERE_UNKNOWN, row[i].rules.rbp_off);
	/* The return address in rdi, as in vfork; then none, as at the program's entry. */
	assert_int_equal(run(BYTES(0x09, 16, 5, 0x41, 0x07, 16, 0x41, 0x08, 16)), 3);
	assert_int_equal(row[0].rules.ra, CFI_WHERE_RDI);
	assert_int_equal(row[1].rules.ra, CFI_WHERE_UNDEFINED);
	assert_int_equal(row[2].rules.ra, CFI_WHERE_UNKNOWN);
	/* rsp: the CFA itself is what it is anyway; saved somewhere it is not. */
	assert_int_equal(run(BYTES(0x14, 7, 0, 0x41, 0x87, 2)), 2);
	assert_true(row[0].rules.sp_is_cfa);
	assert_false(row[1].rules.sp_is_cfa);
}

static void test_expressions(void **state)
{
	/* The two PLTs. */
	assert_int_equal(run(BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
				   0x22, 0x50, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a,
				   0x33, 0x24, 0x22)),
			 2);
	assert_int_equal(row[0].rules.cfa, CFI_CFA_PLT);
	assert_int_equal(row[0].rules.cfa_off, 11);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_PLT);
	assert_int_equal(row[1].rules.cfa_off, 10);
	/* *(rbp - 8); *(rsp + 0x118) + 8; rbp at *(rbp + 0) */
	assert_int_equal(run(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x41, 0x0f, 6,
				   0x77, 0x98, 2, 0x06, 0x23, 8)),
			 2);
	assert_int_equal(row[0].rules.cfa, CFI_CFA_DEREF);
	assert_int_equal(row[0].rules.cfa_reg, CFI_RBP);
	assert_int_equal(row[0].rules.cfa_off, -8);
	assert_int_equal(row[0].rules.cfa_add, 0);
	assert_int_equal(row[0].rules.rbp, CFI_WHERE_AT_RBP);
	assert_int_equal(row[0].rules.rbp_off, 0);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_DEREF);
	assert_int_equal(row[1].rules.cfa_reg, CFI_RSP);
	assert_int_equal(row[1].rules.cfa_off, 0x118);
	assert_int_equal(row[1].rules.cfa_add, 8);
}

static void test_other_expressions(void **state)
{
	/* One byte more, one less, another register, nothing at all: no shape that we know. */
	static const uint8_t programs[][16] = {
		{0x0f, 4, 0x76, 0x78, 0x06, 0x96},
		{0x0f, 2, 0x76, 0x78},
		{0x0f, 3, 0x73, 0x78, 0x06},
		{0x0f, 0},
		{0x0f, 10, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24},
		{0x0f, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		/* After it the CFA can be defined again. */
		assert_int_equal(run(programs[i], sizeof(programs[i])), 1);
		assert_int_equal(row[0].rules.cfa, CFI_CFA_UNKNOWN);
		assert_int_equal(row[0].rules.ra, CFI_WHERE_AT_CFA);
	}
	/* An offset for a CFA that has no register is none; a new definition is one. */
	assert_int_equal(run(BYTES(0x0f, 0, 0x0e, 16, 0x41, 0x0c, 7, 24)), 2);
	assert_int_equal(row[0].rules.cfa, CFI_CFA_UNKNOWN);
	check(1, BEGIN + 1, CFI_RSP, 24, CFI_WHERE_SAME, 0);
}

static void test_damaged_programs(void **state)
{
	uint8_t deep[CFI_STATES_MAX + 3];

	/* What stood before the damage is still good. */
	assert_int_equal(run(BYTES(0x0e, 16, 0x44, 0x3f, 0x41, 0x0e, 24)), 2);
	check(0, BEGIN, CFI_RSP, 16, CFI_WHERE_SAME, 0);
	assert_int_equal(row[0].end, BEGIN + 4);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
	assert_int_equal(row[1].rules.ra, CFI_WHERE_UNKNOWN);
	assert_int_equal(row[1].end, BEGIN + SIZE);
	/* Operands that are cut off; a number without an end; a block longer than the program. */
	assert_int_equal(run(BYTES(0x44, 0x0c, 7)), 2);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
	assert_int_equal(run(BYTES(0x44, 0x0e, 0x80, 0x80)), 2);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
	assert_int_equal(run(BYTES(0x44, 0x0f, 0x7f, 0x77, 8)), 2);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
	/* Restoring what was not remembered; remembering without end. */
	assert_int_equal(run(BYTES(0x44, 0x0b)), 2);
	assert_int_equal(row[1].rules.cfa, CFI_CFA_UNKNOWN);
	memset(deep, 0x0a, sizeof(deep));
	assert_int_equal(run(deep, sizeof(deep)), 1);
	assert_int_equal(row[0].rules.cfa, CFI_CFA_UNKNOWN);
	assert_int_equal(run(deep, CFI_STATES_MAX), 1);
	check(0, BEGIN, CFI_RSP, 8, CFI_WHERE_SAME, 0);
}

/* An FDE whose address and size are 4 bytes each. */
static void put_fde4(struct buf *b, size_t cie, uint32_t begin, uint32_t size)
{
	size_t at = entry_begin(b);

	put32(b, (uint32_t)(at - cie));
	put32(b, begin);
	put32(b, size);
	buf_put_u8(b, 0);
	entry_end(b, at);
}

static void test_encodings(void **state)
{
	struct cfi_fde fde;
	struct buf b = {0};

	/* pcrel sdata4: counted from where it stands. */
	put_fde4(&b, put_cie_with(&b, "zR", BYTES(0x1b)), (uint32_t)-0x100, 0x40);
	assert_int_equal(count_fdes(&b, 0x5000, false, &fde), 1);
	assert_int_equal(fde.begin, 0x5000 + fde.program - 9 - 0x100);
	assert_int_equal(fde.end - fde.begin, 0x40);
	/* udata4 is not signed. */
	put_fde4(&b, put_cie_with(&b, "zR", BYTES(0x03)), 0xfffff000, 0x40);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 1);
	assert_int_equal(fde.begin, 0xfffff000);
	/* Indirect, aligned, relative to a function, and no format at all. */
	for (size_t i = 0; i < 4; i++) {
		uint8_t encoding = (const uint8_t[]){0x9b, 0x50, 0x4b, 0x05}[i];

		put_fde4(&b, put_cie_with(&b, "zR", &encoding, 1), 0x1000, 0x40);
		assert_int_equal(count_fdes(&b, 0, false, &fde), 0);
	}
	/* An FDE that wraps around, and one of no size. */
	put_fde(&b, put_cie(&b), UINT64_MAX - 8, 64, "", 0);
	put_fde(&b, 0, 0x1000, 0, "", 0);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 0);
}

static void test_augmentations(void **state)
{
	struct cfi_fde fde;
	struct cfi c;
	struct buf b = {0};

	/* With a personality (pcrel sdata4) and a language's data. */
	put_fde(&b, put_cie_with(&b, "zPLR", BYTES(0x1b, 1, 2, 3, 4, 0x1b, 0x00)), 0x1000, 16, "",
		0);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 1);
	assert_int_equal(fde.begin, 0x1000);
	/* A signal's frame. */
	put_fde(&b, put_cie_with(&b, "zRS", BYTES(0x00)), 0x1000, 16, "", 0);
	assert_int_equal(cfi_open_bytes(b.p, b.len, 0, false, &c), 0);
	assert_true(cfi_next(&c, &fde));
	assert_true(fde.cie->signal);
	cfi_done(&c);
	buf_done(&b);
	/* Letters whose meaning nobody knows: not even where the rest begins. */
	put_fde(&b, put_cie_with(&b, "eh", BYTES(0, 0, 0, 0, 0, 0, 0, 0)), 0x1000, 16, "", 0);
	put_fde(&b, put_cie_with(&b, "zQR", BYTES(0x00)), 0x1000, 16, "", 0);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 0);
}

static void test_debug_frame(void **state)
{
	struct cfi_fde fde;
	struct buf b = {0};
	size_t begin;

	for (unsigned version = 1; version <= 5; version++) {
		bool known = version == 1 || version == 3 || version == 4;

		put_debug_fde(&b, put_debug_cie(&b, (uint8_t)version), 0x1000, 0x20, "", 0);
		assert_int_equal(count_fdes(&b, 0, true, &fde), known);
		if (known)
			assert_int_equal(fde.end, 0x1020);
	}
	/* The CIE need not come first, and is found by its place in the section. */
	put_debug_fde(&b, 24, 0x1000, 0x20, "", 0);
	assert_int_equal(put_debug_cie(&b, 3), 24);
	assert_int_equal(count_fdes(&b, 0, true, &fde), 1);
	/* 64-bit DWARF: lengths and ids of 8 bytes. */
	put_debug_cie(&b, 3);
	put32(&b, UINT32_MAX);
	put64(&b, 24);
	put64(&b, 0);
	put64(&b, 0x2000);
	put64(&b, 0x30);
	assert_int_equal(count_fdes(&b, 0, true, &fde), 1);
	assert_int_equal(fde.begin, 0x2000);
	/* An id of zero is a CIE in .eh_frame only. */
	begin = put_cie(&b);
	put_fde(&b, begin, 0x1000, 16, "", 0);
	assert_int_equal(count_fdes(&b, 0, true, &fde), 0);
}

static void test_damaged_sections(void **state)
{
	struct cfi_fde fde;
	struct buf b = {0};
	size_t cie = put_cie(&b);

	put_fde(&b, cie + 1, 0x1000, 16, "", 0);   /* points into the CIE */
	put_fde(&b, b.len + 4, 0x1000, 16, "", 0); /* points to itself */
	put_fde(&b, cie, 0x3000, 16, "", 0);
	put32(&b, 0); /* the end */
	put_fde(&b, cie, 0x4000, 16, "", 0);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 1);
	assert_int_equal(fde.begin, 0x3000);
	/* A length that leaves the section. */
	put_fde(&b, put_cie(&b), 0x3000, 16, "", 0);
	put32(&b, 0x100);
	put_fde(&b, 0, 0x4000, 16, "", 0);
	assert_int_equal(count_fdes(&b, 0, false, &fde), 1);
	assert_int_equal(fde.begin, 0x3000);
}

/* Each as a block of its exact size, so that a read past its end is seen. */
static void feed(const struct buf *b, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	memcpy(copy, b->p, len);
	(void)LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void test_every_truncation_and_byte(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct buf b = {0};

	for (uint8_t debug = 0; debug < 2; debug++) {
		struct buf section = {0};

		buf_put(&b, (const uint8_t[]){debug, 1, 16}, 3);
		if (debug)
			put_debug_fde(&section, put_debug_cie(&section, 4), 0x1000, 0x100,
				      BYTES(0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x02, 9, 0x0b));
		else
			put_fde(&section, put_cie(&section), 0x1000, 0x100,
				BYTES(0x41, 0x0e, 16, 0x0f, 3, 0x76, 0x78, 6, 0x41, 0x0c, 7, 8));
		buf_put(&b, section.p, section.len);
		buf_done(&section);
		for (size_t len = 0; len <= b.len; len++)
			feed(&b, len);
		for (size_t i = 0; i < b.len; i++) {
			uint8_t was = b.p[i];

			for (size_t v = 0; v < sizeof(values); v++) {
				b.p[i] = values[v];
				feed(&b, b.len);
			}
			b.p[i] = was;
		}
		buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer_function),
		cmocka_unit_test(test_remember_and_restore),
		cmocka_unit_test(test_advances),
		cmocka_unit_test(test_signed_and_odd_forms),
		cmocka_unit_test(test_registers_that_are_not_followed),
		cmocka_unit_test(test_lost_registers),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_other_expressions),
		cmocka_unit_test(test_damaged_programs),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_damaged_sections),
		cmocka_unit_test(test_every_truncation_and_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
