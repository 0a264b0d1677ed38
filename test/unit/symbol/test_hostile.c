// SPDX-License-Identifier: MIT
/*
 * A program with debug information, cut and flipped. Its reader may die over it: what must not
 * happen is that we do, that we wait longer than agreed, or that we name what was not asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/answer.h"
#include "unit/symbol/build.h"

#define CASES 120
#define OFFSETS 400

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint64_t random_below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return n ? seed % n : 0;
}

static uint8_t *slurp(const char *name, size_t *ret_len)
{
	FILE *f = fopen(in_build(name), "rb");
	uint8_t *p = malloc(8 << 20);

	assert_non_null(f);
	*ret_len = fread(p, 1, 8 << 20, f);
	fclose(f);
	return p;
}

static void put(const char *name, const uint8_t *p, size_t len)
{
	FILE *f = fopen(in_build(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	fclose(f);
}

static void count(void *ctx, size_t first, size_t n, const struct symbols_frame *f, size_t frames)
{
	size_t *named = ctx;

	assert_true(first + n <= OFFSETS);
	assert_true(frames >= 1 && frames <= SYMBOLS_FRAMES_MAX);
	for (size_t i = 0; i < frames; i++) {
		assert_non_null(f[i].name);
		assert_true(strlen(f[i].name) < 4096);
	}
	*named += n;
}

/* Most damage goes where names come from; the rest anywhere. */
static void damage(uint8_t *p, size_t *len, const struct elf *e)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev",	 ".debug_line",
					       ".debug_str",  ".debug_rnglists", ".symtab"};
	const struct elf_section *s = elf_section(e, sections[random_below(6)]);

	if (random_below(8) == 0) {
		*len = (size_t)random_below(*len);
		return;
	}
	for (uint64_t i = 0, flips = 1 + random_below(40); i < flips; i++) {
		bool aimed = s && s->size && random_below(8);
		uint64_t at = aimed ? s->offset + random_below(s->size) : random_below(*len);

		p[at] = (uint8_t)random_below(256);
	}
}

static void test_damaged_programs(void **state)
{
	size_t len, full = 0, partly = 0, refused = 0, named = 0;
	uint64_t offsets[OFFSETS], begin = clock_mono_ns();
	struct symbols_query q = {.offsets = offsets, .n = OFFSETS, .debug_dir = "/nonexistent"};
	const struct elf_section *text;
	uint8_t *good, *bad;
	struct elf *e;
	int fd;

	write_text("a.cc", "#include <map>\n#include <string>\nint main(int c, char **v)\n{\n"
			   "std::map<std::string, int> m; m[v[0]]++; return (int)m.size();\n}\n");
	if (!tools("c++") || !sh("c++ -O2 -g -o good a.cc"))
		skip();
	good = slurp("good", &len);
	bad = malloc(len);
	e = open_built("good", &fd);
	text = elf_section(e, ".text");
	for (size_t i = 0; i < OFFSETS; i++)
		offsets[i] = text->offset + i * text->size / OFFSETS;
	for (int i = 0; i < CASES; i++) {
		size_t cut = len;
		int rc;

		memcpy(bad, good, len);
		damage(bad, &cut, e);
		put("bad", bad, cut);
		q.path = in_build("bad");
		q.until_ns = clock_mono_ns() + 5 * NSEC_PER_SEC;
		rc = symbols_resolve(&q, count, &named);
		full += rc == 0;
		partly += rc == SYMBOLS_PARTLY;
		refused += rc < 0;
	}
	print_message("%d damaged programs: %zu read, %zu only their symbols, %zu refused; "
		      "%zu names, %.1f s\n",
		      CASES, full, partly, refused, named,
		      (double)(clock_mono_ns() - begin) / NSEC_PER_SEC);
	assert_int_equal(full + partly + refused, CASES);
	/* The healthy one is still named, and no child is left. */
	named = 0;
	q.path = in_build("good");
	q.until_ns = 0;
	assert_int_equal(symbols_resolve(&q, count, &named), 0);
	assert_true(named > OFFSETS / 2);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	elf_free(e);
	close(fd);
	free(good);
	free(bad);
}

