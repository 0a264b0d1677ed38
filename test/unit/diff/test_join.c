// SPDX-License-Identifier: MIT
/* Two captures as one: names that only an event leads to are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "diff/join.h"
#include "store/reader.h"
#include "store/writer.h"
#include "wire/state.h"

enum { GLOBAL = 0x1000 };

struct made {
	char path[32];
	struct reader *r;
};

/* A global lock of the kernel, known from one event alone. */
static void make(struct made *m, bool got, uint64_t of, const char *name)
{
	struct symtab *st = symtab_new();
	struct event ev = {.ts = 1000, .kind = got ? EV_KLOCKED : EV_KLOCK};
	struct writer *w;
	uint32_t kernel;

	strcpy(m->path, "/tmp/thaw-join-XXXXXX");
	close(mkstemp(m->path));
	assert_int_equal(writer_open(m->path, &(struct writer_opts){.no_sync = true}, &w), 0);
	kernel = writer_module(w, &(struct module){.kind = MODULE_KERNEL, .path = "[kernel]"});
	if (got)
		ev.klocked = (struct ev_klocked){.tid = 7, .what = KLOCK_GLOBAL, .of = of};
	else
		ev.klock = (struct ev_klock){.tid = 7, .what = KLOCK_GLOBAL, .of = of};
	writer_event(w, &ev);
	symtab_add_data(
		st, kernel,
		&(struct data_symbol){.name = name, .begin = of, .size = 32, .whole = true});
	writer_symbols(w, st);
	symtab_free(st);
	assert_int_equal(writer_close(w, END_DONE), 0);
	assert_int_equal(reader_open(m->path, &m->r), 0);
}

static void unmake(struct made *m)
{
	reader_close(m->r);
	unlink(m->path);
}

static void expect_name(const struct reader *r, uint64_t of, const char *name)
{
	const struct data_symbol *d = reader_data(r, reader_kernel_module(r), of);

	assert_non_null(d);
	assert_string_equal(d->name, name);
}

static void test_names_of_global_locks(void **state)
{
	char path[] = "/tmp/thaw-joined-XXXXXX";
	struct reader *joined;
	struct made a, b;
	uint64_t moved;

	for (int got = 0; got < 2; got++) {
		int fd = mkstemp(path);

		make(&a, got, GLOBAL, "first_lock");
		make(&b, got, 2 * GLOBAL, "second_lock");
		assert_int_equal(diff_join(a.r, b.r, fd, &moved), 0);
		assert_int_equal(reader_open(path, &joined), 0);
		expect_name(joined, GLOBAL, "first_lock");
		expect_name(joined, 2 * GLOBAL, "second_lock");
		reader_close(joined);
		unlink(path);
		strcpy(path, "/tmp/thaw-joined-XXXXXX");
		unmake(&a);
		unmake(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_global_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
