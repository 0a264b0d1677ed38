/* SPDX-License-Identifier: MIT */
/*
 * Debug information, DWARF 2 to 5 of x86-64, in bytes that may be hostile.
 *
 *   file   the sections of one ELF file, unpacked when they are first needed, and its units
 *   unit   what one compilation made: a tree of DIEs, in .debug_info in the order of the tree
 *   die    a function, a variable, a type: a place in a unit, and the shape of what stands there
 *   walk   the DIEs of a unit one after the other; those that nobody wants cost a few bytes each
 *   lines  one unit's line table, run and sorted
 *
 * Nothing here recurses, and a reference is followed one step at a time, on request. Reads go
 * through cursors. What a file may cost is bounded by its size: every piece of work is paid from an
 * account (dw_spend) in proportion to the bytes of its debug sections, which runs out if these
 * bytes refer to each other a million times. A file whose account is empty gives no more answers,
 * and dw_exhausted() says so.
 *
 * Not read: split DWARF (the skeletons in the file are), segments, VLIW, addresses other than of 8
 * bytes. Not thread-safe.
 */
#ifndef THAW_ELF_DWARF_H
#define THAW_ELF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/elf.h"

#define DW_UNITS_MAX (1u << 20)
#define DW_UNPACKED_MAX (1ull << 30)

enum dw_section {
	DW_INFO,
	DW_TYPES,
	DW_ABBREV,
	DW_STR,
	DW_STR_OFFSETS,
	DW_ADDR,
	DW_RANGES,
	DW_RNGLISTS,
	DW_LINE,
	DW_LINE_STR,
	DW_SECTIONS,
};

struct dw_bytes {
	const uint8_t *p;
	size_t len;
	struct buf own; /* if they had to be copied or unpacked */
	bool looked;
};

/* The shape of a DIE: its tag and what attributes follow, in which forms. */
struct dw_abbrev {
	uint32_t code;
	uint32_t specs; /* where in .debug_abbrev its attributes are listed */
	uint32_t ops;	/* how to get past them; see dwarf_abbrev.c */
	uint16_t fixed; /* how many bytes they are, if always the same; else DW_NOT_FIXED */
	uint16_t n_specs;
	uint16_t tag;
	uint8_t flags;
	bool children;
};

#define DW_NOT_FIXED UINT16_MAX

enum dw_abbrev_flags {
	DW_HAS_CODE = 1,     /* a function, or one that is inlined, with an address */
	DW_HAS_DATA = 2,     /* a variable that has a place */
	DW_IS_SCOPE = 4,     /* what is below it is to be walked */
	DW_IS_TYPE = 8,	     /* the same, where types have functions in them */
	DW_SIBLING_LAST = 16 /* its last four bytes say where its children end */
};

struct dw_abbrevs {
	struct cursor rest; /* not read yet: a table is read as far as it is asked */
	uint8_t offset_size;
	bool version_2;
	VEC(struct dw_abbrev) v;
	VEC(uint16_t) ops;
	struct map sparse; /* code -> index + 1, for those that are not 1, 2, 3, ... */
};

struct dw_file;

struct dw_attr {
	uint16_t name;
	uint16_t form;	  /* 0: there is none */
	uint64_t u;	  /* a number, an offset, an index, as it stands there */
	const uint8_t *p; /* a block or a string in place */
	size_t len;
};

struct dw_unit {
	struct dw_file *file;
	struct dw_abbrevs *abbrevs;
	uint64_t begin, first, end; /* in its section: the header, the first DIE, the end */
	uint64_t abbrev_offset;
	uint64_t signature, type_offset; /* of a type unit */
	uint64_t low_pc, str_offsets_base, addr_base, rnglists_base;
	struct dw_attr low, high, ranges, stmt_list, comp_dir; /* of its first DIE */
	uint16_t version;
	uint16_t tag; /* of its first DIE; 0: not known, or damaged */
	uint8_t section;
	uint8_t type; /* DW_UT_* */
	uint8_t offset_size;
	bool c_like; /* its language has no functions inside of types */
	bool opened;
};

typedef VEC(struct dw_unit) dw_units;

struct dw_file {
	const struct elf *elf;
	struct dw_file *alt; /* what several debug files share (dwz), or NULL; not owned */
	struct dw_bytes sections[DW_SECTIONS];
	dw_units units; /* of .debug_info, in their order */
	dw_units types; /* of .debug_types, if anybody asked */
	bool types_known;
	struct map signatures; /* of a type unit -> index + 1 into units, or types with bit 32 */
	struct map abbrevs_at;
	VEC(struct dw_abbrevs *) tables;
	struct dw_file *payer; /* whose account pays: for a shared file, its user's */
	uint64_t account;
	bool exhausted;
};

/*
 * The elf must outlive the file. If its bytes are in memory, they are used in place. alt: opened
 * before, for this file alone, and closed after it.
 */
