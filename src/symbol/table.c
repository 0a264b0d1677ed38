// SPDX-License-Identifier: MIT
/*
 * Turns a pile of symbols into disjoint ranges:
 *
 * 1. Sort by address. Symbols at one address are aliases: one name stays, with the longest range.
 *    It is the one that a person would write: a function before a label, an exported name before a
 *    local one, one without leading underscores, a short one ("write" rather than "__libc_write").
 * 2. Drop a mere label (not a function, or without a size) inside a function of known size: loops
 *    in assembler code must not cut functions up. Outside, a symbol without a size ends at the
 *    next symbol, or after a limit.
 * 3. Where ranges still overlap, the one that begins last wins: an inner function takes its part,
 *    and the outer one goes on after its end.
 *
 * What no range covers has no name. On a stripped library the nearest symbol below an address is
 * usually the wrong function, and no name is better than a wrong one.
 */
#include "symbol/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "symbol/symbol.h"

struct symbols *table_new(struct buf *names)
{
	struct symbols *s = mem_zalloc(sizeof(*s));

	/* Names are printed on terminals: strip a hostile file's escape sequences. */
	for (size_t i = 0; i < names->len; i++)
		if ((names->p[i] && names->p[i] < 0x20) || names->p[i] == 0x7f)
			names->p[i] = '?';
	s->names = *names;
	*names = (struct buf){0};
	(void)buf_cstr(&s->names);
	return s;
}

void table_add(struct symbols *s, const struct table_sym *sym)
{
	char *name = (char *)s->names.p + sym->name;
	size_t left = s->names.len - sym->name;

	if (!*name)
		return;
	if (left > TABLE_NAME_MAX && !memchr(name, 0, TABLE_NAME_MAX))
		name[TABLE_NAME_MAX - 1] = '\0';
	vec_push(&s->syms, *sym);
}

/* Negative if a is the better name. */
static int compare_names(const char *a, const char *b)
{
	size_t a_len, b_len;

	if ((*a == '_') != (*b == '_'))
		return *a == '_' ? 1 : -1;
	a_len = strlen(a);
	b_len = strlen(b);
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(a, b);
}

static bool better(const struct symbols *s, const struct table_sym *a, const struct table_sym *b)
{
	if (a->is_func != b->is_func)
		return a->is_func;
	if (a->exported != b->exported)
		return a->exported;
	return compare_names(table_name(s, a), table_name(s, b)) < 0;
}

static int by_begin(const void *va, const void *vb)
{
	const struct table_sym *a = va, *b = vb;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void merge_aliases(struct symbols *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->syms.n; i++) {
		struct table_sym *sym = &s->syms.v[i], *last = kept ? &s->syms.v[kept - 1] : NULL;
		uint64_t end;

		if (!last || last->begin != sym->begin) {
			s->syms.v[kept++] = *sym;
			continue;
		}
		end = last->end > sym->end ? last->end : sym->end;
		if (better(s, sym, last))
			*last = *sym;
		last->end = end;
	}
	s->syms.n = kept;
}

static void settle_labels(struct symbols *s, uint64_t sizeless_max)
{
	size_t kept = 0;
	uint64_t covered = 0;

	for (size_t i = 0; i < s->syms.n; i++) {
		struct table_sym sym = s->syms.v[i];
		bool sizeless = sym.begin == sym.end;

		if ((sizeless || !sym.is_func) && sym.begin < covered)
			continue;
		if (sizeless) {
			uint64_t room = UINT64_MAX - sym.begin;

			sym.end += room < sizeless_max ? room : sizeless_max;
			if (i + 1 < s->syms.n && s->syms.v[i + 1].begin < sym.end)
				sym.end = s->syms.v[i + 1].begin;
		} else if (sym.is_func && sym.end > covered) {
			covered = sym.end;
		}
		s->syms.v[kept++] = sym;
	}
	s->syms.n = kept;
}

void table_build(struct symbols *s, uint64_t sizeless_max)
{
	sort_by(s->syms.v, s->syms.n, sizeof(*s->syms.v), by_begin);
	merge_aliases(s);
	settle_labels(s, sizeless_max);
	for (size_t i = 0; i < s->syms.n; i++)
		ranges_add(&s->ranges, s->syms.v[i].begin, s->syms.v[i].end, (uint32_t)i);
	ranges_build(&s->ranges);
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	buf_done(&s->names);
	vec_done(&s->syms);
	ranges_done(&s->ranges);
	free(s);
}

static const struct table_sym *sym_of(const struct symbols *s, const struct symbol_range *r,
				      uint64_t *ret_end)
{
	if (!r)
		return NULL;
	if (ret_end)
		*ret_end = r->end;
	return &s->syms.v[r->id];
}

const struct table_sym *table_find(const struct symbols *s, uint64_t offset, uint64_t *ret_end)
{
	return sym_of(s, ranges_find(&s->ranges, offset, ret_end), ret_end);
}

const struct table_sym *table_find_from(const struct symbols *s, size_t *hint, uint64_t offset,
					uint64_t *ret_end)
{
	return sym_of(s, ranges_find_from(&s->ranges, hint, offset, ret_end), ret_end);
}

const char *table_name(const struct symbols *s, const struct table_sym *sym)
{
	return (const char *)s->names.p + sym->name;
}

const char *symbols_find(const struct symbols *s, uint64_t offset, uint64_t *ret_distance)
{
	const struct table_sym *sym = table_find(s, offset, NULL);

	if (!sym)
		return NULL;
	if (ret_distance)
		*ret_distance = offset - sym->begin;
	return table_name(s, sym);
}
