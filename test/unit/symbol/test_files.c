// SPDX-License-Identifier: MIT
/*
 * Real binaries, with somebody else's tools as the truth: readelf for symbols and build ids,
 * dlsym() for libc, the vDSO; and paths that lead to things that are no files.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/files.h"
#include "symbol/opener.h"
#include "symbol/symbol.h"
#include "symbol/table.h"
#include "unit/elf/tiny.h"

/* What the child does with a module's files, without the child. */
static int load_elf(const char *path, uint32_t pid, const uint8_t *id, size_t id_len,
		    struct symbols **ret)
{
	struct symbols_query q = {.path = path, .pid = pid, .build_id = id, .build_id_len = id_len};
	struct files f;
	int rc = files_find(&q, &f);

	rc = rc ? rc : table_load(f.main.elf, f.debug.elf, ret);
	files_close(&f);
	return rc;
}

static char dir[] = "/tmp/thaw-symbol-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

/* The file and the offset in it that an address of ours comes from, by /proc/self/maps. */
static void locate(const void *address, char *path, uint64_t *ret_offset)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t begin, end, offset, a = (uintptr_t)address;
	char line[512];

	assert_non_null(f);
	*path = '\0';
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3)
			continue;
		if (a < begin || a >= end)
			continue;
		(void)sscanf(line, "%*s %*s %*s %*s %*s %255s", path);
		*ret_offset = a - begin + offset;
	}
	fclose(f);
	assert_true(*path);
}

/* libc's own, whatever a sanitizer has put in front of it. */
static void *in_libc(const char *name)
{
	static void *libc;

	libc = libc ? libc : dlopen("libc.so.6", RTLD_NOW);
	return libc ? dlsym(libc, name) : NULL;
}

/* A line of readelf -s. */
struct expected {
	uint64_t value, size;
	char type[16], bind[16], section[16], name[256];
};

static bool parse_readelf(const char *line, struct expected *x)
{
	unsigned long long value, size;
	char digits[32];

	if (sscanf(line, " %*d: %llx %31s %15s %15s %*s %15s %255s", &value, digits, x->type,
		   x->bind, x->section, x->name) != 6)
		return false;
	size = strtoull(digits, NULL, 0);
	x->value = value;
	x->size = size;
	x->name[strcspn(x->name, "@")] = '\0';
	return !strcmp(x->type, "FUNC") && size && strcmp(x->section, "UND");
}

/*
 * Every function that readelf lists must be found at its first and at its last byte: by its own
 * name or, for at most a part of them, by that of an alias or of a function inside.
 */
static void compare_with_readelf(const char *path, const char *option, size_t at_least)
{
	size_t checked = 0, same = 0;
	struct symbols *s = NULL;
	char command[512], line[1024];
	struct elf *e = NULL;
	int fd = open(path, O_RDONLY);
	FILE *f;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(load_elf(path, 0, NULL, 0, &s), 0);
	snprintf(command, sizeof(command), "LC_ALL=C readelf -W %s %s", option, path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint64_t offset, distance = 1;
		const char *name;
		struct expected x;

		if (!parse_readelf(line, &x) || !elf_vaddr_to_offset(e, x.value, &offset))
			continue;
		name = symbols_find(s, offset, &distance);
		assert_non_null(name);
		assert_int_equal(distance, 0);
		same += !strcmp(name, x.name);
		assert_non_null(symbols_find(s, offset + x.size - 1, NULL));
		checked++;
	}
	pclose(f);
	elf_free(e);
	close(fd);
	symbols_free(s);
	print_message("%s: %zu functions, %zu by the same name\n", path, checked, same);
	assert_true(checked >= at_least);
	assert_true(same * 2 >= checked);
}

static bool have(const char *tool)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	return system(command) == 0;
}

