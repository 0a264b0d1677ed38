// SPDX-License-Identifier: MIT
/*
 * Names of data: programs that are built here and whose own compiler says where things are. The
 * truth about members is offsetof(), printed by the same source; that about symbols is nm's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "symbol/table.h"
#include "unit/symbol/build.h"

static const char source[] =
	"#include <pthread.h>\n#include <semaphore.h>\n#include <stddef.h>\n#include <stdio.h>\n"
	"typedef struct { int id; pthread_mutex_t lock; sem_t free; } slot_t;\n"
	"struct inner { char name[12]; pthread_rwlock_t table_lock; };\n"
	"struct server {\n"
	"	int fd; const char *name; struct inner in; slot_t pool[4]; int grid[3][5];\n"
	"	union { long as_long; pthread_mutex_t as_lock; } either;\n"
	"	struct { int hidden; pthread_cond_t ready; };\n"
	"	unsigned bits : 3; volatile int counter; pthread_mutex_t commit_lock;\n"
	"};\n"
	"pthread_mutex_t commit_lock;\n"
	"struct server server;\n"
	"static struct server local = {.fd = 1};\n"
	"slot_t slots[8];\n"
	"const slot_t *const nothing = 0;\n"
	"__thread int of_thread;\n"
	"static void tell(const char *path, const void *at) { printf(\"%s %p\\n\", path, at); }\n"
	"int work(int x) {\n"
	"	static pthread_mutex_t once; static int calls[2]; calls[1] += x + local.fd;\n"
	"	tell(\"once\", &once); tell(\"calls[1]\", &calls[1]);\n"
	"	{ static struct inner deep; tell(\"deep.table_lock\", &deep.table_lock); }\n"
	"	return calls[1]; }\n"
	"int main(int argc, char **argv) {\n"
	"	of_thread = argc;\n"
	"#define TELL(x) tell(#x, &x)\n"
	"	TELL(commit_lock); TELL(server.in.table_lock); TELL(server.pool[3].lock);\n"
	"	TELL(server.pool[0].free); TELL(server.grid[2][4]); TELL(server.grid[0][1]);\n"
	"	TELL(server.ready); TELL(server.counter); TELL(server.commit_lock);\n"
	"	TELL(server.fd); TELL(server.in.name[3]); TELL(local.pool[1].lock);\n"
	"	TELL(slots[7].lock); TELL(server.either.as_lock); TELL(server.hidden);\n"
	"	return work(argc) == 99; }\n";

/* The answer for one address. */
static void say_data(void *ctx, size_t first, size_t count, const struct symbols_data *d)
{
	char *text = ctx;

	assert_int_equal(first, 0);
	assert_int_equal(count, 1);
	snprintf(text, 1024, "%s%s", d->name, d->whole ? " lock" : "");
}

static struct symbols_data found;

static void keep_data(void *ctx, size_t first, size_t count, const struct symbols_data *d)
{
	say_data(ctx, first, count, d);
	found = *d;
}

static int ask_data(struct symbols_query q, uint64_t address, char text[1024])
{
	q.offsets = &address;
	q.n = 1;
	strcpy(text, "-");
	return symbols_resolve_data(&q, keep_data, text);
}

static bool build(const char *name, const char *flags)
{
	write_text("data.c", source);
	return tools("cc") && sh("cc -O1 -g -no-pie -o %s data.c %s -lpthread", name, flags);
}

/* The value of a symbol, by nm. */
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

static bool is_lock_path(const char *path)
{
	return strstr(path, "lock") || strstr(path, "ready") || strstr(path, "free") ||
	       !strcmp(path, "once");
}

