// SPDX-License-Identifier: MIT
/*
 * Any bytes as the answer of a child that somebody has taken over. Runs must come in order and stay
 * within what was asked for, names must be strings that a terminal can show, and what is understood
 * must come out the same when it is written again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/answer.h"
#include "symbol/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OFFSETS 1000

struct check {
	size_t next;
	uint64_t hash;
	struct answer *copy; /* NULL: do not write it again */
};

static void mix(struct check *c, uint64_t v)
{
	c->hash = map_mix(c->hash ^ v);
}

static void check_string(struct check *c, const char *s)
{
	if (!s)
		return;
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
	if (strlen(s) >= TABLE_NAME_MAX)
		abort();
	mix(c, map_hash_bytes(s, strlen(s)));
}

static void run(void *ctx, size_t first, size_t count, const struct symbols_frame *f, size_t n)
{
	struct answer_frame again[SYMBOLS_FRAMES_MAX];
	struct check *c = ctx;
	bool named = true;

	if (first < c->next || !count || first + count > OFFSETS || !n || n > SYMBOLS_FRAMES_MAX)
		abort();
	c->next = first + count;
	for (size_t i = 0; i < n; i++) {
		if (!f[i].name || f[i].inlined != (i + 1 < n))
			abort();
		named &= *f[i].name != '\0';
	}
	/* An empty name cannot be said by the writer. */
	if (!named)
		return;
	mix(c, first);
	mix(c, count);
	for (size_t i = 0; i < n; i++) {
		check_string(c, f[i].name);
		check_string(c, f[i].file && *f[i].file ? f[i].file : NULL);
		mix(c, f[i].line);
		if (c->copy)
			again[i] =
				(struct answer_frame){answer_string(c->copy, f[i].name),
						      answer_string(c->copy, f[i].file), f[i].line};
	}
	if (c->copy)
		answer_run(c->copy, first, count, again, n);
}

/* What was asked for, if it was data: some neighbours, some far apart. */
static const uint64_t *asked(void)
{
	static uint64_t v[OFFSETS];

	for (size_t i = 0; i < OFFSETS; i++)
		v[i] = i % 2 ? v[i - 1] + 8 : 64 * i * i;
	return v;
}

static void piece(void *ctx, size_t first, size_t count, const struct symbols_data *d)
{
	const uint64_t *v = asked();
	struct check *c = ctx;

	if (first < c->next || !count || first + count > OFFSETS || !d->name || !d->size)
		abort();
	c->next = first + count;
	for (size_t i = first; i < first + count; i++)
		if (v[i] < d->begin || v[i] - d->begin >= d->size)
			abort();
	if (!*d->name)
		return;
	mix(c, first);
	mix(c, count);
	check_string(c, d->name);
	mix(c, d->begin);
	mix(c, d->size);
	mix(c, d->whole);
	if (c->copy)
		answer_data(c->copy, first, count,
			    &(struct answer_data){answer_string(c->copy, d->name), d->begin,
						  d->size, d->whole});
}

static int parse(struct buf *bytes, bool is_data, struct check *c)
{
	return is_data ? answer_parse_data(bytes, asked(), OFFSETS, piece, c)
		       : answer_parse(bytes, OFFSETS, run, c);
}

static void try(const uint8_t *data, size_t size, bool is_data)
{
	static int fd = -1;
	struct check a = {0}, b = {0};
	struct buf bytes = {0};
	struct answer copy;
	off_t len;
	int rc;

	if (fd < 0)
		fd = memfd_create("answer", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		abort();
	answer_init(&copy, fd);
	a.copy = &copy;
	buf_put(&bytes, data, size);
	rc = parse(&bytes, is_data, &a);
	answer_end(&copy);
	if (!rc) {
		len = lseek(fd, 0, SEEK_CUR);
		buf_clear(&bytes);
		buf_reserve(&bytes, (size_t)len + 1);
		if (pread(fd, bytes.p, (size_t)len, 0) != len)
			abort();
		bytes.len = (size_t)len;
		if (parse(&bytes, is_data, &b) || a.hash != b.hash)
			abort();
	}
	buf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(data, size, false);
	try(data, size, true);
	return 0;
}
