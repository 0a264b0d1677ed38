// SPDX-License-Identifier: MIT
/*
 * Names, lines and inlined calls of programs whose truth is known: built here, with labels at known
 * lines, and compared with addr2line over every address; and the places where debug information is
 * kept apart from its program.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/err.h"
#include "unit/symbol/build.h"

/* Each label is an instruction of its own, and its function is inlined exactly once. */
static const char source[] =
	"#line 1 \"/truth/chain.c\"\n"
	"volatile int sink;\n"
	"#define HERE(name) __asm__ volatile(\".globl \" #name \"\\n\" #name \": nop\")\n"
	"static inline __attribute__((always_inline)) void inner(int x)\n"
	"{\n"
	"	sink += x;\n"
	"	HERE(at_inner);\n" /* 6 */
	"}\n"
	"static inline __attribute__((always_inline)) void middle(int x)\n"
	"{\n"
	"	HERE(at_middle);\n" /* 10 */
	"	inner(x + 1);\n"    /* 11 */
	"}\n"
	"static __attribute__((noinline)) void hidden(int x)\n"
	"{\n"
	"	HERE(at_hidden);\n" /* 15 */
	"	sink -= x;\n"
	"}\n"
	"__attribute__((noinline)) void outer(int x)\n"
	"{\n"
	"	HERE(at_outer);\n" /* 20 */
	"	middle(x + 1);\n"  /* 21 */
	"	hidden(x);\n"
	"}\n"
	"#include <unistd.h>\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	outer(argc);\n"
	"	while (argc > 1)\n"
	"		pause();\n"
	"	return 0;\n"
	"}\n";

#define INNER "inner chain.c:6 < middle chain.c:11 < outer chain.c:21"

static bool build_with(const char *compiler, const char *name, const char *flags)
{
	write_text("chain.c", source);
	return tools(compiler) && sh("%s -O2 -g -o %s chain.c %s", compiler, name, flags);
}

static bool build(const char *name, const char *flags)
{
	char all[256];

	snprintf(all, sizeof(all), "-fno-ipa-icf %s", flags);
	return build_with("cc", name, all);
}

/* Every version and form that compilers at hand make; those that they do not are left out. */
static void test_inlined_chain(void **state)
{
	static const char *const made_by[][2] = {
		{"cc", "-gdwarf-5"},
		{"cc", "-gdwarf-4"},
		{"cc", "-gdwarf-3"},
		{"cc", "-gdwarf-5 -gz=zlib"},
		{"cc", "-gdwarf-4 -gz=zlib-gnu"},
		{"cc", "-gdwarf-5 -gz=zstd"},
		{"cc", "-gdwarf-4 -static"},
		{"cc", "-gdwarf-5 -no-pie"},
		{"cc", "-gdwarf-5 -gdwarf64"},
		{"cc", "-gdwarf-5 -ffunction-sections -Wl,--gc-sections"},
		{"cc", "-gdwarf-4 -fdebug-types-section"},
		{"cc", "-gdwarf-5 -flto"},
		{"clang-16", "-gdwarf-5"},
		{"clang-16", "-gdwarf-4"},
		{"clang-16", "-gdwarf-5 -gdwarf64"},
	};
	size_t tried = 0;

	for (size_t i = 0; i < sizeof(made_by) / sizeof(made_by[0]); i++) {
		struct symbols_query q = {.path = in_build("chain")};
		char text[1024];

		if (!build_with(made_by[i][0], "chain", made_by[i][1]))
			continue;
		tried++;
		print_message("%s %s\n", made_by[i][0], made_by[i][1]);
		assert_int_equal(ask_one(q, offset_of("chain", "at_inner"), text), 0);
		assert_string_equal(text, INNER);
		assert_int_equal(ask_one(q, offset_of("chain", "at_middle"), text), 0);
		assert_string_equal(text, "middle chain.c:10 < outer chain.c:21");
		assert_int_equal(ask_one(q, offset_of("chain", "at_outer"), text), 0);
		assert_string_equal(text, "outer chain.c:20");
		assert_int_equal(ask_one(q, offset_of("chain", "at_hidden"), text), 0);
		assert_string_equal(text, "hidden chain.c:15");
		/* The headers of the file are no code. */
		assert_int_equal(ask_one(q, 8, text), 0);
		assert_string_equal(text, "-");
	}
	if (!tried)
		skip();
}

/* Of split debug information the lines are in the program; the names are those of its symbols. */
static void test_split_debug_information(void **state)
{
	struct symbols_query q = {.path = in_build("split"), .debug_dir = in_build("nothing")};
	char text[1024];

	if (!build("split", "-gdwarf-5 -gsplit-dwarf"))
		skip();
	assert_int_equal(ask_one(q, offset_of("split", "at_hidden"), text), 0);
	assert_string_equal(text, "hidden chain.c:15");
}

