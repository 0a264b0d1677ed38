// SPDX-License-Identifier: MIT
/*
 * Line tables. A header lists directories and files; a program after it makes rows: from this
 * address on, this file and line. Rows come in sequences, ascending within, and a sequence ends
 * with a row that says so. Here sequences are put in order, and rows become one ascending list in
 * which each address occurs once.
 *
 * A table that units share is read anew for each, which pays for its bytes.
 */
#include "elf/dwarf_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/sort.h"

#define ROWS_MAX (64u << 20)
#define FORMATS_MAX 16u

struct header {
	uint8_t offset_size;
	uint8_t min_step, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *lengths; /* of the standard opcodes' operands */
	struct cursor program;
};

struct sequence {
	uint64_t begin, end;
	size_t first, n;
};

struct line_run {
	struct dw_lines *l;
	const struct header *h;
	uint64_t address;
	uint32_t file, line;
	dw_rows rows; /* of all sequences, in the order of the program */
	VEC(struct sequence) sequences;
	size_t first;	/* row of the sequence */
	bool ascending; /* so far, within all sequences */
};

/* ---- the header ---- */

static struct dw_attr string_here(struct cursor *c)
{
	struct dw_attr a = {.form = 0};

	dw_read_form(c, DW_FORM_string, 4, false, &a);
	return a;
}

static void add_file(struct dw_lines *l, struct dw_attr name, uint64_t dir)
{
	vec_reserve(&l->files, l->files.n + 1);
	l->files.v[l->files.n].name = name;
	l->files.v[l->files.n++].dir = dir;
}

static void one_file(struct dw_lines *l, struct cursor *c, struct dw_attr name)
{
	uint64_t dir = cur_varint(c);

	(void)cur_varint(c); /* when it was changed */
	(void)cur_varint(c); /* its size */
	add_file(l, name, dir);
}

/* Versions 2 to 4: strings, up to an empty one. Directory 0 is where the compiler ran. */
static void read_lists(struct dw_lines *l, struct cursor *c)
{
	struct dw_attr a;

	vec_push(&l->dirs, l->unit->comp_dir);
	while (cur_ok(c)) {
		a = string_here(c);
		if (a.len <= 1)
			break;
		vec_push(&l->dirs, a);
	}
	while (cur_ok(c)) {
		a = string_here(c);
		if (a.len <= 1)
			break;
		one_file(l, c, a);
	}
	l->first_file = 1;
}

/* Version 5: what each entry has and in which form stands before them. */
static void read_table(struct dw_lines *l, struct cursor *c, const struct header *h, bool files)
{
	struct dw_attr format[FORMATS_MAX];
	unsigned formats = cur_u8(c);
	uint64_t n;

	for (unsigned i = 0; i < formats; i++) {
		uint64_t name = cur_varint(c), form = cur_varint(c);
		struct dw_attr f = {.name = (uint16_t)name, .form = (uint16_t)form};

		if (i < FORMATS_MAX)
			format[i] = f;
	}
	n = cur_varint(c);
	if (!formats || formats > FORMATS_MAX || n > cur_left(c)) {
		c->bad |= n > 0;
		return;
	}
	for (uint64_t k = 0; k < n && cur_ok(c); k++) {
		struct dw_attr name = {.form = 0}, v = {.form = 0};
		uint64_t dir = 0;

		for (unsigned i = 0; i < formats; i++) {
			dw_read_form(c, format[i].form, h->offset_size, false, &v);
			if (format[i].name == DW_LNCT_path)
				name = v;
			else if (format[i].name == DW_LNCT_directory_index)
				dir = v.u;
		}
		if (files)
			add_file(l, name, dir);
		else
			vec_push(&l->dirs, name);
	}
}

