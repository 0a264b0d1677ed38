// SPDX-License-Identifier: MIT
/*
 * Names for a whole capture: a healthy program beside one whose debug information never ends, one
 * that was replaced, one that is no program, and code of a JIT compiler. Each gets what it can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "capture/machine.h"
#include "capture/symbolize.h"
#include "store/writer.h"
#include "unit/symbol/build.h"

static const char good[] = "#line 1 \"/truth/good.c\"\n"
			   "volatile int sink;\n"
			   "static inline __attribute__((always_inline)) void inner(void)\n"
			   "{\n"
			   "	__asm__ volatile(\".globl at_inner\\nat_inner: nop\");\n"
			   "}\n"
			   "__attribute__((noinline)) void outer(void)\n"
			   "{\n"
			   "	sink++;\n"
			   "	inner();\n"
			   "}\n"
			   "int main(void) { outer(); return 0; }\n";

/* The ELF header's type of section table is out of bounds, and so is everything else. */
static const char broken[] = "\177ELF\2\1\1 and then nothing that makes sense";

struct capture {
	struct writer *w;
	struct frame frames[8];
	size_t n;
};

static uint32_t add(struct capture *c, struct module m, uint64_t offset)
{
	uint32_t index = writer_module(c->w, &m);

	c->frames[c->n++] = (struct frame){.module = index, .offset = offset};
	return index;
}

static void test_each_gets_what_it_can(void **state)
{
	struct capture c = {0};
	struct reader *r = NULL;
	const struct symbol *s;
	struct symtab *st;
	char boot[64], notes[512], map[64];
	uint8_t id[64];
	uint64_t at;
	uint32_t m_good, m_bad, m_old, m_jit, m_none;
	FILE *f;

	write_text("good.c", good);
	write_text("broken", broken);
	if (!tools("cc") || !sh("cc -O2 -g -Wl,--build-id=sha1 -o good good.c"))
		skip();
	at = offset_of("good", "at_inner");
	assert_int_equal(build_id_of("good", id, sizeof(id)), 20);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	f = fopen(map, "w");
	fputs("7000 100 jit_compiled\n", f);
	fchmod(fileno(f), 0600);
	fclose(f);

	assert_int_equal(
		writer_open(in_build("c.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	machine_boot_id(boot, sizeof(boot));
	writer_meta(c.w, "boot_id", boot);
	m_bad = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("broken")}, 0x1000);
	m_none = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("missing")}, 0x10);
	m_old = add(&c,
		    (struct module){.kind = MODULE_FILE,
				    .path = in_build("good"),
				    .build_id_len = 20,
				    .build_id = {1, 2, 3}},
		    at);
	m_good = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("good")}, at);
	m_jit = add(
		&c,
		(struct module){.kind = MODULE_ANON, .path = "[anon]", .pid = (uint32_t)getpid()},
		0x7010);
	assert_true(writer_stack(c.w, c.frames, c.n, 0) > 0);
	assert_int_equal(writer_close(c.w, END_DONE), 0);

	assert_int_equal(reader_open(in_build("c.thaw"), &r), 0);
	st = symbolize(r, notes, sizeof(notes));
	assert_int_equal(symtab_find(st, m_good, at, &s), 2);
	assert_string_equal(s[0].name, "inner");
	assert_string_equal(s[0].file, "/truth/good.c");
	assert_int_equal(s[0].line, 4);
	assert_true(s[0].inlined);
	assert_string_equal(s[1].name, "outer");
	assert_int_equal(s[1].line, 9);
	assert_false(s[1].inlined);
	assert_int_equal(symtab_find(st, m_jit, 0x7010, &s), 1);
	assert_string_equal(s[0].name, "jit_compiled");
	assert_int_equal(symtab_find(st, m_old, at, &s), 0);
	assert_int_equal(symtab_find(st, m_bad, 0x1000, &s), 0);
	assert_int_equal(symtab_find(st, m_none, 0x10, &s), 0);
	assert_non_null(strstr(notes, "good was replaced since"));
	symtab_free(st);

	/* Too little room for a note is no reason to write beyond it. */
	st = symbolize(r, notes, 8);
	assert_true(strlen(notes) < 8);
	assert_int_equal(symtab_find(st, m_good, at, &s), 2);
	symtab_free(st);
	reader_close(r);
	unlink(map);
}

/* A capture that grows: what is new is named, what is known stays. */
static void test_names_come_as_it_grows(void **state)
{
	struct capture c = {0};
	struct symtab *st = symtab_new();
	struct namer *namer = namer_new();
	const struct symbol *s;
	struct reader *r = NULL;
	uint64_t at, entry;
	uint32_t m;

	write_text("good.c", good);
	if (!tools("cc") || !sh("cc -O2 -g -o good good.c"))
		skip();
	at = offset_of("good", "at_inner");
	entry = offset_of("good", "main");
	assert_int_equal(
		writer_open(in_build("g.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	m = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("good")}, at);
	writer_stack(c.w, c.frames, 1, 0);
	assert_int_equal(writer_flush(c.w, true), 0);
	assert_int_equal(reader_open(in_build("g.thaw"), &r), 0);
	reader_set_symtab(r, st);
	namer_more(namer, r, 0, st); /* no time for it: no name */
	assert_int_equal(reader_symbol(r, m, at, &s), 0);
	namer_free(namer);

	namer = namer_new();
	namer_more(namer, r, UINT64_MAX, st);
	assert_int_equal(reader_symbol(r, m, at, &s), 2);
	assert_int_equal(reader_symbol(r, m, entry, &s), 0);
	c.frames[1] = (struct frame){.module = m, .offset = entry};
	writer_stack(c.w, c.frames, 2, 0);
	assert_int_equal(writer_flush(c.w, true), 0);
	assert_int_equal(reader_follow(r), 0);
	namer_more(namer, r, UINT64_MAX, st);
	assert_int_equal(reader_symbol(r, m, at, &s), 2);
	assert_string_equal(s[0].name, "inner");
	assert_int_equal(reader_symbol(r, m, entry, &s), 1);
	assert_string_equal(s[0].name, "main");
	namer_free(namer);
	writer_abandon(c.w);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_gets_what_it_can),
		cmocka_unit_test(test_names_come_as_it_grows),
	};

	return cmocka_run_group_tests(tests, build_begin, build_end);
}
