// SPDX-License-Identifier: MIT
/* What the child behind the walls can and cannot do, and that nothing it does holds us up. */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/files.h"
#include "symbol/worker.h"

static void tell(const char *text)
{
	if (write(SANDBOX_ANSWER, text, strlen(text)) < 0)
		_exit(3);
}

static int run(worker_fn *fn, unsigned ms, struct buf *ret)
{
	int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC), rc;
	struct worker w = {.kind = WORKER_PARSER,
			   .fn = fn,
			   .files = &file,
			   .n_files = 1,
			   .until_ns = clock_mono_ns() + ms * NSEC_PER_MSEC,
			   .answer_max = 1 << 20,
			   .memory = 64 << 20};

	rc = worker_run(&w, ret);
	close(file);
	return rc;
}

/* A word for each thing that worked and should not have. */
static int try_everything(void *ctx)
{
	int fd = open("/etc/passwd", O_RDONLY);
	unsigned caps = 0;
	char byte;

	tell(fd >= 0 ? "open " : "");
	tell(open("/tmp/thaw-sandbox-test", O_CREAT | O_WRONLY, 0600) >= 0 ? "create " : "");
	tell(socket(AF_INET, SOCK_STREAM, 0) >= 0 ? "socket " : "");
	tell(socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? "unix " : "");
	tell(kill(getppid(), 0) == 0 ? "kill " : "");
	tell(geteuid() == 0 && getppid() > 0 ? "root " : "");
	tell(fork() >= 0 ? "fork " : "");
	tell(execl("/bin/true", "true", NULL) == 0 ? "exec " : "");
	tell(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
			     MAP_FAILED
		     ? "run-memory "
		     : "");
	tell(write(SANDBOX_FILES, "x", 1) >= 0 ? "write-file " : "");
	for (fd = SANDBOX_FILES + 1; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			caps++;
	tell(caps ? "descriptors " : "");
	tell(pread(SANDBOX_FILES, &byte, 1, 0) == 1 ? "read" : "no-read");
	return 0;
}

static void test_walls(void **state)
{
	struct buf b = {0};

	assert_int_equal(run(try_everything, 10000, &b), 0);
	assert_string_equal(buf_cstr(&b), "read");
	buf_done(&b);
}

static int identity(void *ctx)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid:", 4) || !strncmp(line, "Gid:", 4) ||
		    !strncmp(line, "CapEff:", 7) || !strncmp(line, "CapPrm:", 7) ||
		    !strncmp(line, "Groups:", 7) || !strncmp(line, "NoNewPrivs:", 11))
			tell(line);
	return 0;
}

/* Only the privileges are gone here, so that the child can look at itself. */
static void test_identity(void **state)
{
	struct worker w = {.kind = WORKER_NETWORK,
			   .fn = identity,
			   .until_ns = clock_mono_ns() + 10 * NSEC_PER_SEC,
			   .answer_max = 4096};
	struct buf b = {0};

	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(worker_run(&w, &b), 0);
	assert_non_null(strstr(buf_cstr(&b), "CapEff:\t0000000000000000"));
	assert_non_null(strstr(buf_cstr(&b), "CapPrm:\t0000000000000000"));
	assert_non_null(strstr(buf_cstr(&b), "NoNewPrivs:\t1"));
	if (geteuid() == 0) {
		assert_non_null(strstr(buf_cstr(&b), "Uid:\t65534\t65534\t65534\t65534"));
		assert_non_null(strstr(buf_cstr(&b), "Gid:\t65534\t65534\t65534\t65534"));
	}
	buf_done(&b);
}

/* Tells the writable memory that it shares with others. */
static int look_at_memory(void *ctx)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	tell(f ? "looked" : "");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " rw-s "))
			tell(line);
	return 0;
}

static int open_nothing(void *ctx, int *fds, size_t *ret_n)
{
	/* Whoever opens the files may still tell the parent something. */
	*(char *)ctx = 'x';
	return 0;
}

/* Nothing that it writes changes anything of ours. */
static void test_shares_no_memory(void **state)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct worker w = {.kind = WORKER_NETWORK, /* free to look at itself */
			   .open = open_nothing,
			   .fn = look_at_memory,
			   .ctx = at,
			   .until_ns = clock_mono_ns() + 10 * NSEC_PER_SEC,
			   .answer_max = 4096};
	struct buf b = {0};

	assert_int_equal(worker_run(&w, &b), 0);
	assert_string_equal(buf_cstr(&b), "looked");
	assert_int_equal(*at, 'x');
	buf_done(&b);
	munmap(at, 4096);
}