static void test_readelf_agrees(void **state)
{
	char libc[256], self[256];
	uint64_t offset;

	if (!have("readelf"))
		skip();
	locate(in_libc("qsort"), libc, &offset);
	locate((void *)(uintptr_t)test_readelf_agrees, self, &offset);
	compare_with_readelf(libc, "--dyn-syms", 1000);
	compare_with_readelf(self, "-s", 20);
}

static void test_build_id_as_readelf_says(void **state)
{
	char libc[256], command[512], line[256], hex[64] = "", want[64] = "";
	uint8_t id[20];
	uint64_t offset;
	int fd, n;
	FILE *f;

	if (!have("readelf"))
		skip();
	locate(in_libc("qsort"), libc, &offset);
	snprintf(command, sizeof(command), "LC_ALL=C readelf -n %s", libc);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, " Build ID: %63s", want);
	pclose(f);
	fd = open(libc, O_RDONLY);
	n = symbols_build_id(fd, id, sizeof(id));
	close(fd);
	assert_true(n > 0);
	for (int i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	assert_string_equal(hex, want);
}

static void test_libc_functions(void **state)
{
	static const char *const names[] = {"qsort", "malloc", "printf", "pthread_mutex_lock",
					    "fork"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *p = in_libc(names[i]);
		struct symbols *s = NULL;
		uint64_t offset, distance;
		char path[256];
		const char *name;

		assert_non_null(p);
		locate(p, path, &offset);
		assert_int_equal(load_elf(path, (uint32_t)getpid(), NULL, 0, &s), 0);
		name = symbols_find(s, offset + 1, &distance);
		assert_non_null(name);
		assert_int_equal(distance, 1);
		/* An alias will do if libc itself says that it is one. */
		if (strcmp(name, names[i]))
			assert_ptr_equal(in_libc(name), p);
		symbols_free(s);
	}
}

static void *caller_of_threads(void *unused)
{
	void *frames[64];
	int n = backtrace(frames, 64);

	/* ..., start_thread, clone3 */
	return n >= 2 ? frames[n - 2] : NULL;
}

/*
 * Threads begin in libc's start_thread, which a stripped libc does not name: the nearest symbol
 * below is another function, and must not be given.
 */
static void test_no_name_is_better_than_a_wrong_one(void **state)
{
	struct symbols *s = NULL;
	char path[256];
	const char *name;
	uint64_t offset;
	pthread_t thread;
	void *p;

	assert_int_equal(pthread_create(&thread, NULL, caller_of_threads, NULL), 0);
	assert_int_equal(pthread_join(thread, &p), 0);
	assert_non_null(p);
	locate(p, path, &offset);
	assert_non_null(strstr(path, "libc"));
	assert_int_equal(load_elf(path, 0, NULL, 0, &s), 0);
	name = symbols_find(s, offset, NULL);
	if (name)
		assert_string_equal(name, "start_thread");
	symbols_free(s);
}

static void test_vdso(void **state)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t begin = 0, end = 0;
	struct symbols *s = NULL;
	char line[512];
	bool found = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[vdso]"))
			assert_int_equal(sscanf(line, "%lx-%lx", &begin, &end), 2);
	fclose(f);
	if (!begin)
		skip();
	assert_int_equal(symbols_load_image((void *)begin, end - begin, &s), 0);
	for (uint64_t offset = 0; offset < end - begin; offset++) {
		const char *name = symbols_find(s, offset, NULL);

		found |= name && strstr(name, "clock_gettime");
	}
	assert_true(found);
	symbols_free(s);
}

static int load(const char *path, uint32_t pid, const uint8_t *id, size_t id_len)
{
	struct symbols *s = NULL;
	int rc = load_elf(path, pid, id, id_len, &s);

	assert_int_equal(!rc, !!s);
	symbols_free(s);
	return rc;
}

