// SPDX-License-Identifier: MIT
/*
 * Any bytes as an ELF file with debug information. Whatever comes out must be what dwarf.h
 * promises: ranges sorted and disjoint, rows ascending, an answer that holds up to a place after
 * the address, chains of calls that end, and work in proportion to the file.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/dwarf_numbers.h"
#include "symbol/data_type.h"
#include "symbol/dwarf.h"
#include "symbol/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 64

static void check_ranges(const struct symbol_ranges *r)
{
	for (size_t i = 0; i < r->out.n; i++)
		if (r->out.v[i].begin >= r->out.v[i].end ||
		    (i && r->out.v[i - 1].end > r->out.v[i].begin))
			abort();
}

static void check_place(const struct dwarf_place *p)
{
	struct dwarf_unit *u = p->unit;
	char path[TABLE_NAME_MAX];
	const char *name;
	size_t steps = 0;

	for (size_t i = 1; i < u->lines.rows.n; i++)
		if (u->lines.rows.v[i - 1].address >= u->lines.rows.v[i].address)
			abort();
	if (p->row && dw_lines_path(&u->lines, p->row->file, path, sizeof(path)) && !*path)
		abort();
	for (uint32_t id = p->node; id != DWARF_NO_NODE; id = u->nodes.v[id].parent) {
		if (id >= u->nodes.n || ++steps > u->nodes.n)
			abort();
		name = dwarf_name(u, &u->nodes.v[id]);
		if (name && !memchr(name, 0, TABLE_NAME_MAX) && !strlen(name))
			abort();
		(void)dwarf_name_key(u, &u->nodes.v[id]);
	}
	check_ranges(&u->ranges);
}

static void ask(struct dwarf_info *d, uint64_t address)
{
	struct dwarf_place place;
	bool found = dwarf_find(d, address, &place);

	if (place.end <= address && place.end != UINT64_MAX)
		abort();
	if (found)
		check_place(&place);
}

static void check_variable(const struct dw_die *die)
{
	uint64_t size = data_size(die);
	const char *name, *linkage;

	dw_die_names(die, &name, &linkage);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t offset = i < 2 ? i * 8 : size / i;
		struct data_path p = {.text = "v", .len = 1};

		data_descend(die, offset, &p);
		if (p.len >= sizeof(p.text) || strlen(p.text) != p.len || p.text[0] != 'v')
			abort();
		if (offset < size && p.size && offset - p.begin >= p.size)
			abort();
	}
}

static void check_data(struct dw_file *f)
{
	size_t variables = 0;

	for (size_t i = 0; i < f->units.n; i++) {
		struct dw_walk w;
		struct dw_die die;

		if (!dw_unit_open(&f->units.v[i]))
			continue;
		dw_walk_init(&w, &f->units.v[i], DW_HAS_DATA);
		while (dw_walk_next(&w, &die) && ++variables < ADDRESSES)
			check_variable(&die);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_info *d = NULL;
	struct elf *e;

	if (elf_open_bytes(data, size, &e))
		return 0;
	if (!dwarf_open(e, NULL, &d)) {
		check_ranges(&d->ranges);
		for (size_t i = 0; i < d->ranges.out.n && i < ADDRESSES; i++) {
			ask(d, d->ranges.out.v[i].begin);
			ask(d, d->ranges.out.v[i].end - 1);
			ask(d, d->ranges.out.v[i].begin / 2);
		}
		check_data(d->dw);
	}
	dwarf_close(d);
	elf_free(e);
	return 0;
}
