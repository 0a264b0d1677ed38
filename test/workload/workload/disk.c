// SPDX-License-Identifier: MIT
/* disk: reads past the page cache, and writes that reach the disk. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

#define BLOCK (64 * 1024)
#define FILE_BLOCKS 101

static void *block_alloc(void)
{
	void *p;

	if (posix_memalign(&p, 4096, BLOCK))
		die("no memory for a block");
	memset(p, 0x5a, BLOCK);
	return p;
}

static void block_write(int fd, const void *block, size_t index)
{
	ssize_t n;

	while ((n = pwrite(fd, block, BLOCK, (off_t)(index * BLOCK))) != BLOCK) {
		if (n >= 0 || errno != EINTR)
			die("writing the temporary file: %s",
			    n < 0 ? strerror(errno) : "disk full");
	}
}

int temp_file(int *ret_read, bool *ret_direct)
{
	const char *dir = getenv("TMPDIR");
	void *block = block_alloc();
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/workload.XXXXXX", dir && *dir ? dir : ".");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	*ret_read = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	*ret_direct = *ret_read >= 0;
	if (*ret_read < 0)
		*ret_read = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (*ret_read < 0)
		die("cannot open %s: %s", path, strerror(errno));
	for (size_t i = 0; i < FILE_BLOCKS; i++)
		block_write(fd, block, i);
	if (fdatasync(fd))
		die("fdatasync: %s", strerror(errno));
	free(block);
	return fd;
}

void *reader_main(void *arg)
{
	struct disk *d = arg;
	void *block = block_alloc();
	uint64_t seed = 31, total = 0;
	size_t i = 0;

	truth_begin(d->truth, "reader");
	for (; d->end_ns ? now_ns() < d->end_ns : i < d->count; i++) {
		off_t at = (off_t)(random_below(&seed, FILE_BLOCKS) * BLOCK);
		uint64_t t0 = now_ns();
		ssize_t n;

		if (!d->direct)
			posix_fadvise(d->fd, at, BLOCK, POSIX_FADV_DONTNEED);
		while ((n = pread(d->fd, block, BLOCK, at)) != BLOCK) {
			if (n >= 0 || errno != EINTR)
				die("reading the temporary file: %s", strerror(errno));
		}
		total += now_ns() - t0;
		if (d->end_ns)
			sleep_ns(2 * NSEC_PER_MSEC);
	}
	fact(&d->truth->facts, "reads", (double)i);
	fact(&d->truth->facts, "read_ns", (double)total);
	truth_end(d->truth);
	free(block);
	return NULL;
}

static void *writer_main(void *arg)
{
	struct disk *d = arg;
	void *block = block_alloc();
	uint64_t total = 0;

	truth_begin(d->truth, "writer");
	for (size_t i = 0; i < d->count; i++) {
		uint64_t t0 = now_ns();

		block_write(d->fd, block, i % FILE_BLOCKS);
		if (fdatasync(d->fd))
			die("fdatasync: %s", strerror(errno));
		total += now_ns() - t0;
	}
	fact(&d->truth->facts, "writes", (double)d->count);
	fact(&d->truth->facts, "write_ns", (double)total);
	truth_end(d->truth);
	free(block);
	return NULL;
}

void case_disk(const struct args *a)
{
	struct truth *truths = truth_room(2);
	struct disk reader = {.truth = &truths[0], .count = arg_count(a, "reads")};
	struct disk writer = {.truth = &truths[1], .count = arg_count(a, "writes")};
	pthread_t threads[2];
	int write_unread, read_unwritten;
	bool direct;

	/* Two files: a direct read of what is being written would wait for the writer. */
	read_unwritten = temp_file(&reader.fd, &reader.direct);
	writer.fd = temp_file(&write_unread, &direct);
	thread_start(&threads[0], reader_main, &reader);
	thread_start(&threads[1], writer_main, &writer);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	fact(&run.facts, "block", BLOCK);
	fact(&run.facts, "direct", reader.direct);
	close(read_unwritten);
	close(write_unread);
	close(reader.fd);
	close(writer.fd);
}
