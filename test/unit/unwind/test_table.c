// SPDX-License-Identifier: MIT
/*
 * How tables are put together, with objects made by hand: gaps, overlaps, the two sections, signal
 * stubs, entry points, what does not fit, and what hostile objects may cost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "unit/unwind/cfi_bytes.h"
#include "unit/unwind/made_elf.h"
#include "unwind/table.h"

#define TEXT 0x10400ull /* not a multiple of 64 KiB, nor at its place in the file */
#define TEXT_SIZE 0x30000ull

struct object {
	uint16_t type;
	uint64_t entry;
	struct buf eh, debug;
	uint8_t text[TEXT_SIZE];
};

/* Offsets of rows tell the functions apart: CFA = rsp + n. */
static void function(struct buf *b, size_t cie, uint64_t begin, uint64_t size, uint8_t n)
{
	put_fde(b, cie, TEXT + begin, size, BYTES(0x0e, n));
}

static struct buf object_file(const struct object *o)
{
	return made_elf(&(struct made_elf){
		.type = o->type ? o->type : ET_DYN,
		.entry = o->entry,
		.address = TEXT,
		.text = o->text,
		.text_size = TEXT_SIZE,
		.sections = {{".eh_frame", &o->eh, false}, {".debug_frame", &o->debug, false}},
	});
}

/* Builds and frees the object's parts. */
static int build(struct object *o, struct unwind_table **ret)
{
	struct buf f = object_file(o);
	struct elf *e;
	int rc;

	assert_int_equal(elf_open_bytes(f.p, f.len, &e), 0);
	rc = unwind_table_build(e, ret);
	elf_free(e);
	buf_done(&f);
	buf_done(&o->eh);
	buf_done(&o->debug);
	free(o);
	return rc;
}

static struct object *object_new(void)
{
	return mem_zalloc(sizeof(struct object));
}

static void expect(const struct unwind_table *t, uint64_t at, enum unwind_cfa cfa, int off)
{
	struct unwind_rule rule = {0};
	bool found = unwind_table_find(t, TEXT + at, &rule);

	assert_int_equal(found, cfa != UNWIND_CFA_NONE);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_off, off);
}

static void test_gaps(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	/* Not in order, either. */
	function(&o->eh, cie, 0x11f, 0x20, 24);
	function(&o->eh, cie, 0x100, 0x10, 16);
	function(&o->eh, cie, 0x13f + 16, 0x10, 32);
	assert_int_equal(build(o, &t), 0);
	assert_int_equal(t->first, 0x10000);
	expect(t, 0xff, UNWIND_CFA_NONE, 0);
	expect(t, 0x100, UNWIND_CFA_RSP, 16);
	/* 15 bytes are alignment and belong to what is before them; 16 are not. */
	expect(t, 0x11e, UNWIND_CFA_RSP, 16);
	expect(t, 0x11f, UNWIND_CFA_RSP, 24);
	expect(t, 0x13e, UNWIND_CFA_RSP, 24);
	expect(t, 0x13f, UNWIND_CFA_NONE, 0);
	expect(t, 0x14e, UNWIND_CFA_NONE, 0);
	expect(t, 0x14f, UNWIND_CFA_RSP, 32);
	expect(t, 0x15f, UNWIND_CFA_NONE, 0);
	assert_int_equal(t->n_rows, 5);
	unwind_table_free(t);
}

static void test_neighbours_merge(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	for (unsigned i = 0; i < 100; i++)
		function(&o->eh, cie, i * 0x40, 0x40, 16);
	assert_int_equal(build(o, &t), 0);
	assert_int_equal(t->n_rows, 2); /* the rule, and the end */
	assert_int_equal(t->n_rules, 3);
	expect(t, 100 * 0x40 - 1, UNWIND_CFA_RSP, 16);
	expect(t, 100 * 0x40, UNWIND_CFA_NONE, 0);
	unwind_table_free(t);
}

static void test_overlaps(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	function(&o->eh, cie, 0x180, 0x100, 24); /* after the next one, whatever the order */
	function(&o->eh, cie, 0x100, 0x100, 16);
	function(&o->eh, cie, 0x100, 0x180, 32); /* begins where another does: later in the file */
	function(&o->eh, cie, 0x110, 0x10, 40);	 /* inside */
	assert_int_equal(build(o, &t), 0);
	expect(t, 0x100, UNWIND_CFA_RSP, 16);
	expect(t, 0x118, UNWIND_CFA_RSP, 16);
	expect(t, 0x1ff, UNWIND_CFA_RSP, 16);
	expect(t, 0x200, UNWIND_CFA_RSP, 32);
	expect(t, 0x27f, UNWIND_CFA_RSP, 32);
	expect(t, 0x280, UNWIND_CFA_NONE, 0);
	unwind_table_free(t);
}