/*
 * Debug information that takes years to read: each of 100000 functions has the same 100000 ranges.
 * The symbol table is as it should be, and is what remains.
 */
static const char endless[] = ".text\n.globl f\n.type f,@function\nf: nop\nret\n.size f,.-f\n"
			      ".globl main\nmain: xor %eax,%eax\nret\n"
			      ".section .debug_abbrev,\"\",@progbits\n"
			      ".uleb128 1,0x11\n.byte 1\n.uleb128 0x11,1,0x12,7,0,0\n"
			      ".uleb128 2,0x2e\n.byte 0\n.uleb128 0x55,0x17,0,0\n.byte 0\n"
			      ".section .debug_info,\"\",@progbits\n"
			      ".long 2f-1f\n1: .value 4\n.long .debug_abbrev\n.byte 8\n"
			      ".uleb128 1\n.quad f\n.quad 2\n"
			      ".rept 100000\n.uleb128 2\n.long .debug_ranges\n.endr\n.byte 0\n2:\n"
			      ".section .debug_ranges,\"\",@progbits\n"
			      ".rept 100000\n.quad 0,2\n.endr\n.quad 0,0\n"
			      ".section .note.GNU-stack,\"\",@progbits\n";

static void test_endless_debug_information(void **state)
{
	struct symbols_query q = {.path = in_build("endless"), .debug_dir = "/nonexistent"};
	uint64_t begin = clock_mono_ns();
	char text[1024];
	int rc;

	write_text("endless.s", endless);
	if (!tools("cc") || !sh("cc -o endless endless.s"))
		skip();
	q.until_ns = clock_mono_ns() + 3 * NSEC_PER_SEC;
	rc = ask_one(q, offset_of("endless", "f"), text);
	print_message("%d: %s\n", rc, rc ? err_msg() : "");
	assert_int_equal(rc, SYMBOLS_PARTLY);
	assert_string_equal(text, "f");
	assert_non_null(strstr(err_msg(), "its debug information could not be read"));
	assert_true(clock_mono_ns() - begin < 20 * NSEC_PER_SEC);
}

/*
 * Debug information that leads in circles: a function that is an instance of another that is an
 * instance of the first, a DIE whose sibling is itself, a unit of unknown version, files without a
 * form and too many of them, steps of no lines. Each costs what it says; what is right stays.
 */
static const char circles[] =
	".text\n.globl f\n.type f,@function\nf: nop\nret\n.size f,.-f\n"
	".globl g\n.type g,@function\ng: nop\nret\n.size g,.-g\n"
	".globl main\nmain: xor %eax,%eax\nret\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".uleb128 1,0x11\n.byte 1\n.uleb128 0x11,1,0x12,7,0x10,0x17,0,0\n"
	".uleb128 2,0x2e\n.byte 0\n.uleb128 0x31,0x13,0x11,1,0x12,7,0,0\n"
	".uleb128 3,0x13\n.byte 1\n.uleb128 0x01,0x13,0,0\n"
	".uleb128 4,0x2e\n.byte 0\n.uleb128 0x03,8,0x11,1,0x12,7,0,0\n.byte 0\n"
	".section .debug_info,\"\",@progbits\n"
	".long 3f-2f\n2: .value 77\n.quad 0\n3:\n" /* of no version that there is */
	"0: .long 6f-1f\n1: .value 4\n.long .debug_abbrev\n.byte 8\n"
	".uleb128 1\n.quad f\n.quad 4\n.long .debug_line\n"
	"4: .uleb128 2\n.long 5f-0b\n.quad f\n.quad 2\n"
	"5: .uleb128 2\n.long 4b-0b\n.quad f\n.quad 2\n"
	"7: .uleb128 3\n.long 7b-0b\n.byte 0\n"
	".uleb128 4\n.asciz \"real\"\n.quad g\n.quad 2\n.byte 0\n6:\n"
	".section .debug_line,\"\",@progbits\n"
	".long 9f-8f\n8: .value 5\n.byte 8,0\n.long 9f-7f\n7: .byte 1,1,1,-5,0,13\n"
	".byte 0,1,1,1,1,0,0,0,1,0,0,1\n"
	".byte 0\n.uleb128 0xffffffffffff\n.byte 0\n.uleb128 0xffffffffffff\n9:\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void test_circles(void **state)
{
	struct symbols_query q = {.path = in_build("circles"), .debug_dir = "/nonexistent"};
	char text[1024];

	write_text("circles.s", circles);
	if (!tools("cc") || !sh("cc -o circles circles.s"))
		skip();
	assert_int_equal(ask_one(q, offset_of("circles", "f"), text), 0);
	assert_string_equal(text, "f");
	assert_int_equal(ask_one(q, offset_of("circles", "g"), text), 0);
	assert_string_equal(text, "g"); /* exported: see names.c */
	assert_true(sh("strip -N g circles"));
	assert_int_equal(ask_one(q, offset_of("circles", "f") + 2, text), 0);
	assert_string_equal(text, "real");
}

