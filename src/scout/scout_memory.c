// SPDX-License-Identifier: MIT
/*
 * Reads memory of a recorded process, which includes its command line. The kernel does that under
 * the lock of the address space, which a thread of the process may hold for any time: only the
 * scout may wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "scout/scout_private.h"

#define READS 4u

static bool read_at(uint32_t pid, uint64_t at, void *to, size_t len)
{
	struct iovec here = {to, len}, there = {(void *)(uintptr_t)at, len};

	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

/*
 * Reads the words, and a moment at which they held. The scout may be interrupted between reading
 * and looking at the clock, so it reads before and after: equal words held in between.
 */
static void read_words(uint32_t pid, uint64_t futex, struct scout_memory *m)
{
	uint32_t again[ARRAY_LEN(m->word)];
	size_t len = sizeof(m->word);

	if (!read_at(pid, futex, m->word, len))
		len = sizeof(m->word[0]);
	for (unsigned i = 0; i < READS; i++) {
		uint64_t now;

		if (!read_at(pid, futex, m->word, len))
			return;
		now = clock_mono_ns();
		if (!read_at(pid, futex, again, len))
			return;
		if (!memcmp(m->word, again, len)) {
			m->at_ns = now;
			break;
		}
	}
	m->words = (uint32_t)(len / sizeof(m->word[0]));
}

/* The first of a vector stands for all of them. */
static uint64_t read_vector(const struct scout_asked *q, struct scout_memory *m)
{
	struct {
		uint64_t val, addr;
		uint32_t flags, reserved;
	} first; /* struct futex_waitv, 5.16 */

	if (!read_at(q->pid, q->futex, &first, sizeof(first)))
		return 0;
	m->futex = first.addr;
	m->val = (uint32_t)first.val;
	m->flags = first.flags;
	return first.addr;
}

int scout_read_memory(const struct scout_asked *q, struct scout_findings *ret)
{
	size_t n = (q->end - q->start) / SCOUT_PIECE, len;
	struct scout_memory m = {0};
	uint64_t futex;
	char *pieces;
	bool all;

	if (q->end < q->start || n > 64)
		return -EINVAL;
	len = sizeof(m) + n * SCOUT_PIECE;
	vec_reserve(&ret->text, len);
	ret->text.n = len;
	memset(ret->text.v, 0, len);
	pieces = ret->text.v + sizeof(m);
	futex = q->vector ? read_vector(q, &m) : q->futex;
	if (futex)
		read_words(q->pid, futex, &m);
	/* Try all of it at once. */
	all = n && read_at(q->pid, q->start, pieces, n * SCOUT_PIECE);
	for (size_t i = 0; i < n; i++)
		if (all || read_at(q->pid, q->start + i * SCOUT_PIECE, pieces + i * SCOUT_PIECE,
				   SCOUT_PIECE))
			m.have |= 1ull << i;
	memcpy(ret->text.v, &m, sizeof(m));
	return 0;
}

/* More than anybody reads on a screen. */
#define COMMAND_BYTES 1000

int scout_read_command(uint32_t pid, struct scout_findings *ret)
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	vec_reserve(&ret->text, COMMAND_BYTES);
	n = read(fd, ret->text.v, COMMAND_BYTES);
	if (n > 0)
		ret->text.n = (size_t)n;
	close(fd);
	return n < 0 ? -EIO : 0;
}