static int forever(void *ctx)
{
	for (volatile int i = 0;; i++)
		;
	return 0;
}

static int sleeper(void *ctx)
{
	for (;;)
		pause();
	return 0;
}

static int talker(void *ctx)
{
	for (;;)
		tell("............................................................");
	return 0;
}

static int crasher(void *ctx)
{
	__builtin_trap();
}

static int quitter(void *ctx)
{
	tell("half of it");
	return -EBADMSG;
}

static int eater(void *ctx)
{
	for (size_t sum = 0; sum < 256u << 20; sum += 1 << 20) {
		char *p = malloc(1 << 20);

		if (!p)
			return -ENOMEM;
		memset(p, 1, 1 << 20);
	}
	tell("all of it");
	return 0;
}

static void test_bad_children(void **state)
{
	uint64_t begin = clock_mono_ns();
	struct buf b = {0};

	assert_int_equal(run(forever, 300, &b), -ETIMEDOUT);
	/* pause() is not on the list: it fails at once, and the loop is like the first. */
	assert_int_equal(run(sleeper, 300, &b), -ETIMEDOUT);
	assert_int_equal(run(talker, 10000, &b), -EMSGSIZE);
	assert_int_equal(run(crasher, 10000, &b), -ECHILD);
	assert_int_equal(run(quitter, 10000, &b), -ECHILD);
	assert_int_equal(b.len, 0);
	assert_true(clock_mono_ns() - begin < 20 * NSEC_PER_SEC);
	/* Nobody is left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_memory_limit(void **state)
{
	struct buf b = {0};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)eater;
	skip();
#else
	assert_int_equal(run(eater, 20000, &b), -ECHILD);
#endif
	buf_done(&b);
}

/* ---- debug information from a server: an HTTP server of our own ---- */

static const char server[] = "import http.server, sys\n"
			     "class H(http.server.BaseHTTPRequestHandler):\n"
			     "    def do_GET(self):\n"
			     "        ok = self.path == '/buildid/0123456789abcdef/debuginfo'\n"
			     "        self.send_response(200 if ok else 404)\n"
			     "        self.send_header('Content-Length', '5' if ok else '0')\n"
			     "        self.end_headers()\n"
			     "        self.wfile.write(b'hello' if ok else b'')\n"
			     "    def log_message(self, *a): pass\n"
			     "s = http.server.HTTPServer(('127.0.0.1', 0), H)\n"
			     "print(s.server_port, flush=True)\n"
			     "s.serve_forever()\n";

static pid_t start_server(unsigned *ret_port)
{
	char digits[16] = "";
	int out[2];
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		execl("/usr/bin/python3", "python3", "-c", server, NULL);
		_exit(127);
	}
	close(out[1]);
	*ret_port = read(out[0], digits, sizeof(digits) - 1) > 0 ? (unsigned)atoi(digits) : 0;
	close(out[0]);
	return pid;
}

static void test_debuginfod(void **state)
{
	static const uint8_t id[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	static const uint8_t unknown[8] = {1};
	char url[64], cache[] = "/tmp/thaw-cache-XXXXXX", content[8] = "", command[64];
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	unsigned port;
	int fd = -1, rc;
	pid_t pid;

	if (!library || access("/usr/bin/python3", X_OK))
		skip();
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(debuginfod_fetch(id, sizeof(id), 0, &fd), -ENOENT);
	pid = start_server(&port);
	assert_true(port);
	assert_non_null(mkdtemp(cache));
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	unsetenv("http_proxy");
	setenv("no_proxy", "127.0.0.1", 1);
	rc = debuginfod_fetch(id, sizeof(id), 0, &fd);
	assert_int_equal(rc, 0);
	assert_int_equal(pread(fd, content, sizeof(content), 0), 5);
	assert_string_equal(content, "hello");
	close(fd);
	assert_int_not_equal(debuginfod_fetch(unknown, sizeof(unknown), 0, &fd), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unsetenv("DEBUGINFOD_URLS");
	snprintf(command, sizeof(command), "rm -rf %s", cache);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walls),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_bad_children),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_shares_no_memory),
		cmocka_unit_test(test_debuginfod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
