// SPDX-License-Identifier: MIT
/*
 * Abbreviations: the shapes that the DIEs of a unit have. A table is read only as far as needed: a
 * unit that is not walked needs only its first entry. Nearly always the codes are 1, 2, 3, ...;
 * others are found through a map.
 *
 * Most DIEs are only skipped. So each shape is compiled into ops: a number of fixed bytes (the
 * upper 12 bits), then one value whose length must be read (the lower 4).
 */
#include "elf/dwarf_private.h"

#include <stdlib.h>

#define SPECS_MAX 4096u /* of one shape */
#define FORMS 0x2du	/* of those with small numbers */

enum op {
	OP_END,
	OP_MORE,
	OP_LEB,
	OP_BLOCK,
	OP_BLOCK1,
	OP_BLOCK2,
	OP_BLOCK4,
	OP_STRING,
	OP_FORM,
};

#define OP_SHIFT 4
#define OP_BYTES_MAX 0xfffu

/* How large a form is: so many bytes, the size of an offset or a reference, or by an op. */
enum { SIZE_OFFSET = 0x20, SIZE_REF_ADDR, SIZE_BY_OP = 0x40, SIZE_UNKNOWN = 0xff };

#define BY(op) (SIZE_BY_OP | (op))

static const uint8_t form_sizes[FORMS] = {
	[0] = SIZE_UNKNOWN,
	[2] = SIZE_UNKNOWN,
	[DW_FORM_flag_present] = 0,
	[DW_FORM_implicit_const] = 0,
	[DW_FORM_data1] = 1,
	[DW_FORM_ref1] = 1,
	[DW_FORM_flag] = 1,
	[DW_FORM_strx1] = 1,
	[DW_FORM_addrx1] = 1,
	[DW_FORM_data2] = 2,
	[DW_FORM_ref2] = 2,
	[DW_FORM_strx2] = 2,
	[DW_FORM_addrx2] = 2,
	[DW_FORM_strx3] = 3,
	[DW_FORM_addrx3] = 3,
	[DW_FORM_data4] = 4,
	[DW_FORM_ref4] = 4,
	[DW_FORM_strx4] = 4,
	[DW_FORM_addrx4] = 4,
	[DW_FORM_ref_sup4] = 4,
	[DW_FORM_addr] = 8,
	[DW_FORM_data8] = 8,
	[DW_FORM_ref8] = 8,
	[DW_FORM_ref_sig8] = 8,
	[DW_FORM_ref_sup8] = 8,
	[DW_FORM_data16] = 16,
	[DW_FORM_ref_addr] = SIZE_REF_ADDR,
	[DW_FORM_sec_offset] = SIZE_OFFSET,
	[DW_FORM_strp] = SIZE_OFFSET,
	[DW_FORM_line_strp] = SIZE_OFFSET,
	[DW_FORM_strp_sup] = SIZE_OFFSET,
	[DW_FORM_sdata] = BY(OP_LEB),
	[DW_FORM_udata] = BY(OP_LEB),
	[DW_FORM_ref_udata] = BY(OP_LEB),
	[DW_FORM_strx] = BY(OP_LEB),
	[DW_FORM_addrx] = BY(OP_LEB),
	[DW_FORM_loclistx] = BY(OP_LEB),
	[DW_FORM_rnglistx] = BY(OP_LEB),
	[DW_FORM_block] = BY(OP_BLOCK),
	[DW_FORM_exprloc] = BY(OP_BLOCK),
	[DW_FORM_block1] = BY(OP_BLOCK1),
	[DW_FORM_block2] = BY(OP_BLOCK2),
	[DW_FORM_block4] = BY(OP_BLOCK4),
	[DW_FORM_string] = BY(OP_STRING),
	[DW_FORM_indirect] = BY(OP_FORM),
};

static uint8_t unusual_size(uint64_t form)
{
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
		return SIZE_OFFSET;
	if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
		return BY(OP_LEB);
	return SIZE_UNKNOWN;
}

