// SPDX-License-Identifier: MIT
/*
 * disk: direct reads and fdatasync; page_fault: memory whose pages are on the disk. The files are
 * in TMPDIR or here: on a disk, or there is nothing to wait for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "waits/waits.h"

#define BLOCK ((size_t)1024 * 1024) /* long enough a wait that microseconds do not matter */
#define BLOCKS 32
#define PAGE 4096

static void *block_make(void)
{
	void *p;

	if (posix_memalign(&p, PAGE, BLOCK))
		die("no memory for a block");
	memset(p, 0x5a, BLOCK);
	return p;
}

/* A file of BLOCKS blocks, on the disk, that is gone when the program is. */
static int file_make(int flags)
{
	const char *dir = getenv("TMPDIR");
	void *block = block_make();
	char path[4096];
	int fd, again;

	snprintf(path, sizeof(path), "%s/waits.XXXXXX", dir && *dir ? dir : ".");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	again = open(path, O_RDWR | O_CLOEXEC | flags);
	unlink(path);
	if (again < 0)
		die("cannot open %s again: %s", path, strerror(errno));
	for (size_t i = 0; i < BLOCKS; i++) {
		if (pwrite(fd, block, BLOCK, (off_t)(i * BLOCK)) != (ssize_t)BLOCK)
			die("writing %s: %s", path, strerror(errno));
	}
	if (fsync(fd))
		die("fsync: %s", strerror(errno));
	close(fd);
	free(block);
	return again;
}

static int direct_file(void)
{
	return file_make(O_DIRECT);
}

static int plain_file(void)
{
	return file_make(0);
}

KEEP static void wait_read(struct lone *l, int fd, void *block, off_t at)
{
	ssize_t n;

	wait_begin(l->actor, l->reason);
	n = pread(fd, block, BLOCK, at);
	wait_end(l->actor);
	if (n != (ssize_t)BLOCK)
		die("pread: %s", strerror(errno));
}

static void read_work(struct lone *l)
{
	struct actor *a = l->actor;
	void *block = block_make();

	while (now_ns() < a->end_ns)
		wait_read(l, l->fd, block, (off_t)(random_below(&a->seed, BLOCKS) * BLOCK));
	free(block);
}

KEEP static void wait_sync(struct lone *l, int fd)
{
	int rc;

	wait_begin(l->actor, l->reason);
	rc = fdatasync(fd);
	wait_end(l->actor);
	if (rc)
		die("fdatasync: %s", strerror(errno));
}

static void sync_work(struct lone *l)
{
	struct actor *a = l->actor;
	void *block = block_make();

	while (now_ns() < a->end_ns) {
		off_t at = (off_t)(random_below(&a->seed, BLOCKS) * BLOCK);

		if (pwrite(l->fd, block, BLOCK, at) != (ssize_t)BLOCK)
			die("pwrite: %s", strerror(errno));
		wait_sync(l, l->fd);
	}
	free(block);
}

void case_disk(const struct args *a)
{
	const struct lone_case cases[] = {
		{"direct-read", "disk", read_work, direct_file},
		{"fdatasync", "disk", sync_work, plain_file},
	};

	lone_run(a, cases, ARRAY_LEN(cases));
}

KEEP static void wait_fault(struct lone *l, const volatile char *byte)
{
	wait_begin(l->actor, l->reason);
	sink += (uint64_t)*byte;
	wait_end(l->actor);
}

static void fault_work(struct lone *l)
{
	struct actor *a = l->actor;
	char *p = mmap(NULL, BLOCKS * BLOCK, PROT_READ, MAP_SHARED, l->fd, 0);

	/* What was written lies in the page cache in pieces larger than a page: out with all of it.
	 */
	if (p == MAP_FAILED || madvise(p, BLOCKS * BLOCK, MADV_RANDOM) ||
	    posix_fadvise(l->fd, 0, 0, POSIX_FADV_DONTNEED))
		die("mmap: %s", strerror(errno));
	while (now_ns() < a->end_ns) {
		size_t at = random_below(&a->seed, BLOCKS * BLOCK / PAGE) * PAGE;

		/* Out of the page table first: the page cache keeps what is mapped. */
		if (madvise(p + at, PAGE, MADV_DONTNEED) ||
		    posix_fadvise(l->fd, (off_t)at, PAGE, POSIX_FADV_DONTNEED))
			die("cannot drop a page: %s", strerror(errno));
		wait_fault(l, p + at);
	}
	munmap(p, BLOCKS * BLOCK);
}

void case_page_fault(const struct args *a)
{
	const struct lone_case cases[] = {
		{"fault-0", "page_fault", fault_work, plain_file},
		{"fault-1", "page_fault", fault_work, plain_file},
	};

	lone_run(a, cases, ARRAY_LEN(cases));
}