/* The program prints what it calls its data and where that is; thaw must call it the same. */
static void check_told(const char *name)
{
	struct symbols_query q = {.path = in_build(name), .debug_dir = in_build("nothing")};
	char command[300], path[128], text[1024], want[160];
	unsigned long at;
	size_t told = 0;
	FILE *f;

	snprintf(command, sizeof(command), "%s", in_build(name));
	f = popen(command, "r");
	while (fscanf(f, "%127s %lx", path, &at) == 2) {
		snprintf(want, sizeof(want), "%s%s", path, is_lock_path(path) ? " lock" : "");
		assert_int_equal(ask_data(q, at, text), 0);
		assert_string_equal(text, want);
		assert_true(found.begin == at);
		told++;
	}
	pclose(f);
	assert_int_equal(told, 18);
}

static void test_members(void **state)
{
	static const char *const versions[] = {"-gdwarf-5",
					       "-gdwarf-4",
					       "-gdwarf-3",
					       "-gdwarf-5 -gz=zlib",
					       "-gdwarf-5 -fdebug-types-section",
					       "-gdwarf-4 -fdebug-types-section"};

	if (!tools("cc"))
		skip();
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		print_message("%s\n", versions[i]);
		assert_true(build("data", versions[i]));
		check_told("data");
	}
	if (tools("clang-16") && sh("clang-16 -O1 -g -no-pie -o byclang data.c -lpthread"))
		check_told("byclang");
}

/* Inside of a lock it is the lock; between members, and where there is nothing, it is said so. */
static void test_within(void **state)
{
	struct symbols_query q = {.path = in_build("data"), .debug_dir = in_build("nothing")};
	uint64_t server, lock, locals;
	char text[1024];

	if (!build("data", ""))
		skip();
	server = nm("data", "server");
	lock = nm("data", "commit_lock");
	locals = nm("data", "local");
	assert_int_equal(ask_data(q, lock + 8, text), 0);
	assert_string_equal(text, "commit_lock lock");
	assert_true(found.begin == lock && found.size == 40);
	assert_int_equal(ask_data(q, lock + 39, text), 0);
	assert_string_equal(text, "commit_lock lock");
	/* The hole after an int. */
	assert_int_equal(ask_data(q, server + 5, text), 0);
	assert_string_equal(text, "server");
	assert_true(found.begin == server);
	assert_int_equal(ask_data(q, locals + 2, text), 0);
	assert_string_equal(text, "local.fd");
	assert_true(found.begin == locals && found.size == 4);
	/* Code, headers, nowhere. */
	assert_int_equal(ask_data(q, nm("data", "main"), text), 0);
	assert_string_equal(text, "-");
	assert_int_equal(ask_data(q, 0, text), 0);
	assert_string_equal(text, "-");
	assert_int_equal(ask_data(q, UINT64_MAX, text), 0);
	assert_string_equal(text, "-");
}

struct heard {
	char text[8][64];
};

