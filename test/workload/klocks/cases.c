// SPDX-License-Identifier: MIT
/*
 * pipe: its mutex, by threads that write to it and read from it; rename: a directory's rwsem; mmap:
 * a process's mmap_lock; replace: the same, by one thread for long; populate: the same, by one
 * thread that only reads under it, so that nobody can tell who has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "klocks/klocks.h"

#define CHUNK 4096
#define PAGES 32
#define PAGE 4096

/* Everybody puts in before taking out, and all of it fits: nobody ever waits for bytes or room. */
KEEP static void work_pipe(struct hand *h)
{
	char chunk[CHUNK];

	memset(chunk, 'x', sizeof(chunk));
	if (write(h->to, chunk, sizeof(chunk)) != sizeof(chunk))
		die("writing to the pipe: %s", strerror(errno));
	for (size_t left = sizeof(chunk); left;) {
		ssize_t n = read(h->from, chunk, left);

		if (n <= 0)
			die("reading from the pipe: %s", strerror(errno));
		left -= (size_t)n;
	}
}

void case_pipe(const struct args *a)
{
	int fds[2];

	if (arg_count(a, "threads") * CHUNK > 16 * PAGE)
		die("threads: at most %d", 16 * PAGE / CHUNK);
	if (pipe2(fds, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	crew_run(a, work_pipe, fds[0], fds[1]);
	close(fds[0]);
	close(fds[1]);
}

KEEP static void work_rename(struct hand *h)
{
	char one[32], other[32];

	snprintf(one, sizeof(one), "one-%zu", h->index);
	snprintf(other, sizeof(other), "other-%zu", h->index);
	if (renameat(h->from, h->done % 2 ? other : one, h->to, h->done % 2 ? one : other))
		die("renaming %s: %s", one, strerror(errno));
}

static void files_make(int dir, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "one-%zu", i);
		fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			die("cannot make %s: %s", name, strerror(errno));
		close(fd);
	}
}

static void files_remove(int dir, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "one-%zu", i);
		unlinkat(dir, name, 0);
		snprintf(name, sizeof(name), "other-%zu", i);
		unlinkat(dir, name, 0);
	}
}

void case_rename(const struct args *a)
{
	const char *where = getenv("TMPDIR");
	size_t n = arg_count(a, "threads");
	char path[4096];
	int dir;

	snprintf(path, sizeof(path), "%s/klocks.XXXXXX", where && *where ? where : ".");
	dir = mkdtemp(path) ? open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC) : -1;
	if (dir < 0)
		die("cannot make %s: %s", path, strerror(errno));
	files_make(dir, n);
	crew_run(a, work_rename, dir, dir);
	files_remove(dir, n);
	close(dir);
	rmdir(path);
}

KEEP static void work_mmap(struct hand *h)
{
	volatile char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (size_t i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
	munmap((void *)p, PAGES * PAGE);
}

void case_mmap(const struct args *a)
{
	crew_run(a, work_mmap, -1, -1);
}

/* hand-0 fills memory, and maps over it: the kernel gives all of it back with the process's
 * mmap_lock held. The others want that meanwhile. */
#define FILL_BYTES (384ull << 20)

KEEP static void *map_over(void *at)
{
	void *p = mmap(at, FILL_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

KEEP static void work_replace(struct hand *h)
{
	static void *filled;

	if (h->index) {
		work_mmap(h);
		return;
	}
	filled = map_over(filled);
	madvise(filled, FILL_BYTES, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < FILL_BYTES; i += PAGE)
		((volatile char *)filled)[i] = 1;
}

void case_replace(const struct args *a)
{
	crew_run(a, work_replace, -1, -1);
}

/* hand-0 has the kernel fill its memory, which it does as a reader of mmap_lock. The others map
 * little, and need it as writers. */
#define POPULATE_BYTES (96ull << 20)

KEEP static void *load_block(void)
{
	void *p = mmap(NULL, POPULATE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

KEEP static void work_populate(struct hand *h)
{
	if (h->index) {
		work_mmap(h);
		usleep(200);
		return;
	}
	munmap(load_block(), POPULATE_BYTES);
	usleep(2000);
}

void case_populate(const struct args *a)
{
	crew_run(a, work_populate, -1, -1);
}
