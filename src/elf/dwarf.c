// SPDX-License-Identifier: MIT
/* Files, their units, and lookups between them. See dwarf.h for the promises. */
#include "elf/dwarf_private.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/search.h"

#define ACCOUNT_START (16u << 20)

bool dw_spend(struct dw_file *f, uint64_t work)
{
	struct dw_file *p = f->payer;

	if (p->exhausted || work > p->account) {
		p->exhausted = true;
		return false;
	}
	p->account -= work;
	return true;
}

bool dw_exhausted(const struct dw_file *f)
{
	return f->payer->exhausted;
}

int64_t dw_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cur_u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return (int64_t)v;
}

uint64_t dw_length(struct cursor *c, uint8_t *ret_offset_size)
{
	uint64_t n = cur_u32(c);

	*ret_offset_size = 4;
	if (n == 0xffffffff) {
		*ret_offset_size = 8;
		n = cur_u64(c);
	}
	return n;
}

/* ---- units ---- */

/* False if the header makes no sense; `end` is right all the same. */
static bool read_header(struct dw_unit *u, struct cursor *c)
{
	uint8_t address_size;

	u->version = cur_u16(c);
	if (u->version < 2 || u->version > 5)
		return false;
	u->type = u->section == DW_TYPES ? DW_UT_type : DW_UT_compile;
	if (u->version == 5) {
		u->type = cur_u8(c);
		address_size = cur_u8(c);
		u->abbrev_offset = dw_uint(c, u->offset_size);
	} else {
		u->abbrev_offset = dw_uint(c, u->offset_size);
		address_size = cur_u8(c);
	}
	if (u->type == DW_UT_type || u->type == DW_UT_split_type) {
		u->signature = cur_u64(c);
		u->type_offset = dw_uint(c, u->offset_size);
	} else if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile) {
		cur_skip(c, 8);
	}
	u->first = c->pos;
	return cur_ok(c) && address_size == 8 && u->first <= u->end;
}

static void index_units(struct dw_file *f, enum dw_section section, dw_units *ret)
{
	struct cursor c = dw_section(f, section);

	while (cur_left(&c) && ret->n < DW_UNITS_MAX && dw_spend(f, 16)) {
		struct dw_unit u = {.file = f, .begin = c.pos, .section = section};
		uint64_t length = dw_length(&c, &u.offset_size);

		if (!cur_ok(&c) || length > cur_left(&c))
			break;
		u.end = c.pos + length;
		if (read_header(&u, &c))
			vec_push(ret, u);
		c.bad = false;
		cur_seek(&c, (size_t)u.end);
	}
}

struct dw_unit *dw_unit_at(struct dw_file *f, uint64_t offset)
{
	size_t lo = SEARCH(0, f->units.n, mid, f->units.v[mid].begin <= offset);

	return lo && offset < f->units.v[lo - 1].end ? &f->units.v[lo - 1] : NULL;
}

static void index_signatures(struct dw_file *f, const struct dw_unit *v, size_t n, uint64_t mark)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].type == DW_UT_type)
			*map_put(&f->signatures, v[i].signature, NULL) = (i + 1) | mark;
}

struct dw_unit *dw_unit_of_type(struct dw_file *f, uint64_t signature)
{
	const uint64_t *slot;

	if (!f->types_known) {
		f->types_known = true;
		index_units(f, DW_TYPES, &f->types);
		index_signatures(f, f->units.v, f->units.n, 0);
		index_signatures(f, f->types.v, f->types.n, 1ull << 32);
	}
	slot = map_get(&f->signatures, signature);
	if (!slot)
		return NULL;
	return *slot >> 32 ? &f->types.v[(uint32_t)*slot - 1] : &f->units.v[*slot - 1];
}

static bool is_c(uint64_t language)
{
	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11 || language == DW_LANG_C17;
}

static void take_root(struct dw_unit *u, const struct dw_attr *a)
{
	uint64_t v;

	switch (a->name) {
	case DW_AT_low_pc:
		u->low = *a;
		break;
	case DW_AT_high_pc:
		u->high = *a;
		break;
	case DW_AT_ranges:
		u->ranges = *a;
		break;
	case DW_AT_stmt_list:
		u->stmt_list = *a;
		break;
	case DW_AT_comp_dir:
		u->comp_dir = *a;
		break;
	case DW_AT_language:
		u->c_like = dw_number(a, &v) && is_c(v);
		break;
	case DW_AT_str_offsets_base:
		u->str_offsets_base = a->u;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		u->addr_base = a->u;
		break;
	case DW_AT_rnglists_base:
		u->rnglists_base = a->u;
		break;
	}
}

bool dw_unit_open(struct dw_unit *u)
{
	struct dw_attrs attrs;
	struct dw_attr a;
	struct dw_die die;

	if (u->opened)
		return u->tag;
	u->opened = true;
	u->abbrevs = dw_abbrevs_at(u->file, u->abbrev_offset, u->offset_size, u->version);
	u->str_offsets_base = u->offset_size == 8 ? 16 : 8;
	if (!dw_die_at(u, u->first, &die))
		return false;
	for (attrs = dw_attrs(&die); dw_attr_next(&attrs, &a);)
		take_root(u, &a);
	/* Only now is it known where .debug_addr's numbers begin. */
	if (!dw_address(u, &u->low, &u->low_pc))
		u->low_pc = 0;
	u->tag = die.abbrev.tag;
	return u->tag;
}

bool dw_die_at(struct dw_unit *u, uint64_t offset, struct dw_die *ret)
{
	struct cursor c = dw_section(u->file, u->section);
	const struct dw_abbrev *a;
	uint64_t code;

	if (!u->opened && !dw_unit_open(u))
		return false;
	if (offset < u->first || offset >= u->end || !dw_spend(u->file, 8))
		return false;
	c.len = (size_t)u->end;
	cur_seek(&c, (size_t)offset);
	code = cur_varint(&c);
	a = code ? dw_abbrev_find(u->abbrevs, code) : NULL;
	if (!a)
		return false;
	*ret = (struct dw_die){.unit = u, .offset = offset, .attrs = c.pos, .abbrev = *a};
	dw_abbrev_skip(u->abbrevs, a, &c);
	ret->next = c.pos;
	return cur_ok(&c);
}

/* ---- files ---- */

int dw_open(const struct elf *e, struct dw_file *alt, struct dw_file **ret)
{
	struct dw_file *f = mem_zalloc(sizeof(*f));

	f->elf = e;
	f->alt = alt;
	f->payer = f;
	f->account = ACCOUNT_START;
	if (alt) {
		f->account += alt->account;
		alt->payer = f;
	}
	index_units(f, DW_INFO, &f->units);
	if (!f->units.n) {
		dw_close(f);
		return err_set(-ENODATA, "no debug information that can be read");
	}
	*ret = f;
	return 0;
}

void dw_close(struct dw_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < DW_SECTIONS; i++)
		buf_done(&f->sections[i].own);
	for (size_t i = 0; i < f->tables.n; i++)
		dw_abbrevs_free(f->tables.v[i]);
	vec_done(&f->tables);
	vec_done(&f->units);
	vec_done(&f->types);
	map_done(&f->signatures);
	map_done(&f->abbrevs_at);
	free(f);
}
