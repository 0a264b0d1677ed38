// SPDX-License-Identifier: MIT
#include "scout/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"

enum { CHUNK = 128 };

/* Never empty, never changed while refs > 1. */
struct space_chunk {
	unsigned refs;
	unsigned n;
	struct mapped_range r[CHUNK];
};

struct space {
	unsigned refs;
	uint64_t version;
	size_t count;
	VEC(struct space_chunk *) chunks;
};

struct space *space_new(uint64_t version)
{
	struct space *s = mem_zalloc(sizeof(*s));

	s->refs = 1;
	s->version = version;
	return s;
}

struct space *space_ref(struct space *s)
{
	if (s)
		s->refs++;
	return s;
}

static void chunk_put(struct space_chunk *c)
{
	if (!--c->refs)
		free(c);
}

void space_put(struct space *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < s->chunks.n; i++)
		chunk_put(s->chunks.v[i]);
	vec_done(&s->chunks);
	free(s);
}

struct space *space_own(struct space *s, uint64_t version)
{
	struct space *mine;

	if (s && s->refs == 1) {
		s->version = version;
		return s;
	}
	mine = space_new(version);
	if (!s)
		return mine;
	for (size_t i = 0; i < s->chunks.n; i++) {
		s->chunks.v[i]->refs++;
		vec_push(&mine->chunks, s->chunks.v[i]);
	}
	mine->count = s->count;
	space_put(s);
	return mine;
}

uint64_t space_version(const struct space *s)
{
	return s->version;
}

size_t space_count(const struct space *s)
{
	return s ? s->count : 0;
}

/* ---- finding ---- */

/* The first range that ends after the address. */
static struct space_pos first_behind(const struct space *s, uint64_t addr)
{
	struct space_chunk *const *all = s->chunks.v;
	struct space_pos pos = {0};
	const struct space_chunk *c;

	pos.chunk = SEARCH(0, s->chunks.n, i, all[i]->r[all[i]->n - 1].end <= addr);
	if (pos.chunk == s->chunks.n)
		return pos;
	c = all[pos.chunk];
	pos.at = SEARCH(0, c->n, i, c->r[i].end <= addr);
	return pos;
}

static struct mapped_range *range_of(const struct space *s, struct space_pos pos)
{
	return pos.chunk < s->chunks.n ? &s->chunks.v[pos.chunk]->r[pos.at] : NULL;
}

const struct mapped_range *space_at(const struct space *s, uint64_t addr)
{
	const struct mapped_range *r = s ? range_of(s, first_behind(s, addr)) : NULL;

	return r && r->start <= addr ? r : NULL;
}

bool space_overlaps(const struct space *s, uint64_t start, uint64_t end)
{
	const struct mapped_range *r = s ? range_of(s, first_behind(s, start)) : NULL;

	return r && r->start < end;
}

const struct mapped_range *space_next(const struct space *s, struct space_pos *pos)
{
	const struct mapped_range *r = s ? range_of(s, *pos) : NULL;

	if (r && ++pos->at == s->chunks.v[pos->chunk]->n)
		*pos = (struct space_pos){.chunk = pos->chunk + 1};
	return r;
}

/* ---- changing ---- */

static struct space_chunk *chunk_own(struct space *s, size_t i)
{
	struct space_chunk *old = s->chunks.v[i], *mine;

	if (old->refs == 1)
		return old;
	mine = mem_alloc(sizeof(*mine));
	*mine = *old;
	mine->refs = 1;
	chunk_put(old);
	s->chunks.v[i] = mine;
	return mine;
}

static void chunk_add(struct space *s, size_t at)
{
	struct space_chunk *c = mem_alloc(sizeof(*c));

	c->refs = 1;
	c->n = 0;
	vec_reserve(&s->chunks, s->chunks.n + 1);
	memmove(&s->chunks.v[at + 1], &s->chunks.v[at], (s->chunks.n - at) * sizeof(*s->chunks.v));
	s->chunks.v[at] = c;
	s->chunks.n++;
}

static void space_split(struct space *s, size_t i)
{
	struct space_chunk *c = chunk_own(s, i), *half;

	chunk_add(s, i + 1);
	half = s->chunks.v[i + 1];
	half->n = c->n / 2;
	c->n -= half->n;
	memcpy(half->r, &c->r[c->n], half->n * sizeof(*c->r));
}

/* Inserts before the position; past the last chunk, at that chunk's end. */
static void space_add(struct space *s, struct space_pos pos, const struct mapped_range *r)
{
	struct space_chunk *c;

	if (!s->chunks.n)
		chunk_add(s, 0);
	if (pos.chunk == s->chunks.n) {
		pos.chunk--;
		pos.at = s->chunks.v[pos.chunk]->n;
	}
	if (s->chunks.v[pos.chunk]->n == CHUNK) {
		space_split(s, pos.chunk);
		if (pos.at > s->chunks.v[pos.chunk]->n) {
			pos.at -= s->chunks.v[pos.chunk]->n;
			pos.chunk++;
		}
	}
	c = chunk_own(s, pos.chunk);
	memmove(&c->r[pos.at + 1], &c->r[pos.at], (c->n - pos.at) * sizeof(*c->r));
	c->r[pos.at] = *r;
	c->n++;
	s->count++;
}

static void space_drop(struct space *s, struct space_pos pos)
{
	struct space_chunk *c = chunk_own(s, pos.chunk);

	memmove(&c->r[pos.at], &c->r[pos.at + 1], (--c->n - pos.at) * sizeof(*c->r));
	s->count--;
	if (c->n)
		return;
	chunk_put(c);
	memmove(&s->chunks.v[pos.chunk], &s->chunks.v[pos.chunk + 1],
		(--s->chunks.n - pos.chunk) * sizeof(*s->chunks.v));
}

/* Cuts [start, end) out of one range; false: no range is left that overlaps. */
static bool cut_one(struct space *s, uint64_t start, uint64_t end)
{
	struct space_pos pos = first_behind(s, start);
	struct mapped_range *r = range_of(s, pos), tail;

	if (!r || r->start >= end)
		return false;
	if (r->start >= start && r->end <= end) {
		space_drop(s, pos);
		return true;
	}
	r = &chunk_own(s, pos.chunk)->r[pos.at];
	tail = *r;
	tail.pgoff += end - tail.start;
	tail.start = end;
	if (r->start >= start) {
		*r = tail;
		return false;
	}
	r->end = start;
	if (tail.start < tail.end)
		space_add(s, first_behind(s, start), &tail);
	return true;
}

void space_insert(struct space *s, struct mapped_range r)
{
	while (cut_one(s, r.start, r.end))
		;
	space_add(s, first_behind(s, r.start), &r);
}