static void test_debug_frame_fills(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh), debug = put_debug_cie(&o->debug, 3);

	function(&o->eh, cie, 0x100, 0x100, 16);
	put_debug_fde(&o->debug, debug, TEXT + 0x80, 0x100, BYTES(0x0e, 24));
	put_debug_fde(&o->debug, debug, TEXT + 0x100, 0x100, BYTES(0x0e, 32));
	put_debug_fde(&o->debug, debug, TEXT + 0x180, 0x100, BYTES(0x0e, 40));
	put_debug_fde(&o->debug, debug, 0, 0x100000, BYTES(0x0e, 48)); /* dropped by the linker */
	assert_int_equal(build(o, &t), 0);
	expect(t, 0x7f, UNWIND_CFA_NONE, 0);
	expect(t, 0x80, UNWIND_CFA_RSP, 24);
	expect(t, 0xff, UNWIND_CFA_RSP, 24);
	expect(t, 0x100, UNWIND_CFA_RSP, 16);
	expect(t, 0x1ff, UNWIND_CFA_RSP, 16);
	expect(t, 0x200, UNWIND_CFA_RSP, 40);
	expect(t, 0x280, UNWIND_CFA_NONE, 0);
	unwind_table_free(t);
}

static void test_debug_frame_alone(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;

	put_debug_fde(&o->debug, put_debug_cie(&o->debug, 4), TEXT + 0x80, 0x100, BYTES(0x0e, 24));
	assert_int_equal(build(o, &t), 0);
	expect(t, 0x80, UNWIND_CFA_RSP, 24);
	unwind_table_free(t);
}

static void test_nothing_known(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;

	o->type = ET_EXEC;
	o->entry = TEXT;
	assert_int_equal(build(o, &t), -ENODATA);
	/* FDEs of other code than this object's. */
	o = object_new();
	put_fde(&o->eh, put_cie(&o->eh), 0x900000, 16, "", 0);
	assert_int_equal(build(o, &t), -ENODATA);
}

static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

static void test_signal_stubs(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	/* By its bytes; right after a function, which gives up its last byte. */
	memcpy(o->text + 0x200, sigreturn, sizeof(sigreturn));
	function(&o->eh, cie, 0x100, 0x100, 16);
	function(&o->eh, cie, 0x200, 9, 24);
	/* By its bytes, described from a byte earlier. */
	memcpy(o->text + 0x301, sigreturn, sizeof(sigreturn));
	function(&o->eh, cie, 0x300, 10, 24);
	/* By its CIE. */
	function(&o->eh, put_cie_with(&o->eh, "zRS", BYTES(0x00)), 0x400, 9, 24);
	/* The same bytes inside of a function are a system call. */
	memcpy(o->text + 0x500, sigreturn, sizeof(sigreturn));
	function(&o->eh, cie, 0x500, 0x40, 24);
	assert_int_equal(build(o, &t), 0);
	expect(t, 0x1fe, UNWIND_CFA_RSP, 16);
	expect(t, 0x1ff, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x208, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x300, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x309, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x3ff, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x400, UNWIND_CFA_SIGNAL, 0);
	expect(t, 0x500, UNWIND_CFA_RSP, 24);
	unwind_table_free(t);
}

/* `how` is what makes the object a program: its type, or the bytes at its entry. */
static struct unwind_table *with_entry(uint16_t type, const void *code, size_t len, bool described)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	o->type = type;
	o->entry = TEXT + 0x200;
	memcpy(o->text + 0x200, code, len);
	function(&o->eh, cie, 0x100, 0x80, 16);
	if (described)
		function(&o->eh, cie, 0x200, 0x2c, 24);
	function(&o->eh, cie, 0x230, 0x80, 32);
	assert_int_equal(build(o, &t), 0);
	return t;
}

