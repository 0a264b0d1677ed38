// SPDX-License-Identifier: MIT
/*
 * Walking a unit. Its DIEs stand one after the other; children follow their parent, and a zero ends
 * them. So a walk is one pass over the bytes with a counter for the depth. What is below a DIE that
 * is no scope (a call's arguments, an enumeration's values, in C the members of a type) is jumped
 * over where the DIE says how far, always forwards, and stepped over where it does not.
 */
#include "elf/dwarf_private.h"

void dw_walk_init(struct dw_walk *w, struct dw_unit *u, uint8_t want)
{
	*w = (struct dw_walk){.unit = u, .c = dw_section(u->file, u->section), .want = want};
	w->c.len = (size_t)u->end;
	cur_seek(&w->c, (size_t)u->first);
	if (!u->tag || !dw_spend(u->file, u->end - u->first))
		w->c.bad = true;
}

/* To the end of the children, if the DIE whose attributes end here says where that is. */
static bool dwarf_walk_jump(struct dw_walk *w, const struct dw_abbrev *a)
{
	struct cursor c = w->c;
	uint64_t to;

	if (!(a->flags & DW_SIBLING_LAST))
		return false;
	c.pos -= 4;
	to = w->unit->begin + cur_u32(&c);
	if (to <= w->c.pos || to > w->unit->end)
		return false;
	w->c.pos = (size_t)to;
	return true;
}

static const struct dw_abbrev *dwarf_walk_step(struct dw_walk *w, uint64_t code)
{
	struct dw_abbrevs *t = w->unit->abbrevs;
	const struct dw_abbrev *a = dw_abbrev_find(t, code);

	if (a)
		dw_abbrev_skip(t, a, &w->c);
	else
		w->c.bad = true;
	return cur_ok(&w->c) ? a : NULL;
}

static void step_over_children(struct dw_walk *w)
{
	for (uint32_t depth = 1; depth && !cur_end(&w->c);) {
		uint64_t code = cur_varint(&w->c);
		const struct dw_abbrev *a = code ? dwarf_walk_step(w, code) : NULL;

		if (!code)
			depth--;
		else if (a && a->children && !dwarf_walk_jump(w, a))
			depth++;
	}
}

bool dw_walk_next(struct dw_walk *w, struct dw_die *ret)
{
	uint8_t scopes = DW_IS_SCOPE | (w->unit->c_like ? 0 : DW_IS_TYPE);
	uint32_t low = w->depth;

	while (!cur_end(&w->c)) {
		uint64_t offset = w->c.pos, code = cur_varint(&w->c), attrs = w->c.pos;
		const struct dw_abbrev *a;
		bool wanted;

		if (!code) {
			w->depth -= w->depth > 0;
			low = w->depth < low ? w->depth : low;
			continue;
		}
		a = dwarf_walk_step(w, code);
		if (!a)
			return false;
		wanted = a->flags & w->want;
		if (wanted)
			*ret = (struct dw_die){.unit = w->unit,
					       .offset = offset,
					       .attrs = attrs,
					       .next = w->c.pos,
					       .depth = w->depth,
					       .low = low,
					       .abbrev = *a};
		if (a->children && a->flags & scopes)
			w->depth++;
		else if (a->children && !dwarf_walk_jump(w, a))
			step_over_children(w);
		if (wanted)
			return true;
	}
	return false;
}

void dw_children_init(struct dw_walk *w, const struct dw_die *die)
{
	struct dw_unit *u = die->unit;

	*w = (struct dw_walk){.unit = u, .c = dw_section(u->file, u->section)};
	w->c.len = (size_t)u->end;
	cur_seek(&w->c, (size_t)die->next);
	if (!die->abbrev.children)
		w->c.bad = true;
}

bool dw_children_next(struct dw_walk *w, struct dw_die *ret)
{
	uint64_t offset = w->c.pos, code = cur_end(&w->c) ? 0 : cur_varint(&w->c);
	uint64_t attrs = w->c.pos;
	const struct dw_abbrev *a = code ? dwarf_walk_step(w, code) : NULL;
	struct dw_abbrev shape;

	if (!a)
		return false;
	shape = *a;
	*ret = (struct dw_die){.unit = w->unit,
			       .offset = offset,
			       .attrs = attrs,
			       .next = w->c.pos,
			       .abbrev = shape};
	if (shape.children && !dwarf_walk_jump(w, &shape))
		step_over_children(w);
	return dw_spend(w->unit->file, w->c.pos - offset);
}