static void test_order_does_not_matter(void **state)
{
	static const char *const labels[] = {"at_hidden", "at_inner", "at_outer", "at_inner"};
	char text[4][1024] = {"-", "-", "-", "-"};
	struct said s = {.text = text, .n = 4};
	struct symbols_query q = {.path = in_build("chain"), .n = 4};
	uint64_t offsets[4];

	if (!build("chain", ""))
		skip();
	for (int i = 0; i < 4; i++)
		offsets[i] = offset_of("chain", labels[i]);
	q.offsets = offsets;
	assert_int_equal(symbols_resolve(&q, say, &s), 0);
	assert_string_equal(text[0], "hidden chain.c:15");
	assert_string_equal(text[1], INNER);
	assert_string_equal(text[2], "outer chain.c:20");
	assert_string_equal(text[3], INNER);
}

static void test_sorting(void **state)
{
	uint64_t v[] = {5, UINT64_MAX, 0, 1ull << 40, 256, 5, 255, 1ull << 40, 0, 257};
	static const uint64_t want[] = {0, 5, 255, 256, 257, 1ull << 40, UINT64_MAX};
	uint64_t near[] = {1063, 1000, 1064, 1000, 1200, 1001, 1063, 1127, 1128};
	static const uint64_t want_near[] = {1000, 1001, 1063, 1064, 1127, 1128, 1200};

	assert_int_equal(symbols_order_offsets(v, 10), 7);
	assert_memory_equal(v, want, sizeof(want));
	assert_int_equal(symbols_order_offsets(v, 7), 7);
	assert_memory_equal(v, want, sizeof(want));
	assert_int_equal(symbols_order_offsets(near, 9), 7);
	assert_memory_equal(near, want_near, sizeof(want_near));
	assert_int_equal(symbols_order_offsets(NULL, 0), 0);
}

