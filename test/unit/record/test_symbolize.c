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

#include "record/machine.h"
#include "record/symbolize.h"
#include "store/writer.h"
#include "symbol/kernel_kept.h"
#include "unit/symbol/build.h"
#include "wire/state.h"

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

static void recorded_here(struct writer *w)
{
	char boot[64];

	machine_boot_id(boot, sizeof(boot));
	writer_meta(w, "boot_id", boot);
}

static void test_each_gets_what_it_can(void **state)
{
	struct capture c = {0};
	struct reader *r = NULL;
	const struct symbol *s;
	struct symtab *st;
	char notes[512], map[64];
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
	recorded_here(c.w);
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
	st = symbolize(r, NULL, notes, sizeof(notes));
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
	st = symbolize(r, NULL, notes, 8);
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
	struct namer *namer = namer_new("");
	const struct symbol *s;
	struct reader *r = NULL, *events = NULL;
	uint64_t at, entry;
	uint32_t m;

	write_text("good.c", good);
	if (!tools("cc") || !sh("cc -O2 -g -o good good.c"))
		skip();
	at = offset_of("good", "at_inner");
	entry = offset_of("good", "main");
	assert_int_equal(
		writer_open(in_build("g.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	recorded_here(c.w);
	m = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("good")}, at);
	writer_stack(c.w, c.frames, 1, 0);
	assert_int_equal(writer_flush(c.w, true), 0);
	assert_int_equal(reader_open(in_build("g.thaw"), &r), 0);
	assert_int_equal(reader_open(in_build("g.thaw"), &events), 0);
	reader_set_symtab(r, st);
	namer_more(namer, r, events, 0, st); /* no time for it: no name */
	assert_int_equal(reader_symbol(r, m, at, &s), 0);
	namer_free(namer);

	namer = namer_new("");
	namer_more(namer, r, events, UINT64_MAX, st);
	assert_int_equal(reader_symbol(r, m, at, &s), 2);
	assert_int_equal(reader_symbol(r, m, entry, &s), 0);
	c.frames[1] = (struct frame){.module = m, .offset = entry};
	writer_stack(c.w, c.frames, 2, 0);
	assert_int_equal(writer_flush(c.w, true), 0);
	assert_int_equal(reader_follow(r), 0);
	assert_int_equal(reader_follow(events), 0);
	namer_more(namer, r, events, UINT64_MAX, st);
	assert_int_equal(reader_symbol(r, m, at, &s), 2);
	assert_string_equal(s[0].name, "inner");
	assert_int_equal(reader_symbol(r, m, entry, &s), 1);
	assert_string_equal(s[0].name, "main");
	namer_free(namer);
	writer_abandon(c.w);
	reader_close(events);
	reader_close(r);
}

/* ---- data ---- */

static const char locks[] =
	"#include <pthread.h>\n"
	"struct server { int fd; pthread_mutex_t commit_lock; char rest[64]; };\n"
	"struct server server; pthread_rwlock_t table_lock; int plain[4];\n"
	"int main(void) { return server.fd + plain[1]; }\n";

static uint64_t nm(const char *name, const char *symbol)
{
	char command[512];
	unsigned long at = 0;
	FILE *f;

	snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" { print $1 }'",
		 in_build(name), symbol);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%lx", &at), 1);
	pclose(f);
	return at;
}

static void place(struct writer *w, uint32_t module, uint64_t vaddr)
{
	struct event ev = {.ts = 1000, .kind = EV_PLACE};

	ev.place = (struct ev_place){.pid = 7,
				     .addr = 0x7f0000000000 + vaddr,
				     .kind = PLACE_MODULE,
				     .module = module,
				     .offset = vaddr};
	writer_event(w, &ev);
}

static void check_data(const struct reader *r, uint32_t module, uint64_t at, const char *name,
		       uint64_t begin, bool whole)
{
	const struct data_symbol *d = reader_data(r, module, at);

	assert_non_null(d);
	assert_string_equal(d->name, name);
	assert_true(d->begin == begin);
	assert_int_equal(d->whole, whole);
}

/*
 * Code is known by its place in the file, data by its address: the same number means another thing.
 * What is stored is read again; a lock's own address is known although one of its words was asked
 * for.
 */