static uint8_t form_size(const struct dw_abbrevs *t, uint64_t form)
{
	uint8_t size = form < FORMS ? form_sizes[form] : unusual_size(form);

	if (size < SIZE_OFFSET || size >= SIZE_BY_OP)
		return size;
	return size == SIZE_REF_ADDR && t->version_2 ? 8 : t->offset_size;
}

static void put_op(struct dw_abbrevs *t, uint32_t *bytes, enum op op)
{
	while (*bytes > OP_BYTES_MAX) {
		vec_push(&t->ops, OP_BYTES_MAX << OP_SHIFT | OP_MORE);
		*bytes -= OP_BYTES_MAX;
	}
	vec_push(&t->ops, (uint16_t)(*bytes << OP_SHIFT | op));
	*bytes = 0;
}

static void skip_leb(struct cursor *c)
{
	while (cur_u8(c) & 0x80)
		;
}

/* What was seen among the attributes of a shape. */
struct seen_abbrev {
	bool code, place, sibling;
};

static bool is_block(uint64_t form)
{
	return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 ||
	       form == DW_FORM_block2 || form == DW_FORM_block4;
}

static void abbrev_look_at(struct seen_abbrev *s, uint64_t name, uint64_t form)
{
	switch (name) {
	case DW_AT_low_pc:
	case DW_AT_ranges:
		s->code = true;
		break;
	case DW_AT_location:
		s->place |= is_block(form);
		break;
	}
}

static uint8_t flags_of(uint16_t tag, const struct seen_abbrev *s)
{
	uint8_t flags = s->sibling ? DW_SIBLING_LAST : 0;

	switch (tag) {
	case DW_TAG_subprogram:
		return flags | DW_IS_SCOPE | (s->code ? DW_HAS_CODE : 0);
	case DW_TAG_inlined_subroutine: /* without code, it was optimized away */
		return flags | (s->code ? DW_IS_SCOPE | DW_HAS_CODE : 0);
	case DW_TAG_variable:
		return flags | (s->place ? DW_HAS_DATA : 0);
	case DW_TAG_compile_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return flags | DW_IS_SCOPE;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return flags | DW_IS_TYPE;
	default:
		return flags;
	}
}

static inline uint64_t leb(struct cursor *c)
{
	if (c->pos < c->len && c->base[c->pos] < 0x80)
		return c->base[c->pos++];
	return cur_varint(c);
}

/* The list of attributes; false if it has no end that we understand. */
static bool read_specs(struct dw_abbrevs *t, struct cursor *c, struct dw_abbrev *a,
		       struct seen_abbrev *seen)
{
	uint64_t name, form, last = 0, last_form = 0;
	uint32_t bytes = 0, n = 0;
	bool fixed = true;

	for (;; n++, last = name, last_form = form) {
		uint8_t size;

		name = leb(c);
		form = leb(c);
		size = form_size(t, form);
		if (size == SIZE_UNKNOWN || n == SPECS_MAX)
			break;
		abbrev_look_at(seen, name, form);
		if (size < SIZE_BY_OP) {
			bytes += size;
			if (form == DW_FORM_implicit_const)
				skip_leb(c);
		} else {
			put_op(t, &bytes, size & ~SIZE_BY_OP);
			fixed = false;
		}
	}
	seen->sibling = last == DW_AT_sibling && last_form == DW_FORM_ref4;
	fixed &= bytes < DW_NOT_FIXED;
	if (!fixed)
		put_op(t, &bytes, OP_END);
	a->n_specs = (uint16_t)n;
	a->fixed = fixed ? (uint16_t)bytes : DW_NOT_FIXED;
	return !name && !form && cur_ok(c);
}

