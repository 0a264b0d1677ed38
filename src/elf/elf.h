/* SPDX-License-Identifier: MIT */
/*
 * A bounded reader of ELF files that may be hostile: 64-bit little-endian x86-64 only. Nobody else
 * in thaw parses binaries.
 *
 * The file is read piece by piece, from memory or with pread(): never through a mapping, because
 * its owner may truncate it under us, and a mapping would then raise SIGBUS. Every count and size
 * in the file is checked against the file's size and against a limit of ours before anything is
 * allocated or looped over, so that the worst file costs what these limits cost and no more:
 *
 *   program headers ELF_SEGMENTS_MAX, section headers ELF_SECTIONS_MAX,
 *   symbols ELF_SYMBOLS_MAX, one loaded piece ELF_PIECE_MAX
 *
 * Program headers that cannot be read make a file useless, and elf_open_*() fails. Section headers
 * are optional: without them, or with broken ones, the file opens with n_sections == 0.
 *
 * Nothing promises that segments or sections are disjoint, sorted or sane: users of the arrays must
 * check. What is promised: offset + filesz of a segment and offset + size of a section (unless it
 * is SHT_NOBITS) lie within the file, vaddr + memsz and addr + size do not wrap, and names are
 * terminated strings.
 */
#ifndef THAW_ELF_ELF_H
#define THAW_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

#define ELF_SEGMENTS_MAX 128u
#define ELF_SECTIONS_MAX (1u << 16)
#define ELF_SYMBOLS_MAX (4u << 20)
#define ELF_PIECE_MAX (256u << 20)

struct elf_segment {
	uint32_t type;	/* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t offset, filesz;
	uint64_t vaddr, memsz;
	uint64_t align;
};

struct elf_section {
	const char *name; /* "" if it has none or its name is out of range */
	uint32_t type;	  /* SHT_* */
	uint32_t link;	  /* an index, not checked */
	uint64_t flags;	  /* SHF_* */
	uint64_t addr;
	uint64_t offset, size;
	uint64_t entsize;
};

struct elf {
	const uint8_t *bytes; /* NULL: read from fd */
	int fd;
	uint64_t size;
	uint16_t type; /* ET_* */
	struct elf_segment *segments;
	size_t n_segments;
	struct elf_section *sections;
	size_t n_sections;
	struct buf names;
};

/* The bytes, or the descriptor, must outlive the elf; both stay the caller's. */
int elf_open_bytes(const void *bytes, size_t len, struct elf **ret);
int elf_open_fd(int fd, struct elf **ret);
void elf_free(struct elf *e);

/*
 * A copy of a part of the file, with a zero byte after its end. -EBADMSG outside of the file,
 * -EFBIG above `max` (and ELF_PIECE_MAX). buf_done() frees it.
 */
int elf_read(const struct elf *e, uint64_t offset, uint64_t size, uint64_t max, struct buf *ret);
/* -ENODATA if the section occupies no bytes in the file. */
int elf_read_section(const struct elf *e, const struct elf_section *s, struct buf *ret);

/* The first section of that name, or type; NULL if there is none. */
const struct elf_section *elf_section(const struct elf *e, const char *name);
const struct elf_section *elf_section_of_type(const struct elf *e, uint32_t type);

/* By PT_LOAD; where several cover a place, an executable one answers. False: none does. */
bool elf_offset_to_vaddr(const struct elf *e, uint64_t offset, uint64_t *ret_vaddr);
bool elf_vaddr_to_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset);
/* From the lowest to the highest executable address. False: there is none. */
bool elf_text_range(const struct elf *e, uint64_t *ret_begin, uint64_t *ret_end);

/* Length of the build id, or -ENODATA if there is none, -ENOBUFS if it is longer than `room`. */
int elf_build_id(const struct elf *e, uint8_t *out, size_t room);
/* The same of notes that lie in memory; `align` is 4 or 8. */
int elf_notes_build_id(const struct buf *notes, size_t align, uint8_t *out, size_t room);

struct elf_symbol {
	uint32_t name; /* an offset into `strings`, always within */
	uint8_t type;  /* STT_* */
	uint8_t bind;  /* STB_* */
	uint16_t section;
	uint64_t value;
	uint64_t size;
};

/* A walk over a symbol table; the table is read in windows, its strings at once. */
struct elf_symtab {
	const struct elf *elf;
	struct buf strings; /* names; zero-terminated whatever the file says */
	uint64_t left;	    /* symbols not yet read into the window */
	uint64_t offset;    /* of the next window */
	struct buf window;
	struct cursor cur;
	int rc; /* why the walk ended early: 0, or the error of a read */
};

/* type: SHT_SYMTAB or SHT_DYNSYM. -ENODATA if the file has no such table. */
int elf_symtab_open(const struct elf *e, uint32_t type, struct elf_symtab *ret);
bool elf_symtab_next(struct elf_symtab *t, struct elf_symbol *ret);
void elf_symtab_done(struct elf_symtab *t);

#endif