static void test_entry(void **state)
{
	static const uint8_t musl[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7};
	static const uint8_t glibc[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed};
	static const uint8_t other[] = {0x55, 0x48, 0x89, 0xe5, 0x31, 0xed};
	struct unwind_table *t;

	t = with_entry(ET_DYN, musl, sizeof(musl), false);
	expect(t, 0x1ff, UNWIND_CFA_NONE, 0);
	expect(t, 0x200, UNWIND_CFA_END, 0);
	expect(t, 0x22f, UNWIND_CFA_END, 0);
	expect(t, 0x230, UNWIND_CFA_RSP, 32);
	unwind_table_free(t);
	/* Described, but not as the outermost. */
	t = with_entry(ET_DYN, glibc, sizeof(glibc), true);
	expect(t, 0x200, UNWIND_CFA_END, 0);
	expect(t, 0x22b, UNWIND_CFA_END, 0);
	unwind_table_free(t);
	t = with_entry(ET_EXEC, other, sizeof(other), false);
	expect(t, 0x200, UNWIND_CFA_END, 0);
	unwind_table_free(t);
	/* Shared libraries have an entry point by accident. */
	t = with_entry(ET_DYN, other, sizeof(other), true);
	expect(t, 0x200, UNWIND_CFA_RSP, 24);
	unwind_table_free(t);
	t = with_entry(ET_DYN, other, sizeof(other), false);
	expect(t, 0x200, UNWIND_CFA_NONE, 0);
	unwind_table_free(t);
}

static void test_far_rows(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	size_t cie = put_cie(&o->eh);

	/* One function over three 64 KiB, with a row shortly before and after each boundary. */
	put_fde(&o->eh, cie, TEXT, TEXT_SIZE,
		BYTES(0x04, 0xff, 0xfb, 0, 0, 0x0e, 16, 0x42, 0x0e, 24, 0x04, 0xfe, 0xff, 0, 0,
		      0x0e, 32, 0x42, 0x0e, 40));
	assert_int_equal(build(o, &t), 0);
	expect(t, 0, UNWIND_CFA_RSP, 8);
	expect(t, 0xfbfe, UNWIND_CFA_RSP, 8);
	expect(t, 0xfbff, UNWIND_CFA_RSP, 16); /* 0x1ffff */
	expect(t, 0xfc00, UNWIND_CFA_RSP, 16); /* 0x20000 */
	expect(t, 0xfc01, UNWIND_CFA_RSP, 24);
	expect(t, 0x1fbfe, UNWIND_CFA_RSP, 24);
	expect(t, 0x1fbff, UNWIND_CFA_RSP, 32);
	expect(t, 0x1fc01, UNWIND_CFA_RSP, 40);
	expect(t, TEXT_SIZE - 1, UNWIND_CFA_RSP, 40);
	expect(t, TEXT_SIZE, UNWIND_CFA_NONE, 0);
	unwind_table_free(t);
}

static void test_what_does_not_fit(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	struct unwind_rule rule;
	size_t cie = put_cie(&o->eh);

	put_fde(&o->eh, cie, TEXT, 0x10, BYTES(0x0e, 0xff, 0xff, 1));	     /* 32767 */
	put_fde(&o->eh, cie, TEXT + 0x10, 0x10, BYTES(0x0e, 0x80, 0x80, 2)); /* 32768 */
	put_fde(&o->eh, cie, TEXT + 0x20, 0x10, BYTES(0x0d, 10));	     /* CFA by r10 */
	put_fde(&o->eh, cie, TEXT + 0x30, 0x10, BYTES(0x86, 0x80, 0x40));    /* rbp at -65536 */
	put_fde(&o->eh, cie, TEXT + 0x40, 0x10, BYTES(0x90, 2));	     /* return address */
	assert_int_equal(build(o, &t), 0);
	expect(t, 0x00, UNWIND_CFA_RSP, 32767);
	expect(t, 0x10, UNWIND_CFA_RSP, -32768); /* and one more in the upper half */
	assert_true(unwind_table_find(t, TEXT + 0x10, &rule));
	assert_int_equal(rule.cfa_add, 1);
	expect(t, 0x20, UNWIND_CFA_UNKNOWN, 0);
	expect(t, 0x30, UNWIND_CFA_RSP, 8);
	assert_true(unwind_table_find(t, TEXT + 0x30, &rule));
	assert_int_equal(rule.rbp, UNWIND_RBP_UNKNOWN);
	expect(t, 0x40, UNWIND_CFA_UNKNOWN, 0);
	unwind_table_free(t);
}

