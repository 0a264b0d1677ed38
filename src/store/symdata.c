// SPDX-License-Identifier: MIT
/*
 * Names of data in memory and as DATA chunks.
 *
 * Pieces of data lie next to each other or inside of each other (a struct and its member). If they
 * overlap otherwise in a damaged file, a lookup gives some answer, perhaps a wrong one. They are
 * sorted at the first lookup, and each then knows the one around it, so that a lookup is a binary
 * search and a few steps outwards.
 *
 * A chunk: the strings used here, then the pieces, by module and place.
 */
#include "store/symdata.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/search.h"
#include "base/sort.h"
#include "store/tables.h"

#define NONE UINT32_MAX

void symdata_done(struct symdata *s)
{
	vec_done(&s->v);
	pool_done(&s->pool);
}

void symdata_add(struct symdata *s, uint32_t module, const struct data_symbol *d)
{
	struct symbol_piece p = {.module = module, .d = *d};

	if (!d->size || d->begin > UINT64_MAX - d->size || s->v.n >= NONE)
		return;
	p.d.name = pool_str(&s->pool, d->name, strlen(d->name));
	vec_push(&s->v, p);
	s->in_order = false;
}

/* Outer pieces before inner ones. */
static int by_place(const void *va, const void *vb)
{
	const struct symbol_piece *a = va, *b = vb;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->d.begin != b->d.begin)
		return a->d.begin < b->d.begin ? -1 : 1;
	return a->d.size > b->d.size ? -1 : a->d.size < b->d.size;
}

static bool symdata_holds(const struct symbol_piece *p, uint32_t module, uint64_t address)
{
	return p->module == module && address - p->d.begin < p->d.size;
}

static void put_in_order(struct symdata *s)
{
	size_t kept = 0;

	sort_by(s->v.v, s->v.n, sizeof(*s->v.v), by_place);
	for (size_t i = 0; i < s->v.n; i++) {
		struct symbol_piece *p = &s->v.v[i];
		uint32_t around = kept ? (uint32_t)kept - 1 : NONE;

		if (kept && !by_place(&s->v.v[kept - 1], p))
			continue;
		while (around != NONE && !symdata_holds(&s->v.v[around], p->module, p->d.begin))
			around = s->v.v[around].around;
		p->around = around;
		s->v.v[kept++] = *p;
	}
	s->v.n = kept;
	s->in_order = true;
}

const struct data_symbol *symdata_find(struct symdata *s, uint32_t module, uint64_t address)
{
	const struct symbol_piece *p;
	size_t lo;
	uint32_t at;

	if (!s->in_order)
		put_in_order(s);
	p = s->v.v;
	lo = SEARCH(0, s->v.n, i,
		    p[i].module < module || (p[i].module == module && p[i].d.begin <= address));
	for (at = lo ? (uint32_t)lo - 1 : NONE; at != NONE; at = s->v.v[at].around)
		if (symdata_holds(&s->v.v[at], module, address))
			return &s->v.v[at].d;
	return NULL;
}

size_t symdata_count(struct symdata *s)
{
	if (!s->in_order)
		put_in_order(s);
	return s->v.n;
}

size_t symdata_put(struct buf *out, struct symdata *s, size_t first, size_t bytes)
{
	struct pool strings = {0};
	struct buf body = {0};
	size_t i, used = 0;

	for (i = first; i < symdata_count(s) && used + body.len < bytes; i++) {
		const struct symbol_piece *p = &s->v.v[i];
		size_t before = strings.n_strings, len = strlen(p->d.name);
		uint32_t name = pool_intern(&strings, p->d.name, len);

		used += strings.n_strings > before ? len + 2 : 0;
		buf_put_varint(&body, p->module);
		buf_put_varint(&body, p->d.begin);
		buf_put_varint(&body, p->d.size);
		buf_put_varint(&body, name);
		buf_put_u8(&body, p->d.whole);
	}
	buf_put_varint(out, strings.n_strings);
	for (size_t k = 0; k < strings.n_strings; k++)
		buf_put_str(out, strings.strings[k]);
	buf_put_varint(out, i - first);
	buf_put(out, body.p, body.len);
	buf_done(&body);
	pool_done(&strings);
	return i - first;
}

static bool read_pieces(struct symdata *s, struct cursor *c, const char *const *names, uint64_t n)
{
	uint64_t pieces = cur_varint(c);

	if (pieces > cur_left(c))
		return false;
	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t module = cur_varint(c), name;
		struct data_symbol d;

		d.begin = cur_varint(c);
		d.size = cur_varint(c);
		name = cur_varint(c);
		d.whole = cur_u8(c) & 1;
		if (!cur_ok(c) || module > UINT32_MAX || name >= n || !d.size ||
		    d.begin > UINT64_MAX - d.size)
			return false;
		d.name = names[name];
		symdata_add(s, (uint32_t)module, &d);
	}
	return cur_ok(c);
}

int symdata_read(struct symdata *s, struct cursor c)
{
	VEC(const char *) names = {0};
	uint64_t n = cur_varint(&c);
	struct pool pool = {0};
	bool ok = cur_ok(&c) && n <= cur_left(&c);

	for (uint64_t i = 0; ok && i < n; i++) {
		size_t len;
		const char *p = cur_str_ref(&c, &len);

		ok = p;
		if (ok)
			vec_push(&names, pool_str(&pool, p, len));
	}
	ok = ok && read_pieces(s, &c, names.v, names.n);
	vec_done(&names);
	pool_done(&pool);
	return ok ? 0 : err_set(-EBADMSG, "its names of data are malformed");
}
