// SPDX-License-Identifier: MIT
#include "symbol/dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/search.h"
#include "elf/dwarf_numbers.h"

static bool has_ranges(struct dwarf_info *d, struct dw_unit *u, uint32_t id)
{
	struct dw_ranges r;
	uint64_t begin, end;
	bool any = false;

	dw_ranges_init(&r, u, &u->low, &u->high, &u->ranges);
	while (dw_ranges_next(&r, &begin, &end)) {
		ranges_add(&d->ranges, begin, end, id);
		any |= begin < end;
	}
	return any;
}

/* A unit that does not say where its code is has to be walked to find out. */
static void ranges_by_walk(struct dwarf_info *d, struct dwarf_unit *u, uint32_t id)
{
	dwarf_unit_walk(u);
	for (size_t i = 0; i < u->ranges.out.n; i++)
		ranges_add(&d->ranges, u->ranges.out.v[i].begin, u->ranges.out.v[i].end, id);
}

static void index_units(struct dwarf_info *d)
{
	for (size_t i = 0; i < d->dw->units.n; i++) {
		struct dw_unit *u = &d->dw->units.v[i];
		uint32_t id = (uint32_t)d->units.n;

		/* Partial units and types have no code; of split units, only lines are here. */
		if (u->type != DW_UT_compile && u->type != DW_UT_skeleton)
			continue;
		if (!dw_unit_open(u) ||
		    (u->tag != DW_TAG_compile_unit && u->tag != DW_TAG_skeleton_unit))
			continue;
		vec_add(&d->units)->dw = u;
		if (!has_ranges(d, u, id))
			ranges_by_walk(d, &d->units.v[id], id);
	}
	ranges_build(&d->ranges);
}

int dwarf_open(const struct elf *e, const struct elf *alt, struct dwarf_info **ret)
{
	struct dwarf_info *d = mem_zalloc(sizeof(*d));
	int rc;

	if (alt)
		(void)dw_open(alt, NULL, &d->alt);
	rc = dw_open(e, d->alt, &d->dw);
	if (rc) {
		dwarf_close(d);
		return rc;
	}
	index_units(d);
	*ret = d;
	return 0;
}

void dwarf_close(struct dwarf_info *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units.n; i++) {
		vec_done(&d->units.v[i].nodes);
		ranges_done(&d->units.v[i].ranges);
		dw_lines_done(&d->units.v[i].lines);
		free(d->units.v[i].files);
	}
	vec_done(&d->units);
	ranges_done(&d->ranges);
	dw_close(d->dw);
	dw_close(d->alt);
	free(d);
}

bool dwarf_failed(const struct dwarf_info *d)
{
	return dw_exhausted(d->dw);
}

/* How many rows begin at or before the address, searching among the rows from `lo` on. */
static size_t search_row(const struct dw_lines *l, size_t lo, uint64_t address)
{
	return SEARCH(lo, l->rows.n, mid, l->rows.v[mid].address <= address);
}

/* The last row that begins at or before the address; *end shrinks to where the next one begins. */
static const struct dw_row *find_row(struct dwarf_unit *u, uint64_t address, uint64_t *end)
{
	const struct dw_row *v = u->lines.rows.v;
	size_t i = u->row_hint, n = u->lines.rows.n;

	if (i && v[i - 1].address > address)
		i = search_row(&u->lines, 0, address);
	else if (i < n && v[i].address <= address && ++i < n && v[i].address <= address)
		i = search_row(&u->lines, i, address);
	u->row_hint = i;
	if (i < n && v[i].address < *end)
		*end = v[i].address;
	return i && v[i - 1].file != DW_NO_FILE ? &v[i - 1] : NULL;
}

static void dwarf_build(struct dwarf_unit *u)
{
	u->built = true;
	if (dw_lines_read(u->dw, &u->lines))
		u->lines = (struct dw_lines){.unit = u->dw};
	u->files = mem_zalloc((u->lines.files.n + 1) * sizeof(*u->files));
	dwarf_unit_walk(u);
}

bool dwarf_find(struct dwarf_info *d, uint64_t address, struct dwarf_place *ret)
{
	uint64_t next = UINT64_MAX;
	const struct symbol_range *in = ranges_find_from(&d->ranges, &d->hint, address, &next), *at;
	struct dwarf_unit *u;

	*ret = (struct dwarf_place){.node = DWARF_NO_NODE, .end = next};
	if (!in)
		return false;
	u = &d->units.v[in->id];
	if (!u->built)
		dwarf_build(u);
	ret->unit = u;
	ret->end = in->end;
	at = ranges_find_from(&u->ranges, &u->hint, address, &next);
	if (at) {
		ret->node = at->id;
		next = at->end;
	}
	if (next < ret->end)
		ret->end = next;
	ret->row = find_row(u, address, &ret->end);
	return true;
}