static void test_replaced_file(void **state)
{
	static const struct tiny_sym sym = {"alpha", 0, 8, STT_FUNC, STB_GLOBAL};
	uint8_t other[20] = {1};
	struct tiny t;
	const char *path = in_dir("program");

	tiny_make(&t, &sym, 1);
	write_file(path, t.bytes, t.len);
	assert_int_equal(load(path, 0, tiny_id, 20), 0);
	assert_int_equal(load(path, 0, other, 20), -ESTALE);
	assert_non_null(strstr(err_msg(), "replaced"));
	assert_int_equal(load(path, (uint32_t)getpid(), tiny_id, 20), 0);
	assert_int_equal(load(path, (uint32_t)getpid(), other, 20), -ESTALE);
	/* A process that is gone: the path itself stands in if it is known to be the same file. */
	assert_int_equal(load(path, 0x7fffffff, tiny_id, 20), 0);
	assert_int_equal(load(path, 0x7fffffff, NULL, 0), -ESRCH);
	assert_int_equal(load(path, 0x7fffffff, other, 20), -ESTALE);
	assert_int_equal(load(in_dir("nothing"), 0, NULL, 0), -ENOENT);
	assert_non_null(strstr(err_msg(), "nothing: No such file"));
}

/*
 * Whoever opens a FIFO for reading waits for a writer: a target could stop thaw that way. And some
 * devices act when they are opened, so that not to open is the rule for all that is not a file.
 */
static void test_things_that_are_no_files(void **state)
{
	const char *path = in_dir("fifo");
	int fd;

	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char event[256];

	alarm(20);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_int_equal(load(path, 0, NULL, 0), -ENOEXEC);
	assert_int_equal(load(path, (uint32_t)getpid(), NULL, 0), -ENOEXEC);
	assert_non_null(strstr(err_msg(), "not a regular file"));
	assert_int_equal(opener_open(0, path, &fd), -ENOEXEC);
	assert_int_equal(opener_open((uint32_t)getpid(), path, &fd), -ENOEXEC);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	close(watch);
	assert_int_equal(load("/dev/zero", 0, NULL, 0), -ENOEXEC);
	assert_int_equal(load("/", 0, NULL, 0), -ENOEXEC);
	assert_int_equal(load("[vdso]", 1, NULL, 0), -ENOENT);
	write_file(in_dir("text"), "hello", 5);
	assert_int_equal(load(in_dir("text"), 0, NULL, 0), -ENOEXEC);
	assert_non_null(strstr(err_msg(), "not an ELF file"));
	alarm(0);
}

static pid_t child_in_root(const char *root)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		c = chroot(root) == 0 && chdir("/") == 0 ? 'y' : 'n';
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (c == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

/* A container: its paths are its own, and its absolute links stay inside. */
static void test_other_root(void **state)
{
	static const struct tiny_sym sym = {"alpha", 0, 8, STT_FUNC, STB_GLOBAL};
	struct tiny t;
	pid_t pid = child_in_root(dir);

	if (pid < 0)
		skip();
	tiny_make(&t, &sym, 1);
	write_file(in_dir("only-inside"), t.bytes, t.len);
	assert_int_equal(symlink("/only-inside", in_dir("link")), 0);
	assert_int_equal(symlink("/proc/self/exe", in_dir("outside")), 0);
	assert_int_equal(load("/only-inside", (uint32_t)pid, NULL, 0), 0);
	assert_int_equal(load("/link", (uint32_t)pid, NULL, 0), 0);
	assert_int_equal(load("/outside", (uint32_t)pid, NULL, 0), -ENOENT);
	assert_int_equal(load("/only-inside", 0, NULL, 0), -ENOENT);
	/* /proc/self/exe exists out here, but it is not the process's file. */
	assert_int_equal(load("/proc/self/exe", (uint32_t)pid, NULL, 0), -ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = {"program", "fifo",	  "text",
					    "link",    "outside", "only-inside"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_dir(names[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readelf_agrees),
		cmocka_unit_test(test_build_id_as_readelf_says),
		cmocka_unit_test(test_libc_functions),
		cmocka_unit_test(test_no_name_is_better_than_a_wrong_one),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_things_that_are_no_files),
		cmocka_unit_test(test_other_root),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