int dw_open(const struct elf *e, struct dw_file *alt, struct dw_file **ret);
void dw_close(struct dw_file *f);
/* False, now and later, if the work would be more than the file's size explains. */
bool dw_spend(struct dw_file *f, uint64_t work);
bool dw_exhausted(const struct dw_file *f);
/* A section's bytes; an empty cursor if there are none. */
struct cursor dw_section(struct dw_file *f, enum dw_section s);

/* Reads the unit's first DIE; false if it is damaged. */
bool dw_unit_open(struct dw_unit *u);
/* The unit that holds an offset of .debug_info, or NULL. */
struct dw_unit *dw_unit_at(struct dw_file *f, uint64_t offset);
/* The type unit of that signature, or NULL. */
struct dw_unit *dw_unit_of_type(struct dw_file *f, uint64_t signature);

struct dw_die {
	struct dw_unit *unit;
	uint64_t offset; /* in the unit's section */
	uint64_t attrs;	 /* where its attributes begin */
	uint64_t next;	 /* where they end: its children, or what follows it */
	uint32_t depth;	 /* in a walk */
	uint32_t low;	 /* the lowest depth since the DIE before: what was open there has ended */
	struct dw_abbrev abbrev;
};

bool dw_die_at(struct dw_unit *u, uint64_t offset, struct dw_die *ret);

struct dw_attrs {
	const struct dw_die *die;
	struct cursor c, specs;
	uint32_t left;
};

struct dw_attrs dw_attrs(const struct dw_die *die);
bool dw_attr_next(struct dw_attrs *a, struct dw_attr *ret);
/* form 0 if it has no such attribute. */
struct dw_attr dw_attr_of(const struct dw_die *die, uint16_t name);

/* What a value means. False, or NULL, if it is of another kind, or leads out of the file. */
bool dw_address(struct dw_unit *u, const struct dw_attr *a, uint64_t *ret);
bool dw_number(const struct dw_attr *a, uint64_t *ret);
bool dw_is_number(const struct dw_attr *a);
bool dw_is_block(const struct dw_attr *a);
const char *dw_string(struct dw_unit *u, const struct dw_attr *a);
bool dw_follow(struct dw_unit *u, const struct dw_attr *a, struct dw_die *ret);
/* The number of an address in .debug_addr. */
bool dw_address_number(struct dw_unit *u, uint64_t index, uint64_t *ret);

/*
 * The attribute of the DIE, or of the one that it is an instance or the definition of. ret_unit is
 * the unit that the value belongs to.
 */
struct dw_attr dw_attr_integrate(const struct dw_die *die, uint16_t name,
				 struct dw_unit **ret_unit);
/* The name in the source, and the linker's if it has one; NULL for none. */
void dw_die_names(const struct dw_die *die, const char **ret_name, const char **ret_linkage);

/* Pieces of code: [low, high), or a list. */
struct dw_ranges {
	struct dw_unit *unit;
	struct cursor c;
	uint64_t base, begin, end;
	enum { DW_RANGES_END, DW_RANGES_ONE, DW_RANGES_LIST, DW_RANGES_RNGLIST } kind;
};

void dw_ranges_init(struct dw_ranges *r, struct dw_unit *u, const struct dw_attr *low,
		    const struct dw_attr *high, const struct dw_attr *list);
bool dw_ranges_next(struct dw_ranges *r, uint64_t *ret_begin, uint64_t *ret_end);

struct dw_walk {
	struct dw_unit *unit;
	struct cursor c;
	uint32_t depth;
	uint8_t want;
};

/* want: DW_HAS_CODE, DW_HAS_DATA. The unit must have been opened. */
void dw_walk_init(struct dw_walk *w, struct dw_unit *u, uint8_t want);
/* The next wanted DIE, in the order of the tree. */
bool dw_walk_next(struct dw_walk *w, struct dw_die *ret);

/* The members of a type, the dimensions of an array: the children of a DIE, without theirs. */
void dw_children_init(struct dw_walk *w, const struct dw_die *die);
bool dw_children_next(struct dw_walk *w, struct dw_die *ret);

#define DW_NO_FILE UINT32_MAX

struct dw_row {
	uint64_t address;
	uint32_t file; /* index into files; DW_NO_FILE: no line from here on */
	uint32_t line;
};

typedef VEC(struct dw_row) dw_rows;

struct dw_lines {
	struct dw_unit *unit;
	VEC(struct dw_attr) dirs; /* strings; see dw_string() */
	VEC(struct {
		struct dw_attr name;
		uint64_t dir;
	})
	files;
	uint32_t first_file; /* the number that files.v[0] has in the unit: 0 or 1 */
	uint16_t version;
	dw_rows rows; /* ascending, no two at one address */
};

/* -ENODATA if the unit has no lines. */
int dw_lines_read(struct dw_unit *u, struct dw_lines *ret);
void dw_lines_done(struct dw_lines *l);
/* The index of the file with this number, or DW_NO_FILE. */
uint32_t dw_lines_file(const struct dw_lines *l, uint64_t number);
/* A file's path, absolute if the unit says where it was made. False: it has no name. */
bool dw_lines_path(const struct dw_lines *l, uint32_t index, char *out, size_t room);

#endif