static void hear(void *ctx, size_t first, size_t count, const struct symbols_data *d)
{
	struct heard *h = ctx;

	for (size_t i = first; i < first + count; i++)
		snprintf(h->text[i], sizeof(h->text[i]), "%s", d->name);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void test_many_at_once(void **state)
{
	struct symbols_query q = {.path = in_build("data"), .debug_dir = in_build("nothing")};
	struct heard h = {0};
	uint64_t at[5];

	if (!build("data", ""))
		skip();
	at[0] = nm("data", "main");
	at[1] = nm("data", "commit_lock");
	at[2] = at[1] + 8;
	at[3] = nm("data", "slots");
	at[4] = nm("data", "server");
	qsort(at + 1, 4, sizeof(*at), by_value);
	q.offsets = at;
	q.n = 5;
	assert_int_equal(symbols_resolve_data(&q, hear, &h), 0);
	assert_string_equal(h.text[0], "");
	for (size_t i = 1; i < 5; i++) {
		if (at[i] == nm("data", "slots"))
			assert_string_equal(h.text[i], "slots[0].id");
		else if (at[i] == nm("data", "server"))
			assert_string_equal(h.text[i], "server.fd");
		else
			assert_string_equal(h.text[i], "commit_lock");
	}
}

static void test_another_build(void **state)
{
	struct symbols_query q = {.path = in_build("data"),
				  .debug_dir = in_build("nothing"),
				  .build_id = (const uint8_t *)"01234567890123456789",
				  .build_id_len = 20};
	char text[1024];

	if (!build("data", "-Wl,--build-id=sha1"))
		skip();
	assert_int_equal(ask_data(q, nm("data", "server"), text), -ESTALE);
	assert_string_equal(text, "-");
}

static void test_without_debug_information(void **state)
{
	struct symbols_query q = {.path = in_build("plain"), .debug_dir = in_build("nothing")};
	uint64_t server, lock, once, thread;
	char text[1024];

	if (!build("plain", "-rdynamic") || !tools("strip nm awk"))
		skip();
	server = nm("plain", "server");
	lock = nm("plain", "commit_lock");
	once = nm("plain", "local");
	thread = nm("plain", "of_thread");
	assert_true(sh("strip -g plain"));
	assert_int_equal(ask_data(q, lock, text), 0);
	assert_string_equal(text, "commit_lock");
	assert_int_equal(ask_data(q, server + 0x40, text), 0);
	assert_string_equal(text, "server");
	assert_true(found.begin == server && found.size > 0x40);
	assert_int_equal(ask_data(q, server + found.size - 1, text), 0);
	assert_string_equal(text, "server");
	assert_int_equal(ask_data(q, once, text), 0);
	assert_string_equal(text, "local");
	/* A thread's own variable has a number that is no address. */
	assert_int_equal(ask_data(q, thread, text), 0);
	assert_string_not_equal(text, "of_thread");
	/* Only what is exported is left. */
	assert_true(sh("strip -s plain"));
	assert_int_equal(ask_data(q, lock, text), 0);
	assert_string_equal(text, "commit_lock");
	assert_int_equal(ask_data(q, once, text), 0);
	assert_string_equal(text, "-");
}

static void test_debug_file(void **state)
{
	struct symbols_query q = {.path = in_build("apart"), .debug_dir = in_build("nothing")};
	uint64_t server, locals;
	char text[1024];

	if (!build("apart", "") || !tools("objcopy strip nm awk"))
		skip();
	server = nm("apart", "server");
	locals = nm("apart", "local");
	assert_true(sh("objcopy --only-keep-debug apart apart.debug && strip -s apart && "
		       "objcopy --add-gnu-debuglink=apart.debug apart"));
	assert_int_equal(ask_data(q, server, text), 0);
	assert_string_equal(text, "server.fd");
	assert_int_equal(ask_data(q, locals, text), 0);
	assert_string_equal(text, "local.fd");
	assert_true(sh("rm apart.debug"));
	assert_int_equal(ask_data(q, locals, text), 0);
	assert_string_equal(text, "-");
}

static const char cpp_source[] =
	"#include <condition_variable>\n#include <cstdio>\n#include <mutex>\n#include "
	"<shared_mutex>\n"
	"template <class T> void tell(const char *s, T &x) { std::printf(\"%s %p\\n\", s, (void "
	"*)&x); }\n"
	"namespace zoo {\n"
	"struct Base { int legs; std::mutex guard; };\n"
	"class Cage : public Base { public: static std::recursive_mutex all; int n;\n"
	"	std::shared_mutex door; std::condition_variable fed; struct { int x[3]; } in; };\n"
	"std::recursive_mutex Cage::all; Cage cage; Cage row[2];\n"
	"}\n"
	"namespace { std::mutex hidden; }\n"
	"std::mutex plain;\n"
	"static int count() { static std::mutex once; tell(\"count()::once\", once);\n"
	"	return once.try_lock(); }\n"
	"int main() {\n"
	"	tell(\"zoo::cage.guard\", zoo::cage.guard); tell(\"zoo::cage.door\", "
	"zoo::cage.door);\n"
	"	tell(\"zoo::cage.fed\", zoo::cage.fed); tell(\"zoo::Cage::all\", zoo::Cage::all);\n"
	"	tell(\"zoo::row[1].guard\", zoo::row[1].guard); tell(\"zoo::cage.in.x[2]\", "
	"zoo::cage.in.x[2]);\n"
	"	tell(\"plain\", plain); tell(\"zoo::cage.n\", zoo::cage.n);\n"
	"	hidden.lock(); tell(\"(anonymous_namespace)::hidden\", hidden);\n"
	"	return count() == 7; }\n";

static void test_cpp(void **state)
{
	static const char *const made_by[] = {"c++ -gdwarf-5", "c++ -gdwarf-4", "clang++-16"};
	struct symbols_query q = {.path = in_build("zoo"), .debug_dir = in_build("nothing")};
	char path[128], text[1024], command[300];
	unsigned long at;

	write_text("zoo.cc", cpp_source);
	if (!tools("c++"))
		skip();
	for (size_t i = 0; i < 3; i++) {
		size_t told = 0;
		FILE *f;

		if (!sh("%s -std=c++17 -O1 -g -no-pie -o zoo zoo.cc -lpthread", made_by[i]))
			continue;
		snprintf(command, sizeof(command), "%s", in_build("zoo"));
		f = popen(command, "r");
		while (fscanf(f, "%127s %lx", path, &at) == 2) {
			if (strstr(path, "anonymous_"))
				*strchr(path, '_') = ' ';
			assert_int_equal(ask_data(q, at, text), 0);
			if (strstr(text, " lock"))
				*strstr(text, " lock") = '\0';
			assert_string_equal(text, path);
			told++;
		}
		pclose(f);
		assert_int_equal(told, 10);
	}
}

/* ---- the kernel ---- */

static int kernel(const char *text, struct symbols **ret)
{
	struct buf b = {0};
	int rc;

	buf_put(&b, text, strlen(text));
	rc = kallsyms_parse_data(&b, ret);
	buf_done(&b);
	return rc;
}

static void test_kernel_data(void **state)
{
	static const char all[] = "ffffffff81000000 T _text\n"
				  "ffffffff82000000 D init_task\n"
				  "ffffffff82001000 d hidden_lock\n"
				  "ffffffff82001040 D tasklist_lock\n"
				  "ffffffff82001048 D __start_something\n"
				  "ffffffffc0000000 b of_module\t[mod]\n";
	static const char some[] = "ffffffff81000000 T _text\n"
				   "ffffffff82000000 D init_task\n"
				   "ffffffff82001000 D tasklist_lock\n";
	struct symbols_data d;
	struct symbols *s;

	assert_int_equal(kernel(all, &s), 0);
	assert_true(symbols_data_at(s, 0xffffffff82000010, &d));
	assert_string_equal(d.name, "init_task");
	assert_true(d.begin == 0xffffffff82000000 && d.size == 0x1000);
	assert_true(symbols_data_at(s, 0xffffffff82001000, &d));
	assert_string_equal(d.name, "hidden_lock");
	assert_true(symbols_data_at(s, 0xffffffffc0000004, &d));
	assert_string_equal(d.name, "of_module [mod]");
	assert_false(symbols_data_at(s, 0xffffffff81000000, &d));
	assert_true(symbols_data_at(s, 0xffffffff82001048, &d));
	assert_string_equal(d.name, "tasklist_lock"); /* borders of sections are no data */
	symbols_free(s);
	/* Without the variables that are not exported, nobody knows what lies behind the others. */
	assert_int_equal(kernel(some, &s), 0);
	assert_true(symbols_data_at(s, 0xffffffff82000000, &d));
	assert_int_equal(d.size, 1);
	assert_false(symbols_data_at(s, 0xffffffff82000010, &d));
	symbols_free(s);
	assert_int_equal(kernel("0000000000000000 D init_task\n", &s), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_another_build),
		cmocka_unit_test(test_without_debug_information),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_cpp),
		cmocka_unit_test(test_kernel_data),
	};

	return cmocka_run_group_tests(tests, build_begin, build_end);
}
