// SPDX-License-Identifier: MIT
/*
 * Debug information from a server, for users who have set DEBUGINFOD_URLS. The client library talks
 * to the network, keeps a cache and reads its settings from a home directory: nothing that a
 * privileged process should do. A child without privileges does it, and copies what it got into an
 * unnamed file that was opened for it. The library is loaded only when needed, so that thaw runs
 * where it is not installed.
 *
 * Started by sudo, the child is the user who called it, with that user's cache. Started by root, it
 * is nobody, with a cache that it throws away.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/files.h"
#include "symbol/worker.h"

#define LIBRARY "libdebuginfod.so.1"
#define PATIENCE_NS (15 * NSEC_PER_SEC)
#define DEBUG_FILE_MAX (2ull << 30)

typedef void *begin_fn(void);
typedef int find_fn(void *client, const unsigned char *id, int len, char **path);

struct fetch {
	const uint8_t *id;
	size_t len;
	bool was_root;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int copy_all(int from, int to)
{
	char piece[64 << 10];
	uint64_t sum = 0;
	ssize_t n;

	/* The library leaves the position of a new download at its end. */
	while ((n = pread(from, piece, sizeof(piece), (off_t)sum)) > 0) {
		sum += (uint64_t)n;
		if (sum > DEBUG_FILE_MAX || write(to, piece, (size_t)n) != n)
			return -EIO;
	}
	return n < 0 || !sum ? -EIO : 0;
}

static int download(const struct fetch *f)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW);
	begin_fn *begin = lib ? (begin_fn *)dlsym(lib, "debuginfod_begin") : NULL;
	find_fn *find = lib ? (find_fn *)dlsym(lib, "debuginfod_find_debuginfo") : NULL;
	void *client = begin && find ? begin() : NULL;
	int fd = client ? find(client, f->id, (int)f->len, NULL) : -1;

	return fd < 0 ? -ENOENT : copy_all(fd, SANDBOX_FILES);
}

static int debuginfod_work(void *ctx)
{
	const struct fetch *f = ctx;
	char cache[] = "/tmp/thaw-debuginfod-XXXXXX";
	const struct passwd *pw = f->was_root && getenv("SUDO_UID") ? getpwuid(getuid()) : NULL;
	bool own = f->was_root && !pw;
	int rc;

	if (pw) {
		setenv("HOME", pw->pw_dir, 1);
		unsetenv("XDG_CACHE_HOME");
	}
	if (own && (!mkdtemp(cache) || setenv("DEBUGINFOD_CACHE_PATH", cache, 1)))
		return -EACCES;
	rc = download(f);
	if (own)
		nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return rc;
}

int debuginfod_fetch(const uint8_t *build_id, size_t len, uint64_t until_ns, int *ret_fd)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct fetch f = {.id = build_id, .len = len, .was_root = geteuid() == 0};
	struct worker w = {
		.kind = WORKER_NETWORK, .fn = debuginfod_work, .ctx = &f, .answer_max = 4096};
	struct buf nothing = {0};
	int fd, rc;

	if (!urls || !*urls)
		return -ENOENT;
	fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(-errno, "no place for a download: %s", strerror(errno));
	w.files = &fd;
	w.n_files = 1;
	w.until_ns = clock_mono_ns() + PATIENCE_NS;
	if (until_ns && until_ns < w.until_ns)
		w.until_ns = until_ns;
	rc = worker_run(&w, &nothing);
	buf_done(&nothing);
	if (rc) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}