static void test_data_of_locks(void **state)
{
	uint64_t server, table, plain;
	const struct symbol *s;
	struct capture c = {0};
	struct writer *again;
	struct reader *r;
	struct symtab *st;
	char notes[512];
	uint32_t with, without;

	write_text("locks.c", locks);
	if (!tools("cc nm strip awk") || !sh("cc -O1 -g -o locks locks.c && cp locks plain && "
					     "strip -g plain"))
		skip();
	server = nm("locks", "server");
	table = nm("locks", "table_lock");
	plain = nm("locks", "plain");
	assert_int_equal(
		writer_open(in_build("d.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	recorded_here(c.w);
	with = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("locks")}, server);
	without = add(&c, (struct module){.kind = MODULE_FILE, .path = in_build("plain")}, 8);
	assert_true(writer_stack(c.w, c.frames, c.n, 0) > 0);
	place(c.w, with, server + 8);
	place(c.w, with, table + 12);
	place(c.w, without, server + 8);
	place(c.w, without, plain);
	place(c.w, without, 0x10); /* the file's headers */
	place(c.w, without + 7, server);
	assert_int_equal(writer_close(c.w, END_DONE), 0);

	assert_int_equal(reader_open(in_build("d.thaw"), &r), 0);
	st = symbolize(r, NULL, notes, sizeof(notes));
	assert_string_equal(notes, "");
	assert_int_equal(symtab_find(st, with, server, &s), 0);
	assert_int_equal(
		writer_open(in_build("e.thaw"), &(struct writer_opts){.no_sync = true}, &again), 0);
	writer_symbols(again, st);
	assert_int_equal(writer_close(again, END_DONE), 0);
	reader_set_symtab(r, st);
	for (int round = 0; round < 2; round++) {
		check_data(r, with, server + 8, "server.commit_lock", server + 8, true);
		check_data(r, with, server + 47, "server.commit_lock", server + 8, true);
		check_data(r, with, table + 12, "table_lock", table, true);
		check_data(r, with, table, "table_lock", table, true);
		check_data(r, without, server + 8, "server", server, false);
		check_data(r, without, plain, "plain", plain, false);
		assert_null(reader_data(r, with, server));
		assert_null(reader_data(r, without, 0x10));
		assert_null(reader_data(r, without, table));
		reader_close(r);
		assert_int_equal(reader_open(in_build("e.thaw"), &r), 0);
		assert_int_equal(reader_verify(r), 0);
	}
	reader_close(r);
}

/* Two global locks of this machine's kernel, as if they had been read and kept before: many kernels
 * list no data. */
static bool keep_globals(const char *dir, const uint64_t at[2], const struct kernel_ref *ref)
{
	struct kept *kept = kept_for(dir);
	struct symbols *some;
	struct buf text = {0};

	buf_printf(&text, "%llx d slept_on_lock\n%llx d got_lock\n%llx B _end\n",
		   (unsigned long long)at[0], (unsigned long long)at[1],
		   (unsigned long long)at[1] + 64);
	if (!kept || kallsyms_parse_data(&text, &some))
		return false;
	kernel_kept_put(kept, ref, KERNEL_DATA, some, at[1] + 64);
	symbols_free(some);
	kept_close(kept);
	return true;
}

/* A global lock of the kernel has its name, whether a thread went to sleep on it or got it. */
static void test_global_locks_of_the_kernel(void **state)
{
	static const char *const names[] = {"slept_on_lock", "got_lock"};
	struct kernel_ref ref;
	struct capture c = {0};
	struct namer *namer;
	struct symtab *st;
	struct reader *r;
	char boot[64], notes[512];
	uint32_t kernel;
	uint64_t at[2];

	if (!kernel_ref_here(&ref))
		skip(); /* it keeps its addresses for itself */
	at[0] = ref.text + 0x1000000;
	at[1] = at[0] + 64;
	assert_true(keep_globals(in_build("kept"), at, &ref));
	assert_int_equal(
		writer_open(in_build("k.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	machine_boot_id(boot, sizeof(boot));
	writer_meta(c.w, "boot_id", boot);
	kernel = writer_module(c.w, &(struct module){.kind = MODULE_KERNEL, .path = "[kernel]"});
	writer_event(c.w, &(struct event){.ts = 1000,
					  .kind = EV_KLOCK,
					  .klock = {7, at[0], 0, 0, KLOCK_GLOBAL, at[0]}});
	writer_event(c.w, &(struct event){.ts = 2000,
					  .kind = EV_KLOCKED,
					  .klocked = {8, at[1], 0, 0, KLOCK_GLOBAL, at[1]}});
	assert_int_equal(writer_close(c.w, END_DONE), 0);

	assert_int_equal(reader_open(in_build("k.thaw"), &r), 0);
	namer = namer_new(in_build("kept"));
	st = symbolize(r, namer, notes, sizeof(notes));
	reader_set_symtab(r, st);
	for (size_t i = 0; i < 2; i++) {
		const struct data_symbol *d = reader_data(r, kernel, at[i]);

		assert_non_null(d);
		assert_string_equal(d->name, names[i]);
	}
	namer_free(namer);
	reader_close(r);
}

/* How many frames have names if the capture says this of where it is from. */
static void from_elsewhere(const char *key, const char *value, size_t without, size_t with)
{
	struct module known = {.kind = MODULE_FILE, .path = in_build("good")}, unknown = known;
	uint64_t at = offset_of("good", "at_inner");
	struct capture c = {0};
	const struct symbol *s;
	struct reader *r = NULL;
	struct symtab *st;
	char notes[512];

	known.build_id_len = (uint8_t)build_id_of("good", known.build_id, sizeof(known.build_id));
	assert_int_equal(
		writer_open(in_build("f.thaw"), &(struct writer_opts){.no_sync = true}, &c.w), 0);
	writer_meta(c.w, key, value);
	add(&c, known, at);
	add(&c, unknown, at);
	assert_true(writer_stack(c.w, c.frames, c.n, 0) > 0);
	assert_int_equal(writer_close(c.w, END_DONE), 0);
	assert_int_equal(reader_open(in_build("f.thaw"), &r), 0);
	st = symbolize(r, NULL, notes, sizeof(notes));
	assert_string_equal(notes, "");
	assert_int_equal(symtab_find(st, c.frames[0].module, at, &s), with);
	assert_int_equal(symtab_find(st, c.frames[1].module, at, &s), without);
	symtab_free(st);
	reader_close(r);
}

/* A path says nothing of another machine's file, nor of what it was before a reboot. */
static void test_other_machine(void **state)
{
	write_text("good.c", good);
	if (!tools("cc") || !sh("cc -O2 -g -Wl,--build-id=sha1 -o good good.c"))
		skip();
	from_elsewhere("boot_id", "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a", 0, 2);
	from_elsewhere("host", "nowhere", 0, 2);
	from_elsewhere("imported", "perf.data", 2, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_gets_what_it_can),
		cmocka_unit_test(test_names_come_as_it_grows),
		cmocka_unit_test(test_data_of_locks),
		cmocka_unit_test(test_global_locks_of_the_kernel),
		cmocka_unit_test(test_other_machine),
	};

	return cmocka_run_group_tests(tests, build_begin, build_end);
}