static const char cpp_source[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"namespace zoo {\n"
	"template <class T> struct Cage {\n"
	"	std::vector<T> v;\n"
	"	__attribute__((noinline)) void add(T t) { v.push_back(t); }\n"
	"	T sum() const { T s{}; for (auto &x : v) s += x; return s; }\n"
	"};\n}\n"
	"int work(const std::string &s) {\n"
	"	std::map<std::string, int> m;\n"
	"	for (char c : s) m[std::string(1, c)]++;\n"
	"	zoo::Cage<int> c;\n"
	"	for (auto &[k, v] : m) c.add(v);\n"
	"	std::sort(c.v.begin(), c.v.end(), [](int a, int b) { return a > b; });\n"
	"	return c.sum();\n}\n"
	"int main(int argc, char **argv) { return work(argv[0]); }\n";

/* The next answer of addr2line -afiC: "name file:line < ...". False at the end. */
static bool next_answer(FILE *f, char *pending, char text[1024])
{
	char name[8192], place[8192];
	size_t len = 0;

	if (!*pending && !fgets(pending, 8192, f))
		return false;
	text[0] = '\0';
	*pending = '\0';
	while (fgets(name, sizeof(name), f)) {
		char *slash, *end;

		if (!strncmp(name, "0x", 2)) {
			strcpy(pending, name);
			break;
		}
		if (!fgets(place, sizeof(place), f))
			break;
		name[strcspn(name, "\n")] = '\0';
		place[strcspn(place, " \n")] = '\0';
		slash = strrchr(place, '/');
		end = strrchr(place, ':');
		if (end && (end[1] == '?' || end[1] == '0'))
			slash = NULL, place[0] = '\0';
		if (len < 1024)
			len += (size_t)snprintf(text + len, 1024 - len, "%s%s%s%s",
						len ? " < " : "", name, place[0] ? " " : "",
						slash ? slash + 1 : place);
	}
	return true;
}

static size_t depth(const char *s)
{
	size_t n = 1;

	while ((s = strstr(s, " < "))) {
		n++;
		s += 3;
	}
	return n;
}

static void compare_with_addr2line(const char *name, uint64_t begin, size_t n)
{
	char(*text)[1024] = calloc(n, 1024), pending[8192] = "", theirs[1024];
	uint64_t *offsets = calloc(n, sizeof(*offsets));
	struct said s = {.text = text, .n = n};
	struct symbols_query q = {.path = in_build(name), .offsets = offsets, .n = n};
	size_t same = 0, silent = 0, depths = 0, other = 0;
	char command[512];
	FILE *f = fopen(in_build("addresses"), "w");
	struct elf *e;
	int fd;

	e = open_built(name, &fd);
	for (size_t i = 0; i < n; i++) {
		uint64_t address = 0;

		offsets[i] = begin + i;
		assert_true(elf_offset_to_vaddr(e, offsets[i], &address));
		fprintf(f, "%lx\n", address);
	}
	fclose(f);
	elf_free(e);
	close(fd);
	assert_int_equal(symbols_resolve(&q, say, &s), 0);
	snprintf(command, sizeof(command), "cd %s && addr2line -afiC -e %s <addresses", build_dir,
		 name);
	f = popen(command, "r");
	for (size_t i = 0; i < n && next_answer(f, pending, theirs); i++) {
		silent += !text[i][0];
		same += text[i][0] && !strcmp(text[i], theirs);
		depths += text[i][0] && depth(text[i]) != depth(theirs);
		other += text[i][0] && strcmp(text[i], theirs) != 0;
	}
	pclose(f);
	print_message("%s: %zu addresses: %zu the same, %zu other (%zu of them in depth), "
		      "%zu between functions\n",
		      name, n, same, other, depths, silent);
	assert_int_equal(same + other + silent, n);
	assert_int_equal(depths, 0);
	assert_true(same > n / 2);
	/* Padding between functions, and what the compiler split off (".cold"). */
	assert_true(silent * 10 < n);
	assert_true(other * 20 < n);
	free(text);
	free(offsets);
}

static void test_addr2line_agrees(void **state)
{
	static const char *const made_by[] = {"c++ -gdwarf-5", "c++ -gdwarf-4 -ffunction-sections"};
	size_t tried = 0;

	write_text("zoo.cc", cpp_source);
	if (!tools("c++ addr2line"))
		skip();
	for (size_t i = 0; i < sizeof(made_by) / sizeof(made_by[0]); i++) {
		const struct elf_section *text;
		uint64_t begin, size;
		struct elf *e;
		int fd;

		if (!sh("%s -std=c++17 -O2 -g -o zoo zoo.cc", made_by[i]))
			continue;
		tried++;
		e = open_built("zoo", &fd);
		text = elf_section(e, ".text");
		assert_non_null(text);
		begin = text->offset;
		size = text->size;
		elf_free(e);
		close(fd);
		compare_with_addr2line("zoo", begin, size);
	}
	assert_true(tried > 0);
}

static void test_cpp_names(void **state)
{
	struct symbols_query q = {.path = in_build("zoo")};
	char text[1024];

	write_text("zoo.cc", cpp_source);
	if (!tools("c++") || !sh("c++ -std=c++17 -O2 -g -o zoo zoo.cc"))
		skip();
	assert_int_equal(ask_one(q, offset_of("zoo", "_ZN3zoo4CageIiE3addEi"), text), 0);
	assert_string_equal(text, "zoo::Cage<int>::add(int) zoo.cc:8");
	/* Without debug information: the same name, no line. */
	assert_true(sh("strip -g zoo"));
	assert_int_equal(ask_one(q, offset_of("zoo", "_ZN3zoo4CageIiE3addEi"), text), 0);
	assert_string_equal(text, "zoo::Cage<int>::add(int)");
}

/* ---- debug information kept apart ---- */

static void test_debuglink(void **state)
{
	static const char *const places[] = {".", ".debug"};
	struct symbols_query q = {.path = in_build("apart"), .debug_dir = in_build("nothing")};
	uint64_t inner, hidden;
	char text[1024];

	if (!build("apart", "-Wl,--build-id=none") || !tools("objcopy strip"))
		skip();
	inner = offset_of("apart", "at_inner");
	hidden = offset_of("apart", "at_hidden");
	assert_true(sh("objcopy --only-keep-debug apart apart.debug && strip -s apart && "
		       "objcopy --add-gnu-debuglink=apart.debug apart && mkdir -p .debug && "
		       "mv apart.debug kept"));
	assert_int_equal(ask_one(q, hidden, text), 0);
	assert_string_equal(text, "-");
	for (size_t i = 0; i < 2; i++) {
		assert_true(sh("cp kept %s/apart.debug", places[i]));
		assert_int_equal(ask_one(q, inner, text), 0);
		assert_string_equal(text, INNER);
		/* Not the file that the link was made for: its checksum says so. */
		assert_true(sh("echo >>%s/apart.debug", places[i]));
		assert_int_equal(ask_one(q, hidden, text), 0);
		assert_string_equal(text, "-");
		assert_true(sh("rm %s/apart.debug", places[i]));
	}
	/* The global folder, where the path of the program is repeated. */
	q.debug_dir = in_build("debug");
	assert_true(sh("mkdir -p debug/%s && cp kept debug/%s/apart.debug", build_dir, build_dir));
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
}

static void test_build_id_folder(void **state)
{
	struct symbols_query q = {.path = in_build("byid"), .debug_dir = in_build("debug")};
	uint64_t inner;
	uint8_t id[64];
	char hex[129], text[1024];
	int n;

	if (!build("byid", "-Wl,--build-id=sha1") || !tools("objcopy strip"))
		skip();
	inner = offset_of("byid", "at_inner");
	n = build_id_of("byid", id, sizeof(id));
	assert_int_equal(n, 20);
	for (int i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	assert_true(sh("mkdir -p debug/.build-id/%.2s && objcopy --only-keep-debug byid "
		       "debug/.build-id/%.2s/%s.debug && strip -s byid",
		       hex, hex, hex + 2));
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
	q.build_id = id;
	q.build_id_len = 20;
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
	/* Another program's debug information at that place is not believed. */
	assert_true(build("other", "-Wl,--build-id=sha1 -DUNUSED -g3"));
	assert_true(sh("cp other debug/.build-id/%.2s/%s.debug", hex, hex + 2));
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, "-");
	/* Nor is a program that was put into the place of the recorded one. */
	id[3] ^= 1;
	assert_int_equal(ask_one(q, inner, text), -ESTALE);
	assert_non_null(strstr(err_msg(), "was replaced since"));
}

static void test_mini_symbols(void **state)
{
	struct symbols_query q = {.path = in_build("mini"), .debug_dir = in_build("nothing")};
	uint64_t hidden;
	char text[1024];

	if (!build("mini", "") || !tools("objcopy strip xz"))
		skip();
	hidden = offset_of("mini", "at_hidden");
	assert_true(
		sh("cp mini full && strip -g full && rm -f full.xz && xz full && strip -s mini"));
	assert_int_equal(ask_one(q, hidden, text), 0);
	assert_string_equal(text, "-");
	assert_true(sh("objcopy --add-section .gnu_debugdata=full.xz mini"));
	assert_int_equal(ask_one(q, hidden, text), 0);
	assert_string_equal(text, "hidden");
}

static void test_shared_debug_information(void **state)
{
	struct symbols_query q = {.path = in_build("one"), .debug_dir = in_build("nothing")};
	char text[1024];

	if (!tools("dwz") || !build("one", "-gdwarf-4") || !build("two", "-gdwarf-4 -g3"))
		skip();
	if (!sh("dwz -m common.debug one two && readelf -S one | grep -q debugaltlink"))
		skip();
	assert_int_equal(ask_one(q, offset_of("one", "at_inner"), text), 0);
	assert_string_equal(text, INNER);
}

/* ---- files that are no longer where they were ---- */

static void test_deleted_program(void **state)
{
	struct symbols_query q = {.debug_dir = in_build("nothing")};
	char text[1024], path[300];
	uint64_t inner;
	uint8_t id[64];
	pid_t pid;

	if (!build("gone", "-Wl,--build-id=sha1"))
		skip();
	inner = offset_of("gone", "at_inner");
	assert_int_equal(build_id_of("gone", id, sizeof(id)), 20);
	snprintf(path, sizeof(path), "%s", in_build("gone"));
	pid = fork();
	if (!pid) {
		execl(path, path, "wait", NULL);
		_exit(127);
	}
	usleep(200000);
	q.path = path;
	q.pid = (uint32_t)pid;
	q.build_id = id;
	q.build_id_len = 20;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
	strcat(path, " (deleted)");
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
	/* A new program of that name: the process still runs the old one. */
	assert_true(build("gone", "-Wl,--build-id=sha1 -g3"));
	assert_int_equal(ask_one(q, inner, text), 0);
	assert_string_equal(text, INNER);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(ask_one(q, inner, text), -ESTALE);
	assert_non_null(strstr(err_msg(), "was replaced since"));
	q.build_id_len = 0;
	assert_int_equal(ask_one(q, inner, text), -ESTALE);
	assert_non_null(strstr(err_msg(), "deleted"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_chain),
		cmocka_unit_test(test_split_debug_information),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_sorting),
		cmocka_unit_test(test_addr2line_agrees),
		cmocka_unit_test(test_cpp_names),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_build_id_folder),
		cmocka_unit_test(test_mini_symbols),
		cmocka_unit_test(test_shared_debug_information),
		cmocka_unit_test(test_deleted_program),
	};

	return cmocka_run_group_tests(tests, build_begin, build_end);
}
