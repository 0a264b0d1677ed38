// SPDX-License-Identifier: MIT
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define UNITS_MAX (1u << 20)
#define UNIT_RANGES_MAX (1u << 20)

static bool has_ranges(struct dwarf_info *d, Dwarf_Die *die, uint32_t id)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	bool any = false;

	for (unsigned i = 0; i < UNIT_RANGES_MAX; i++) {
		at = dwarf_ranges(die, at, &base, &begin, &end);
		if (at <= 0)
			break;
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
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (d->units.n < UNITS_MAX &&
	       !dwarf_get_units(d->dw, cu, &cu, NULL, &type, &die, NULL)) {
		uint32_t id = (uint32_t)d->units.n;

		/* Partial units and types have no code; that of split units is in another file. */
		if (dwarf_tag(&die) != DW_TAG_compile_unit)
			continue;
		vec_add(&d->units)->die = die;
		if (!has_ranges(d, &die, id))
			ranges_by_walk(d, &d->units.v[id], id);
	}
	ranges_build(&d->ranges);
}

static Elf *elf_of(int fd)
{
	return elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

int dwarf_open(int fd, int alt_fd, struct dwarf_info **ret)
{
	struct dwarf_info *d = mem_zalloc(sizeof(*d));

	elf_version(EV_CURRENT);
	d->elf = elf_of(fd);
	d->dw = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (!d->dw) {
		dwarf_close(d);
		return err_set(-EBADMSG, "no debug information: %s", dwarf_errmsg(-1));
	}
	d->alt_elf = alt_fd >= 0 ? elf_of(alt_fd) : NULL;
	d->alt = d->alt_elf ? dwarf_begin_elf(d->alt_elf, DWARF_C_READ, NULL) : NULL;
	if (d->alt)
		dwarf_setalt(d->dw, d->alt);
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
		vec_done(&d->units.v[i].rows);
		ranges_done(&d->units.v[i].ranges);
	}
	vec_done(&d->units);
	ranges_done(&d->ranges);
	dwarf_end(d->dw);
	dwarf_end(d->alt);
	elf_end(d->elf);
	elf_end(d->alt_elf);
	free(d);
}

/* The last row that begins at or before the address; *end shrinks to where the next one begins. */
static const struct dwarf_row *find_row(const struct dwarf_unit *u, uint64_t address, uint64_t *end)
{
	size_t lo = 0, hi = u->rows.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (u->rows.v[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < u->rows.n && u->rows.v[lo].address < *end)
		*end = u->rows.v[lo].address;
	return lo && u->rows.v[lo - 1].file ? &u->rows.v[lo - 1] : NULL;
}

bool dwarf_find(struct dwarf_info *d, uint64_t address, struct dwarf_place *ret)
{
	uint64_t next = UINT64_MAX;
	const struct range *in = ranges_find(&d->ranges, address, &next), *at;
	struct dwarf_unit *u;

	*ret = (struct dwarf_place){.node = DWARF_NO_NODE, .end = next};
	if (!in)
		return false;
	u = &d->units.v[in->id];
	if (!u->built) {
		dwarf_unit_walk(u);
		dwarf_unit_lines(u);
		u->built = true;
	}
	ret->unit = u;
	ret->end = in->end;
	at = ranges_find(&u->ranges, address, &next);
	if (at) {
		ret->node = at->id;
		next = at->end;
	}
	if (next < ret->end)
		ret->end = next;
	ret->row = find_row(u, address, &ret->end);
	return true;
}
