// SPDX-License-Identifier: MIT
/*
 * Where code is: one range, or a list of them. Lists are pairs of addresses in .debug_ranges
 * (DWARF 2 to 4) or small instructions in .debug_rnglists (5). Anybody may point into the middle of
 * a list, and many may point to the same one: each entry is paid for.
 */
#include "elf/dwarf_private.h"

static void init_rnglist(struct dw_ranges *r, const struct dw_attr *list)
{
	struct dw_unit *u = r->unit;
	uint64_t at = list->u;

	r->c = dw_section(u->file, DW_RNGLISTS);
	if (list->form == DW_FORM_rnglistx) {
		if (u->rnglists_base > r->c.len ||
		    at >= (r->c.len - u->rnglists_base) / u->offset_size)
			return;
		cur_seek(&r->c, (size_t)(u->rnglists_base + at * u->offset_size));
		at = u->rnglists_base + dw_uint(&r->c, u->offset_size);
	}
	cur_seek(&r->c, (size_t)at);
	r->kind = DW_RANGES_RNGLIST;
}

void dw_ranges_init(struct dw_ranges *r, struct dw_unit *u, const struct dw_attr *low,
		    const struct dw_attr *high, const struct dw_attr *list)
{
	uint64_t v;

	*r = (struct dw_ranges){.unit = u, .base = u->low_pc, .kind = DW_RANGES_END};
	if (high->form && dw_address(u, low, &r->begin)) {
		if (dw_number(high, &v))
			r->end = r->begin + v;
		else if (!dw_address(u, high, &r->end))
			return;
		r->kind = DW_RANGES_ONE;
	} else if (list->form && u->version >= 5) {
		init_rnglist(r, list);
	} else if (list->form) {
		r->c = dw_section(u->file, DW_RANGES);
		cur_seek(&r->c, (size_t)list->u);
		r->kind = DW_RANGES_LIST;
	}
}

static bool next_pair(struct dw_ranges *r, uint64_t *ret_begin, uint64_t *ret_end)
{
	while (dw_spend(r->unit->file, 16)) {
		uint64_t begin = cur_u64(&r->c), end = cur_u64(&r->c);

		if (!cur_ok(&r->c) || (!begin && !end))
			break;
		if (begin == UINT64_MAX) {
			r->base = end;
			continue;
		}
		*ret_begin = r->base + begin;
		*ret_end = r->base + end;
		return true;
	}
	return false;
}

static uint64_t indexed(struct dw_ranges *r)
{
	uint64_t v = 0;

	if (!dw_address_number(r->unit, cur_varint(&r->c), &v))
		r->c.bad = true;
	return v;
}

static bool next_entry(struct dw_ranges *r, uint64_t *ret_begin, uint64_t *ret_end)
{
	while (dw_spend(r->unit->file, 8)) {
		uint64_t begin, end;

		switch (cur_u8(&r->c)) {
		case DW_RLE_base_addressx:
			r->base = indexed(r);
			continue;
		case DW_RLE_base_address:
			r->base = cur_u64(&r->c);
			continue;
		case DW_RLE_startx_endx:
			begin = indexed(r);
			end = indexed(r);
			break;
		case DW_RLE_startx_length:
			begin = indexed(r);
			end = begin + cur_varint(&r->c);
			break;
		case DW_RLE_offset_pair:
			begin = r->base + cur_varint(&r->c);
			end = r->base + cur_varint(&r->c);
			break;
		case DW_RLE_start_end:
			begin = cur_u64(&r->c);
			end = cur_u64(&r->c);
			break;
		case DW_RLE_start_length:
			begin = cur_u64(&r->c);
			end = begin + cur_varint(&r->c);
			break;
		default: /* the end, or what we do not know */
			return false;
		}
		if (!cur_ok(&r->c))
			return false;
		*ret_begin = begin;
		*ret_end = end;
		return true;
	}
	return false;
}

bool dw_ranges_next(struct dw_ranges *r, uint64_t *ret_begin, uint64_t *ret_end)
{
	bool more = false;

	switch (r->kind) {
	case DW_RANGES_ONE:
		*ret_begin = r->begin;
		*ret_end = r->end;
		r->kind = DW_RANGES_END;
		return true;
	case DW_RANGES_LIST:
		more = next_pair(r, ret_begin, ret_end);
		break;
	case DW_RANGES_RNGLIST:
		more = next_entry(r, ret_begin, ret_end);
		break;
	case DW_RANGES_END:
		break;
	}
	if (!more)
		r->kind = DW_RANGES_END;
	return more;
}