static bool read_header(struct dw_lines *l, struct header *h)
{
	struct dw_unit *u = l->unit;
	struct cursor all = dw_section(u->file, DW_LINE), c;
	uint64_t length, header;

	cur_seek(&all, (size_t)u->stmt_list.u);
	length = dw_length(&all, &h->offset_size);
	if (length > cur_left(&all) || !dw_spend(u->file, length + 64))
		return false;
	c = cur_take(&all, (size_t)length);
	l->version = cur_u16(&c);
	if (l->version < 2 || l->version > 5)
		return false;
	if (l->version == 5)
		cur_skip(&c, 2); /* sizes of addresses and segments */
	header = dw_uint(&c, h->offset_size);
	if (header > cur_left(&c))
		return false;
	h->program = c;
	cur_skip(&h->program, (size_t)header);
	h->min_step = cur_u8(&c);
	if (l->version >= 4)
		cur_skip(&c, 1); /* operations an instruction: one, here */
	cur_skip(&c, 1);	 /* is_stmt */
	h->line_base = (int8_t)cur_u8(&c);
	h->line_range = cur_u8(&c);
	h->opcode_base = cur_u8(&c);
	h->lengths = h->opcode_base ? cur_bytes(&c, h->opcode_base - 1u) : NULL;
	if (l->version == 5) {
		read_table(l, &c, h, false);
		read_table(l, &c, h, true);
	} else {
		read_lists(l, &c);
	}
	return h->lengths && h->line_range && cur_ok(&c) && cur_ok(&h->program);
}

/* ---- the program ---- */

/*
 * Of several rows at one address the last one counts; a mark that a sequence ended there does not,
 * if another one begins at the same place. Compilers repeat rows for columns and breakpoints.
 */
static void dwarf_lines_keep(dw_rows *to, size_t first, struct dw_row row)
{
	struct dw_row *last = to->n > first ? &to->v[to->n - 1] : NULL;

	if (last && last->address == row.address) {
		if (row.file != DW_NO_FILE)
			*last = row;
		return;
	}
	if (last && last->file == row.file && last->line == row.line)
		return;
	vec_push(to, row);
}

static void lines_add_row(struct line_run *r, uint32_t file, uint32_t line)
{
	dw_rows *to = &r->rows;

	if (to->n >= ROWS_MAX)
		return;
	r->ascending &= to->n == r->first || to->v[to->n - 1].address <= r->address;
	dwarf_lines_keep(to, r->first, (struct dw_row){r->address, file, line});
}

static void begin_sequence(struct line_run *r)
{
	r->first = r->rows.n;
	r->address = 0;
	r->file = dw_lines_file(r->l, 1);
	r->line = 1;
}

/* What the linker threw away begins at 0. */
static void end_sequence(struct line_run *r)
{
	struct sequence s = {.end = r->address, .first = r->first};

	lines_add_row(r, DW_NO_FILE, 0);
	s.n = r->rows.n - r->first;
	s.begin = s.n ? r->rows.v[r->first].address : 0;
	if (s.begin)
		vec_push(&r->sequences, s);
	else
		r->rows.n = r->first;
	begin_sequence(r);
}

static void dwarf_lines_extended(struct line_run *r, struct cursor *c)
{
	uint64_t len = cur_varint(c);
	struct cursor in = cur_take(c, (size_t)len);
	struct dw_attr name;

	switch (cur_u8(&in)) {
	case DW_LNE_end_sequence:
		end_sequence(r);
		break;
	case DW_LNE_set_address:
		r->address = cur_left(&in) == 4 ? cur_u32(&in) : cur_u64(&in);
		break;
	case DW_LNE_define_file:
		name = string_here(&in);
		one_file(r->l, &in, name);
		break;
	}
}