static void test_more_rules_than_numbers(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	struct buf program = {0};
	const uint32_t n = 70000;

	/* One row a byte, each with a rule of its own: CFA = rsp + i % 30000, rbp by i / 30000. */
	for (uint32_t i = 0; i < n; i++) {
		buf_put_u8(&program, 0x0e);
		buf_put_varint(&program, i % 30000);
		buf_put_u8(&program, 0x86);
		buf_put_varint(&program, i / 30000 + 2);
		buf_put_u8(&program, 0x41);
	}
	put_fde(&o->eh, put_cie(&o->eh), TEXT, n, program.p, program.len);
	buf_done(&program);
	assert_int_equal(build(o, &t), 0);
	assert_int_equal(t->n_rules, UNWIND_RULES_MAX);
	expect(t, 0, UNWIND_CFA_RSP, 0);
	expect(t, 29999, UNWIND_CFA_RSP, 29999);
	expect(t, 65533, UNWIND_CFA_RSP, 5533);
	/* Two are taken from the start: for no code, and for what is not known. */
	expect(t, 65534, UNWIND_CFA_UNKNOWN, 0);
	expect(t, n - 1, UNWIND_CFA_UNKNOWN, 0);
	unwind_table_free(t);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All FDEs cover all of the code; a program that could run once for each of them does not. */
static void test_hostile_overlaps_cost_little(void **state)
{
	struct object *o = object_new();
	struct unwind_table *t;
	struct buf program = {0};
	size_t cie = put_cie(&o->eh), debug = put_debug_cie(&o->debug, 3);
	double begin = seconds();

	for (uint32_t i = 0; i < 100000; i++)
		buf_put(&program, BYTES(0x41, 0x0e, 16, 0x0a, 0x0b));
	for (uint32_t i = 0; i < 50000; i++)
		function(&o->eh, cie, i % 0x8000 * 3, 2, (uint8_t)(i & 0x78));
	for (uint32_t i = 0; i < 20; i++)
		put_debug_fde(&o->debug, debug, TEXT + i, TEXT_SIZE, program.p, program.len);
	for (uint32_t i = 0; i < 50000; i++)
		put_debug_fde(&o->debug, debug, TEXT + i, TEXT_SIZE, "", 0);
	buf_done(&program);
	assert_int_equal(build(o, &t), 0);
	assert_true(t->n_rows > 1000);
	unwind_table_free(t);
	/* Generous: the sanitizers are slow. Quadratic would be minutes. */
	assert_true(seconds() - begin < 20);
}

static void read_whole(const char *path, struct buf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	buf_reserve(ret, (size_t)st.st_size);
	assert_int_equal(read(fd, ret->p, (size_t)st.st_size), st.st_size);
	ret->len = (size_t)st.st_size;
	close(fd);
}

static struct unwind_table *table_of(const struct buf *file)
{
	struct unwind_table *t;
	struct elf *e;

	assert_int_equal(elf_open_bytes(file->p, file->len, &e), 0);
	if (unwind_table_build(e, &t))
		fail_msg("%s", err_msg());
	elf_free(e);
	return t;
}

/* Without section headers .eh_frame is found by its header's segment. */
static void test_without_sections(void **state)
{
	struct unwind_table *with, *without;
	struct buf file = {0};
	Elf64_Ehdr *h;

	read_whole("/proc/self/exe", &file);
	with = table_of(&file);
	h = (Elf64_Ehdr *)file.p;
	h->e_shoff = h->e_shnum = h->e_shstrndx = 0;
	without = table_of(&file);
	assert_int_equal(with->n_rows, without->n_rows);
	assert_int_equal(with->n_words, without->n_words);
	assert_memory_equal(with->words, without->words, with->n_words * sizeof(*with->words));
	assert_int_equal(with->n_rules, without->n_rules);
	assert_memory_equal(with->rules, without->rules, with->n_rules * sizeof(*with->rules));
	unwind_table_free(with);
	unwind_table_free(without);
	buf_done(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_neighbours_merge),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_debug_frame_fills),
		cmocka_unit_test(test_debug_frame_alone),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_signal_stubs),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_far_rows),
		cmocka_unit_test(test_what_does_not_fit),
		cmocka_unit_test(test_more_rules_than_numbers),
		cmocka_unit_test(test_hostile_overlaps_cost_little),
		cmocka_unit_test(test_without_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
