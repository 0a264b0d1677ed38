// SPDX-License-Identifier: MIT
/*
 * SYMBOLS chunks: the strings used here, then for each module its number and its addresses in
 * order, each as difference from the one before, and the symbols at that address, innermost first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sort.h"
#include "store/symtab_private.h"
#include "store/tables.h"

static int by_address(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void symbols_sort(const struct symtab *st, struct symtab_entry **ret_sorted)
{
	size_t n = symtab_count(st);
	struct symtab_entry *s = mem_alloc(n * sizeof(*s));

	if (n) {
		memcpy(s, symtab_entries(st), n * sizeof(*s));
		sort_by(s, n, sizeof(*s), by_address);
	}
	*ret_sorted = s;
}

static void put_symbol(struct buf *out, struct pool *strings, size_t *bytes, const struct symbol *s)
{
	size_t before = strings->n_strings;

	buf_put_varint(out, pool_intern(strings, s->name, strlen(s->name)));
	if (strings->n_strings > before)
		*bytes += strlen(s->name) + 2;
	before = strings->n_strings;
	buf_put_varint(out, s->file ? 1 + pool_intern(strings, s->file, strlen(s->file)) : 0);
	if (strings->n_strings > before)
		*bytes += strlen(s->file) + 2;
	buf_put_varint(out, s->line);
	buf_put_u8(out, s->inlined);
}

/* One module's addresses from sorted[0] on; returns how many. */
static size_t put_module(struct buf *out, struct pool *strings, const struct symtab_entry *sorted,
			 size_t n, size_t bytes, size_t *used)
{
	struct buf body = {0};
	uint64_t prev = 0;
	size_t i;

	for (i = 0; i < n && sorted[i].module == sorted[0].module && *used + body.len < bytes;
	     i++) {
		buf_put_varint(&body, sorted[i].offset - prev);
		prev = sorted[i].offset;
		buf_put_varint(&body, sorted[i].n);
		for (size_t k = 0; k < sorted[i].n; k++)
			put_symbol(&body, strings, used, &sorted[i].syms[k]);
	}
	buf_put_varint(out, sorted[0].module);
	buf_put_varint(out, i);
	buf_put(out, body.p, body.len);
	*used += body.len;
	buf_done(&body);
	return i;
}

size_t symbols_put(struct buf *out, const struct symtab_entry *sorted, size_t n, size_t bytes)
{
	struct pool strings = {0};
	struct buf body = {0};
	size_t done = 0, used = 0, modules = 0;

	while (done < n && used < bytes) {
		done += put_module(&body, &strings, sorted + done, n - done, bytes, &used);
		modules++;
	}
	buf_put_varint(out, strings.n_strings);
	for (size_t i = 0; i < strings.n_strings; i++)
		buf_put_str(out, strings.strings[i]);
	buf_put_varint(out, modules);
	buf_put(out, body.p, body.len);
	buf_done(&body);
	pool_done(&strings);
	return done;
}

struct string_list {
	VEC(const char *) list;
	struct pool pool;
};

static bool read_strings(struct string_list *s, struct cursor *c)
{
	uint64_t n = cur_varint(c);

	if (n > cur_left(c))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		size_t len;
		const char *p = cur_str_ref(c, &len);

		if (!p)
			return false;
		vec_push(&s->list, pool_str(&s->pool, p, len));
	}
	return true;
}

static bool read_address(struct symtab *st, struct cursor *c, const struct string_list *s,
			 uint32_t module, uint64_t offset)
{
	struct symbol syms[SYMBOLS_PER_FRAME_MAX];
	uint64_t n = cur_varint(c);

	if (!n || n > SYMBOLS_PER_FRAME_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t name = cur_varint(c), file = cur_varint(c);

		syms[i].line = (uint32_t)cur_varint(c);
		syms[i].inlined = cur_u8(c) & 1;
		if (!cur_ok(c) || name >= s->list.n || file > s->list.n)
			return false;
		syms[i].name = s->list.v[name];
		syms[i].file = file ? s->list.v[file - 1] : NULL;
	}
	symtab_add(st, module, offset, syms, (size_t)n);
	return true;
}

static bool read_modules(struct symtab *st, struct cursor *c, const struct string_list *s)
{
	uint64_t modules = cur_varint(c);

	for (uint64_t m = 0; m < modules; m++) {
		uint64_t module = cur_varint(c), n = cur_varint(c), offset = 0;

		if (!cur_ok(c) || module > UINT32_MAX || n > cur_left(c))
			return false;
		for (uint64_t i = 0; i < n; i++) {
			offset += cur_varint(c);
			if (!read_address(st, c, s, (uint32_t)module, offset))
				return false;
		}
	}
	return cur_ok(c);
}

int symbols_read(struct symtab *st, struct cursor c)
{
	struct string_list s = {0};
	bool ok = read_strings(&s, &c) && read_modules(st, &c, &s);

	vec_done(&s.list);
	pool_done(&s.pool);
	return ok ? 0 : err_set(-EBADMSG, "its names are malformed");
}