static void standard(struct line_run *r, struct cursor *c, uint8_t op)
{
	const struct header *h = r->h;

	switch (op) {
	case DW_LNS_extended:
		dwarf_lines_extended(r, c);
		break;
	case DW_LNS_copy:
		lines_add_row(r, r->file, r->line);
		break;
	case DW_LNS_advance_pc:
		r->address += h->min_step * cur_varint(c);
		break;
	case DW_LNS_advance_line:
		r->line += (uint32_t)dw_sleb(c);
		break;
	case DW_LNS_set_file:
		r->file = dw_lines_file(r->l, cur_varint(c));
		break;
	case DW_LNS_const_add_pc:
		r->address += (uint64_t)h->min_step * ((255u - h->opcode_base) / h->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		r->address += cur_u16(c);
		break;
	default:
		for (unsigned i = h->lengths[op - 1]; i > 0; i--)
			(void)cur_varint(c);
	}
}

static void run_program(struct line_run *r)
{
	const struct header *h = r->h;
	struct cursor c = h->program;

	r->ascending = true;
	begin_sequence(r);
	while (!cur_end(&c)) {
		uint8_t op = cur_u8(&c), adjusted;

		if (op < h->opcode_base) {
			standard(r, &c, op);
			continue;
		}
		adjusted = op - h->opcode_base;
		r->address += (uint64_t)h->min_step * (adjusted / h->line_range);
		r->line += (uint32_t)(h->line_base + adjusted % h->line_range);
		lines_add_row(r, r->file, r->line);
	}
	/* Drop a sequence that has no end mark. */
	r->rows.n = r->first;
}

/* ---- in order ---- */

static int by_begin(const void *va, const void *vb)
{
	const struct sequence *a = va, *b = vb;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static bool disjoint(const struct line_run *r)
{
	for (size_t i = 1; i < r->sequences.n; i++)
		if (r->sequences.v[i].begin < r->sequences.v[i - 1].end)
			return false;
	return r->ascending;
}

struct numbered {
	struct dw_row row;
	size_t order;
};

static int by_address(const void *va, const void *vb)
{
	const struct numbered *a = va, *b = vb;

	if (a->row.address != b->row.address)
		return a->row.address < b->row.address ? -1 : 1;
	if ((a->row.file == DW_NO_FILE) != (b->row.file == DW_NO_FILE))
		return a->row.file == DW_NO_FILE ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Sequences overlap: sort the rows themselves. */
static void dwarf_lines_merge(struct line_run *r, dw_rows *to)
{
	struct numbered *v = mem_alloc((r->rows.n + 1) * sizeof(*v));

	for (size_t i = 0; i < r->rows.n; i++)
		v[i] = (struct numbered){r->rows.v[i], i};
	sort_by(v, r->rows.n, sizeof(*v), by_address);
	for (size_t i = 0; i < r->rows.n; i++)
		dwarf_lines_keep(to, 0, v[i].row);
	free(v);
}

static void put_in_order(struct line_run *r, dw_rows *to)
{
	/* The usual case in C. */
	if (r->sequences.n == 1 && r->ascending) {
		*to = r->rows;
		r->rows = (dw_rows){.n = 0};
		return;
	}
	sort_by(r->sequences.v, r->sequences.n, sizeof(*r->sequences.v), by_begin);
	if (!disjoint(r)) {
		dwarf_lines_merge(r, to);
		return;
	}
	vec_reserve(to, r->rows.n);
	for (size_t i = 0; i < r->sequences.n; i++)
		for (size_t k = 0; k < r->sequences.v[i].n; k++)
			dwarf_lines_keep(to, 0, r->rows.v[r->sequences.v[i].first + k]);
}

int dw_lines_read(struct dw_unit *u, struct dw_lines *ret)
{
	struct header h;
	struct line_run r = {.l = ret, .h = &h};

	*ret = (struct dw_lines){.unit = u};
	if (!u->stmt_list.form || !read_header(ret, &h)) {
		dw_lines_done(ret);
		return err_set(-ENODATA, "no lines");
	}
	run_program(&r);
	put_in_order(&r, &ret->rows);
	vec_done(&r.rows);
	vec_done(&r.sequences);
	return 0;
}

void dw_lines_done(struct dw_lines *l)
{
	vec_done(&l->dirs);
	vec_done(&l->files);
	vec_done(&l->rows);
}

uint32_t dw_lines_file(const struct dw_lines *l, uint64_t number)
{
	uint64_t index = number - l->first_file;

	return index < l->files.n ? (uint32_t)index : DW_NO_FILE;
}

/* Relative to its directory, which is relative to the one where the compiler ran. */
bool dw_lines_path(const struct dw_lines *l, uint32_t index, char *out, size_t room)
{
	const char *name = index < l->files.n ? dw_string(l->unit, &l->files.v[index].name) : NULL;
	const char *dir = NULL, *root = NULL;
	uint64_t in;

	if (!name || !*name)
		return false;
	in = l->files.v[index].dir;
	if (*name != '/')
		dir = in < l->dirs.n ? dw_string(l->unit, &l->dirs.v[in]) : NULL;
	if (*name != '/' && (!dir || *dir != '/'))
		root = dw_string(l->unit, &l->unit->comp_dir);
	if (!root || *root != '/') {
		snprintf(out, room, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
		return true;
	}
	/* The same file is called in several ways: ./x.c, x.c in ".". */
	while (dir && !strncmp(dir, "./", 2))
		dir += 2;
	if (dir && (!*dir || !strcmp(dir, ".")))
		dir = NULL;
	while (!dir && !strncmp(name, "./", 2))
		name += 2;
	snprintf(out, room, "%s/%s%s%s", root, dir ? dir : "", dir ? "/" : "", name);
	return true;
}
