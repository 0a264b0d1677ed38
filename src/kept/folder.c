// SPDX-License-Identifier: MIT
#include "kept/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/units.h"
#include "base/vec.h"

#define TEMPORARY ".new-"
#define STALE_SECONDS 3600
#define FREE_SHARE 20u /* write nothing if less than this part of the disk is free */

struct kept {
	int dir;
	uint64_t max;
	uint64_t bytes; /* an estimate: other recordings may write, too */
	bool counted;
	unsigned next; /* temporary file */
};

/* ---- the folder ---- */

/* To be freed. NULL: there is no such place. */
static char *kept_usual(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n;

	if (geteuid() == 0)
		return mem_strdup("/var/cache/thaw/unwind");
	if (base && base[0] == '/')
		n = asprintf(&path, "%s/thaw/unwind", base);
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.cache/thaw/unwind", home);
	else
		return NULL;
	return n < 0 ? NULL : path;
}

static void make_folders(const char *dir)
{
	char *path = mem_strdup(dir);

	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	(void)mkdir(path, 0700);
	free(path);
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

struct kept *kept_open(const char *dir, uint64_t max_bytes)
{
	struct kept *k;
	struct stat st;
	int fd;

	make_folders(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !is_ours(&st)) {
		close(fd);
		return NULL;
	}
	k = mem_zalloc(sizeof(*k));
	k->dir = fd;
	k->max = max_bytes;
	return k;
}

void kept_close(struct kept *k)
{
	if (!k)
		return;
	close(k->dir);
	free(k);
}

struct kept *kept_for(const char *dir)
{
	char *usual = dir ? NULL : kept_usual();
	struct kept *k = NULL;

	dir = dir ? dir : usual;
	if (dir && dir[0])
		k = kept_open(dir, KEPT_BYTES);
	free(usual);
	return k;
}

/* ---- getting ---- */

static bool folder_read_all(int fd, void *to, size_t n)
{
	while (n) {
		ssize_t did = read(fd, to, n);

		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0)
			return false;
		to = (char *)to + did;
		n -= (size_t)did;
	}
	return true;
}

bool kept_read(struct kept *k, const char *name, uint64_t max, struct buf *ret)
{
	struct stat st;
	bool ok = false;
	int fd = k ? openat(k->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && is_ours(&st) && st.st_nlink == 1 &&
	    (uint64_t)st.st_size <= max) {
		buf_reserve(ret, (size_t)st.st_size + 1);
		ok = folder_read_all(fd, ret->p + ret->len, (size_t)st.st_size);
		ret->len += ok ? (size_t)st.st_size : 0;
	}
	/* Mark it as used, so that others are dropped first. */
	if (ok)
		(void)futimens(fd, NULL);
	close(fd);
	return ok;
}

/* ---- putting ---- */

static uint64_t ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

struct kept_entry {
	char name[KEPT_NAME_LEN + 1];
	uint64_t used_ns, bytes;
};

static int by_use(const void *a, const void *b)
{
	const struct kept_entry *x = a, *y = b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

static bool is_entry(const char *name)
{
	return strlen(name) == KEPT_NAME_LEN && strspn(name, "0123456789abcdef") == KEPT_NAME_LEN;
}

/* Drops a temporary file of a recorder that was killed. */
static void drop_stale(struct kept *k, const char *name, const struct stat *st)
{
	if (!strncmp(name, TEMPORARY, strlen(TEMPORARY)) &&
	    time(NULL) - st->st_mtime > STALE_SECONDS)
		(void)unlinkat(k->dir, name, 0);
}

/* Counts what is there. Above `most` bytes, drops what was unused for longest. */
static void kept_tidy(struct kept *k, uint64_t most)
{
	int fd = openat(k->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	VEC(struct kept_entry) found = {0};
	struct dirent *e;
	struct stat st;

	k->bytes = 0;
	k->counted = true;
	while (d && (e = readdir(d))) {
		if (fstatat(k->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		drop_stale(k, e->d_name, &st);
		if (is_entry(e->d_name)) {
			struct kept_entry *x = vec_add(&found);

			memcpy(x->name, e->d_name, KEPT_NAME_LEN);
			x->used_ns = ns_of(st.st_mtim);
			x->bytes = (uint64_t)st.st_size;
			k->bytes += x->bytes;
		}
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	sort_by(found.v, found.n, sizeof(*found.v), by_use);
	for (size_t i = 0; i < found.n && k->bytes > most; i++) {
		(void)unlinkat(k->dir, found.v[i].name, 0);
		k->bytes -= found.v[i].bytes;
	}
	vec_done(&found);
}

static bool disk_has_room(const struct kept *k, uint64_t bytes)
{
	struct statvfs fs;

	return !fstatvfs(k->dir, &fs) && fs.f_bavail * fs.f_frsize > bytes &&
	       fs.f_bavail >= fs.f_blocks / FREE_SHARE;
}

static bool folder_write_all(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t did = write(fd, p, n);

		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0)
			return false;
		p = (const char *)p + did;
		n -= (size_t)did;
	}
	return true;
}

/* The file gets its name only when it is whole. */
static bool entry_write(struct kept *k, const char *name, const struct buf *b)
{
	char temporary[64];
	bool ok;
	int fd;

	snprintf(temporary, sizeof(temporary), TEMPORARY "%ld-%u", (long)getpid(), k->next++);
	fd = openat(k->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ok = folder_write_all(fd, b->p, b->len);
	ok = !close(fd) && ok && !renameat(k->dir, temporary, k->dir, name);
	if (!ok)
		(void)unlinkat(k->dir, temporary, 0);
	return ok;
}

void kept_write(struct kept *k, const char *name, const struct buf *b)
{
	if (!k)
		return;
	if (!k->counted)
		kept_tidy(k, k->max);
	if (b->len < k->max / 2 && k->bytes + b->len > k->max)
		kept_tidy(k, k->max - k->max / 8 - b->len);
	if (k->bytes + b->len <= k->max && disk_has_room(k, b->len) && entry_write(k, name, b))
		k->bytes += b->len;
}