/* A struct that has itself as its first member, an array of itself, a union of itself. */
static const char types[] =
	".data\n.globl v1\n.type v1,@object\nv1: .quad 0,0\n.size v1,16\n"
	".globl v2\n.type v2,@object\nv2: .quad 0,0\n.size v2,16\n"
	".globl v3\n.type v3,@object\nv3: .quad 0,0\n.size v3,16\n"
	".text\n.globl main\nmain: xor %eax,%eax\nret\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".uleb128 1,0x11\n.byte 1\n.uleb128 0,0\n"
	".uleb128 2,0x34\n.byte 0\n.uleb128 3,8,0x49,0x13,2,0x18,0,0\n"
	".uleb128 3,0x13\n.byte 1\n.uleb128 0xb,0xb,0,0\n"
	".uleb128 4,0xd\n.byte 0\n.uleb128 3,8,0x49,0x13,0x38,0xb,0,0\n"
	".uleb128 5,0x1\n.byte 1\n.uleb128 0x49,0x13,0xb,0xb,0,0\n"
	".uleb128 6,0x21\n.byte 0\n.uleb128 0x37,0xb,0,0\n"
	".uleb128 7,0x17\n.byte 1\n.uleb128 0xb,0xb,0,0\n.byte 0\n"
	".section .debug_info,\"\",@progbits\n"
	"0: .long 9f-1f\n1: .value 4\n.long .debug_abbrev\n.byte 8\n.uleb128 1\n"
	".uleb128 2\n.asciz \"v1\"\n.long 3f-0b\n.byte 9,3\n.quad v1\n"
	".uleb128 2\n.asciz \"v2\"\n.long 4f-0b\n.byte 9,3\n.quad v2\n"
	".uleb128 2\n.asciz \"v3\"\n.long 5f-0b\n.byte 9,3\n.quad v3\n"
	"3: .uleb128 3\n.byte 16\n.uleb128 4\n.asciz \"m\"\n.long 3b-0b\n.byte 0\n.byte 0\n"
	"4: .uleb128 5\n.long 4b-0b\n.byte 16\n.uleb128 6\n.byte 1\n.byte 0\n"
	"5: .uleb128 7\n.byte 16\n"
	".rept 50\n.uleb128 4\n.asciz \"u\"\n.long 5b-0b\n.byte 0\n.endr\n.byte 0\n"
	".byte 0\n9:\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void keep_name(void *ctx, size_t first, size_t n, const struct symbols_data *d)
{
	snprintf(ctx, 64, "%s", d->name);
}

static uint64_t vaddr_of(const char *name, const char *symbol)
{
	uint64_t vaddr = 0;
	int fd;
	struct elf *e = open_built(name, &fd);

	assert_true(elf_offset_to_vaddr(e, offset_of(name, symbol), &vaddr));
	elf_free(e);
	close(fd);
	return vaddr;
}

static void test_circular_types(void **state)
{
	struct symbols_query q = {.path = in_build("types"), .debug_dir = "/nonexistent", .n = 1};
	static const struct {
		const char *symbol, *begin;
		int rc;
	} want[] = {{"v1", "v1.m.m.m", 0}, {"v2", "v2[0][0][0]", 0}, {"v3", "v3", SYMBOLS_PARTLY}};
	char text[64];
	uint64_t at;

	write_text("types.s", types);
	if (!tools("cc") || !sh("cc -o types types.s"))
		skip();
	q.offsets = &at;
	for (size_t i = 0; i < 3; i++) {
		text[0] = '\0';
		at = vaddr_of("types", want[i].symbol);
		assert_int_equal(symbols_resolve_data(&q, keep_name, text), want[i].rc);
		assert_int_equal(strncmp(text, want[i].begin, strlen(want[i].begin)), 0);
	}
}

