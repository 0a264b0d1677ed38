// SPDX-License-Identifier: MIT
/*
 * Attributes: how a value stands there, and what it means. Strings, addresses and references lead
 * into other sections, other units or the file that is shared with others; each step is checked
 * where it is taken.
 */
#include "elf/dwarf_private.h"

#define HOPS_MAX 16 /* from an instance to its origin, to a declaration, ... */

static void block(struct cursor *c, uint64_t len, struct dw_attr *ret)
{
	ret->p = cur_bytes(c, (size_t)len);
	ret->len = ret->p ? (size_t)len : 0;
}

static void string(struct cursor *c, struct dw_attr *ret)
{
	const uint8_t *p = cur_left(c) ? c->base + c->pos : NULL;
	const uint8_t *end = p ? memchr(p, 0, cur_left(c)) : NULL;

	block(c, end ? (uint64_t)(end - p) + 1 : SIZE_MAX, ret);
}

static uint64_t three(struct cursor *c)
{
	const uint8_t *p = cur_bytes(c, 3);

	return p ? (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 : 0;
}

void dw_read_form(struct cursor *c, uint16_t form, uint8_t offset_size, bool version_2,
		  struct dw_attr *ret)
{
	ret->form = form;
	ret->u = 0;
	switch (form) {
	case DW_FORM_indirect:
		ret->form = (uint16_t)cur_varint(c);
		if (ret->form == DW_FORM_indirect || ret->form == DW_FORM_implicit_const)
			c->bad = true;
		else
			dw_read_form(c, ret->form, offset_size, version_2, ret);
		break;
	case DW_FORM_flag_present:
		ret->u = 1;
		break;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		ret->u = cur_u8(c);
		break;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		ret->u = cur_u16(c);
		break;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		ret->u = three(c);
		break;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		ret->u = cur_u32(c);
		break;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		ret->u = cur_u64(c);
		break;
	case DW_FORM_data16:
		block(c, 16, ret);
		break;
	case DW_FORM_ref_addr:
		ret->u = dw_uint(c, version_2 ? 8 : offset_size);
		break;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		ret->u = dw_uint(c, offset_size);
		break;
	case DW_FORM_sdata:
		ret->u = (uint64_t)dw_sleb(c);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->u = cur_varint(c);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		block(c, cur_varint(c), ret);
		break;
	case DW_FORM_block1:
		block(c, cur_u8(c), ret);
		break;
	case DW_FORM_block2:
		block(c, cur_u16(c), ret);
		break;
	case DW_FORM_block4:
		block(c, cur_u32(c), ret);
		break;
	case DW_FORM_string:
		string(c, ret);
		break;
	default:
		c->bad = true;
	}
}

struct dw_attrs dw_attrs(const struct dw_die *die)
{
	struct dw_unit *u = die->unit;
	struct dw_attrs a = {.die = die,
			     .c = dw_section(u->file, u->section),
			     .specs = dw_section(u->file, DW_ABBREV),
			     .left = die->abbrev.n_specs};

	a.c.len = (size_t)u->end;
	cur_seek(&a.c, (size_t)die->attrs);
	cur_seek(&a.specs, die->abbrev.specs);
	if (!dw_spend(u->file, a.left))
		a.c.bad = true;
	return a;
}

bool dw_attr_next(struct dw_attrs *a, struct dw_attr *ret)
{
	const struct dw_unit *u = a->die->unit;
	uint64_t name;
	uint16_t form;

	if (!a->left || !cur_ok(&a->c))
		return false;
	a->left--;
	name = cur_varint(&a->specs);
	form = (uint16_t)cur_varint(&a->specs);
	ret->name = name > UINT16_MAX ? 0 : (uint16_t)name;
	ret->p = NULL;
	ret->len = 0;
	if (form == DW_FORM_implicit_const) {
		ret->form = form;
		ret->u = (uint64_t)dw_sleb(&a->specs);
		return true;
	}
	dw_read_form(&a->c, form, u->offset_size, u->version == 2, ret);
	return cur_ok(&a->c);
}

struct dw_attr dw_attr_of(const struct dw_die *die, uint16_t name)
{
	struct dw_attrs attrs = dw_attrs(die);
	struct dw_attr a;

	while (dw_attr_next(&attrs, &a))
		if (a.name == name)
			return a;
	return (struct dw_attr){.form = 0};
}

/* ---- what values mean ---- */

bool dw_address_number(struct dw_unit *u, uint64_t index, uint64_t *ret)
{
	struct cursor c = dw_section(u->file, DW_ADDR);

	if (u->addr_base > c.len || index >= (c.len - u->addr_base) / 8)
		return false;
	cur_seek(&c, (size_t)(u->addr_base + 8 * index));
	*ret = cur_u64(&c);
	return cur_ok(&c);
}

bool dw_address(struct dw_unit *u, const struct dw_attr *a, uint64_t *ret)
{
	switch (a->form) {
	case DW_FORM_addr:
		*ret = a->u;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dw_address_number(u, a->u, ret);
	default:
		return false;
	}
}

bool dw_is_number(const struct dw_attr *a)
{
	switch (a->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_implicit_const:
		return true;
	default:
		return false;
	}
}

bool dw_number(const struct dw_attr *a, uint64_t *ret)
{
	if (dw_is_number(a))
		*ret = a->u;
	return dw_is_number(a);
}

bool dw_is_block(const struct dw_attr *a)
{
	return a->p && a->form != DW_FORM_string && a->form != DW_FORM_data16;
}

static const char *string_at(struct dw_file *f, enum dw_section section, uint64_t offset)
{
	struct cursor c = f ? dw_section(f, section) : cur_init(NULL, 0);

	if (offset >= c.len || !memchr(c.base + offset, 0, c.len - (size_t)offset))
		return NULL;
	return (const char *)c.base + offset;
}

static const char *string_number(struct dw_unit *u, uint64_t index)
{
	struct cursor c = dw_section(u->file, DW_STR_OFFSETS);
	uint64_t offset;

	if (u->str_offsets_base > c.len || index >= (c.len - u->str_offsets_base) / u->offset_size)
		return NULL;
	cur_seek(&c, (size_t)(u->str_offsets_base + index * u->offset_size));
	offset = dw_uint(&c, u->offset_size);
	return cur_ok(&c) ? string_at(u->file, DW_STR, offset) : NULL;
}

const char *dw_string(struct dw_unit *u, const struct dw_attr *a)
{
	switch (a->form) {
	case DW_FORM_string:
		return (const char *)a->p;
	case DW_FORM_strp:
		return string_at(u->file, DW_STR, a->u);
	case DW_FORM_line_strp:
		return string_at(u->file, DW_LINE_STR, a->u);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return string_at(u->file->alt, DW_STR, a->u);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return string_number(u, a->u);
	default:
		return NULL;
	}
}

static bool die_in(struct dw_file *f, uint64_t offset, struct dw_die *ret)
{
	struct dw_unit *u = f ? dw_unit_at(f, offset) : NULL;

	return u && dw_die_at(u, offset, ret);
}

bool dw_follow(struct dw_unit *u, const struct dw_attr *a, struct dw_die *ret)
{
	struct dw_unit *type;

	switch (a->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return a->u < u->end - u->begin && dw_die_at(u, u->begin + a->u, ret);
	case DW_FORM_ref_addr:
		return die_in(u->file, a->u, ret);
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		return die_in(u->file->alt, a->u, ret);
	case DW_FORM_ref_sig8:
		type = dw_unit_of_type(u->file, a->u);
		return type && type->type_offset < type->end - type->begin &&
		       dw_die_at(type, type->begin + type->type_offset, ret);
	default:
		return false;
	}
}

/* From an instance to what it is one of, from a definition to its declaration. */
static bool origin_of(struct dw_die *die)
{
	struct dw_attrs attrs = dw_attrs(die);
	struct dw_attr a, found = {.form = 0};
	struct dw_die next;

	while (dw_attr_next(&attrs, &a))
		if (a.name == DW_AT_abstract_origin ||
		    (a.name == DW_AT_specification && !found.form))
			found = a;
	if (!found.form || !dw_follow(die->unit, &found, &next))
		return false;
	*die = next;
	return true;
}

struct dw_attr dw_attr_integrate(const struct dw_die *die, uint16_t name, struct dw_unit **ret_unit)
{
	struct dw_die at = *die;
	struct dw_attr a;

	for (int hops = 0; hops < HOPS_MAX; hops++) {
		a = dw_attr_of(&at, name);
		*ret_unit = at.unit;
		if (a.form || !origin_of(&at))
			break;
	}
	return a;
}

void dw_die_names(const struct dw_die *die, const char **ret_name, const char **ret_linkage)
{
	struct dw_die at = *die;
	int hops = 0;

	*ret_name = *ret_linkage = NULL;
	do {
		struct dw_attrs attrs = dw_attrs(&at);
		struct dw_attr a;

		while (dw_attr_next(&attrs, &a)) {
			if (a.name == DW_AT_name && !*ret_name)
				*ret_name = dw_string(at.unit, &a);
			else if ((a.name == DW_AT_linkage_name ||
				  a.name == DW_AT_MIPS_linkage_name) &&
				 !*ret_linkage)
				*ret_linkage = dw_string(at.unit, &a);
		}
	} while (++hops < HOPS_MAX && origin_of(&at));
}
