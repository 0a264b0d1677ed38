/* SPDX-License-Identifier: MIT */
/* For the tests of store/: seeded chance, events of every kind with hostile values, comparing them.
 */
#ifndef THAW_TEST_STORE_TEST_H
#define THAW_TEST_STORE_TEST_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "store/columns.h"
#include "store/format.h"
#include "store/inspect.h"
#include "store/reader.h"
#include "store/writer.h"

struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

/* Mostly small, often an edge, sometimes anything. */
static inline uint64_t rng_value(struct rng *r)
{
	static const uint64_t edges[] = {
		0,	    1,		127,	   128,	       255,	   256,	   INT32_MAX,
		UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX, 0x8000, UINT64_MAX - 1};

	switch (rng_below(r, 8)) {
	case 0:
		return edges[rng_below(r, sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return rng_next(r);
	case 2:
		return rng_next(r) >> rng_below(r, 64);
	default:
		return rng_below(r, 40);
	}
}

static inline const char *rng_name(struct rng *r)
{
	static const char *const names[] = {"",
					    "a",
					    "worker/0",
					    "\xff\xfe\x01",
					    "tokio-runtime-w",
					    "a name that is longer than sixteen bytes, as none is"};

	return names[rng_below(r, sizeof(names) / sizeof(names[0]))];
}

static inline struct event rng_event(struct rng *r, unsigned kind)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	ev.kind = (uint16_t)(kind ? kind : 1 + rng_below(r, EV_KINDS - 1));
	ev.cpu = (uint16_t)(rng_below(r, 50) ? rng_below(r, 16) : rng_next(r));
	for (unsigned i = kinds[ev.kind].first; i < kinds[ev.kind].end; i++) {
		uint64_t v = rng_value(r);
		const char *s = rng_name(r);

		if (columns[i].codec == CODEC_STRING)
			memcpy((char *)&ev + columns[i].offset, &s, sizeof(s));
		else
			memcpy((char *)&ev + columns[i].offset, &v, columns[i].size);
	}
	return ev;
}

static inline void assert_same_event(const struct event *a, const struct event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->ts, b->ts);
	for (unsigned i = kinds[a->kind].first; i < kinds[a->kind].end; i++) {
		const char *x = (const char *)a + columns[i].offset;
		const char *y = (const char *)b + columns[i].offset;

		if (columns[i].codec == CODEC_STRING) {
			const char *s, *t;

			memcpy(&s, x, sizeof(s));
			memcpy(&t, y, sizeof(t));
			assert_string_equal(s, t);
		} else if (memcmp(x, y, columns[i].size)) {
			fail_msg("%s field %u differs", event_name(a->kind), columns[i].field);
		}
	}
}

/* A switch that carries its number. */
static inline struct event numbered(uint32_t i)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	ev.kind = EV_SWITCH;
	ev.cpu = i % 4;
	ev.ts = 1000000 + 1000ull * i;
	ev.switch_.prev = i;
	ev.switch_.next = i + 1;
	ev.switch_.state = 1;
	return ev;
}

/* One file a test program, removed at its end. */
static char test_path[64];

static inline const char *temp_path(void)
{
	if (!test_path[0]) {
		int fd;

		snprintf(test_path, sizeof(test_path), "/tmp/thaw-test-XXXXXX");
		fd = mkstemp(test_path);
		if (fd >= 0)
			close(fd);
	}
	return test_path;
}

static inline int remove_temp(void **state)
{
	if (test_path[0])
		unlink(test_path);
	return 0;
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static inline struct writer *open_writer(size_t chunk_bytes)
{
	struct writer_opts opts = {.chunk_bytes = chunk_bytes, .no_sync = true};
	struct writer *w = NULL;

	assert_int_equal(writer_open(temp_path(), &opts, &w), 0);
	return w;
}

static inline struct reader *open_reader(unsigned flags)
{
	struct reader *r = NULL;

	if (reader_open_flags(temp_path(), flags, &r))
		fail_msg("%s", err_msg());
	return r;
}

#endif