/* ---- answers of a child that somebody has taken over ---- */

static int parse(const void *p, size_t len, size_t n, size_t *named)
{
	struct buf b = {0};
	int rc;

	buf_put(&b, p, len);
	*named = 0;
	rc = answer_parse(&b, n, count, named);
	buf_done(&b);
	return rc;
}

static void test_lying_answers(void **state)
{
	size_t named;

#define PARSE(bytes, n) parse(bytes, sizeof(bytes) - 1, n, &named)
	assert_int_equal(PARSE("\1\2a\0\2\0\2\1\1\0\7\3", 2), 0);
	assert_int_equal(named, 2);
	assert_int_equal(PARSE("\3", 2), 0);
	/* No end, something after the end, nothing. */
	assert_int_equal(PARSE("\1\2a\0", 2), -EBADMSG);
	assert_int_equal(PARSE("\3\3", 2), -EBADMSG);
	assert_int_equal(PARSE("", 2), -EBADMSG);
	/* A string without its end, of no length, longer than the answer. */
	assert_int_equal(PARSE("\1\2ab\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\0\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\x7f\0\3", 2), -EBADMSG);
	/* More offsets than were asked for; skipping too many; none. */
	assert_int_equal(PARSE("\1\2a\0\2\0\3\1\1\0\7\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\2\1\1\1\0\7\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\0\0\1\1\0\7\3", 2), -EBADMSG);
	/* Names and files that were never said; no frames; too many. */
	assert_int_equal(PARSE("\2\0\1\1\1\0\7\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\0\1\1\1\2\7\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\0\1\0\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\0\1\x41\1\0\7\3", 2), -EBADMSG);
	assert_int_equal(PARSE("\5\3", 2), -EBADMSG);
	/* Data, where code was asked for. */
	assert_int_equal(PARSE("\1\2a\0\4\0\1\1\10\4\0\3", 2), -EBADMSG);
#undef PARSE
}

static void count_data(void *ctx, size_t first, size_t n, const struct symbols_data *d)
{
	size_t *named = ctx;

	assert_true(first + n <= 2 && d->name);
	*named += n;
}

static int parse_data(const void *p, size_t len, size_t *named)
{
	static const uint64_t asked[] = {8, 16};
	struct buf b = {0};
	int rc;

	buf_put(&b, p, len);
	*named = 0;
	rc = answer_parse_data(&b, asked, 2, count_data, named);
	buf_done(&b);
	return rc;
}

static void test_lying_answers_about_data(void **state)
{
	size_t named;

#define PARSE(bytes) parse_data(bytes, sizeof(bytes) - 1, &named)
	assert_int_equal(PARSE("\1\2a\0\4\0\2\1\10\11\1\3"), 0);
	assert_int_equal(named, 2);
	assert_int_equal(PARSE("\1\2a\0\4\1\1\1\10\11\0\3"), 0);
	assert_int_equal(named, 1);
	/* Somewhere else, of no size, beyond the end of all addresses. */
	assert_int_equal(PARSE("\1\2a\0\4\0\2\1\10\10\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\1\1\11\10\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\1\1\10\0\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\1\1\10\377\377\377\377\377\377\377\377\377\1\0\3"),
			 -EBADMSG);
	/* No such name, no such kind, more than were asked for, none; code instead. */
	assert_int_equal(PARSE("\1\2a\0\4\0\1\2\10\4\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\1\1\10\4\2\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\3\1\10\77\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\4\0\0\1\10\77\0\3"), -EBADMSG);
	assert_int_equal(PARSE("\1\2a\0\2\0\1\1\1\0\7\3"), -EBADMSG);
#undef PARSE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged_programs),
		cmocka_unit_test(test_endless_debug_information),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_circular_types),
		cmocka_unit_test(test_lying_answers),
		cmocka_unit_test(test_lying_answers_about_data),
	};

	return cmocka_run_group_tests(tests, build_begin, build_end);
}