/* Reads one more; false at the end of the table. */
static bool read_one(struct dw_abbrevs *t)
{
	struct cursor c = t->rest;
	uint64_t code = leb(&c), tag = leb(&c);
	struct dw_abbrev a = {.code = (uint32_t)code,
			      .tag = tag > UINT16_MAX ? 0 : (uint16_t)tag,
			      .children = cur_u8(&c),
			      .ops = (uint32_t)t->ops.n};
	struct seen_abbrev seen = {.code = false};

	a.specs = (uint32_t)c.pos;
	if (!code || code > UINT32_MAX || !read_specs(t, &c, &a, &seen)) {
		t->rest.bad = true;
		return false;
	}
	t->rest = c;
	a.flags = flags_of(a.tag, &seen);
	vec_push(&t->v, a);
	if (a.code != t->v.n) {
		bool fresh;
		uint64_t *slot = map_put(&t->sparse, a.code, &fresh);

		if (fresh)
			*slot = t->v.n;
	}
	return true;
}

const struct dw_abbrev *dw_abbrev_find(struct dw_abbrevs *t, uint64_t code)
{
	const uint64_t *slot;

	if (!t)
		return NULL;
	for (;;) {
		if (code - 1 < t->v.n && t->v.v[code - 1].code == code)
			return &t->v.v[code - 1];
		slot = t->sparse.n ? map_get(&t->sparse, code) : NULL;
		if (slot)
			return &t->v.v[*slot - 1];
		if (!read_one(t))
			return NULL;
	}
}

struct dw_abbrevs *dw_abbrevs_at(struct dw_file *f, uint64_t offset, uint8_t offset_size,
				 uint16_t version)
{
	struct cursor c = dw_section(f, DW_ABBREV);
	uint64_t key = offset << 2 | (uint64_t)(offset_size == 8) << 1 | (version == 2), *slot;
	struct dw_abbrevs *t;
	bool fresh;

	if (offset >= c.len || c.len > UINT32_MAX)
		return NULL;
	slot = map_put(&f->abbrevs_at, key, &fresh);
	if (!fresh)
		return f->tables.v[*slot];
	t = mem_zalloc(sizeof(*t));
	*slot = f->tables.n;
	vec_push(&f->tables, t);
	t->rest = c;
	cur_seek(&t->rest, (size_t)offset);
	t->offset_size = offset_size;
	t->version_2 = version == 2;
	return t;
}

void dw_abbrevs_free(struct dw_abbrevs *t)
{
	vec_done(&t->v);
	vec_done(&t->ops);
	map_done(&t->sparse);
	free(t);
}

static void skip_string(struct cursor *c)
{
	const uint8_t *p = cur_left(c) ? c->base + c->pos : NULL;
	const uint8_t *end = p ? memchr(p, 0, cur_left(c)) : NULL;

	cur_skip(c, end ? (size_t)(end - p) + 1 : SIZE_MAX);
}

void dw_abbrev_skip(const struct dw_abbrevs *t, const struct dw_abbrev *a, struct cursor *c)
{
	struct dw_attr ignored;

	if (a->fixed != DW_NOT_FIXED) {
		cur_skip(c, a->fixed);
		return;
	}
	for (const uint16_t *op = t->ops.v + a->ops;; op++) {
		cur_skip(c, *op >> OP_SHIFT);
		switch ((enum op)(*op & ((1 << OP_SHIFT) - 1))) {
		case OP_END:
			return;
		case OP_MORE:
			break;
		case OP_LEB:
			skip_leb(c);
			break;
		case OP_BLOCK:
			cur_skip(c, (size_t)cur_varint(c));
			break;
		case OP_BLOCK1:
			cur_skip(c, cur_u8(c));
			break;
		case OP_BLOCK2:
			cur_skip(c, cur_u16(c));
			break;
		case OP_BLOCK4:
			cur_skip(c, cur_u32(c));
			break;
		case OP_STRING:
			skip_string(c);
			break;
		case OP_FORM:
			dw_read_form(c, DW_FORM_indirect, t->offset_size, t->version_2, &ignored);
			break;
		}
	}
}
