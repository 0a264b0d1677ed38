/* SPDX-License-Identifier: MIT */
/*
 * Makes small ELF files in memory, so that a test can say what is in them and what is wrong with
 * them. The text segment lies at file offset TINY_TEXT and at address TINY_VADDR: the two differ,
 * as they do in every file that lld makes.
 */
#ifndef THAW_TEST_TINY_H
#define THAW_TEST_TINY_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TINY_TEXT 0x400
#define TINY_VADDR 0x203400
#define TINY_TEXT_SIZE 0x400
#define TINY_SYMS_MAX 64

struct tiny_sym {
	const char *name;
	uint64_t at, size; /* at: from the start of the text */
	int type, bind;
};

struct tiny {
	uint8_t bytes[8192];
	size_t len;
	Elf64_Ehdr *eh;
	Elf64_Phdr *ph; /* text, note */
	Elf64_Shdr *sh; /* null, .text, .note.gnu.build-id, .symtab, .strtab, .shstrtab */
	uint8_t *note;
};

enum { TINY_SH_TEXT = 1, TINY_SH_NOTE, TINY_SH_SYMTAB, TINY_SH_STRTAB, TINY_SH_NAMES, TINY_SHNUM };

static const uint8_t tiny_id[20] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6,
				    7,	  8,	9,    10,   0, 0, 0, 0, 0, 0x42};

static inline void *tiny_take(struct tiny *t, size_t n)
{
	void *p = t->bytes + t->len;

	t->len += (n + 7) & ~(size_t)7;
	if (t->len > sizeof(t->bytes))
		abort();
	return p;
}

static inline void tiny_section(struct tiny *t, int i, uint32_t name, uint32_t type, void *at,
				uint64_t size)
{
	t->sh[i].sh_name = name;
	t->sh[i].sh_type = type;
	t->sh[i].sh_offset = (uint64_t)((uint8_t *)at - t->bytes);
	t->sh[i].sh_size = size;
}

static inline void tiny_head(struct tiny *t)
{
	t->eh = tiny_take(t, sizeof(*t->eh));
	memcpy(t->eh->e_ident, ELFMAG, SELFMAG);
	t->eh->e_ident[EI_CLASS] = ELFCLASS64;
	t->eh->e_ident[EI_DATA] = ELFDATA2LSB;
	t->eh->e_ident[EI_VERSION] = EV_CURRENT;
	t->eh->e_type = ET_DYN;
	t->eh->e_machine = EM_X86_64;
	t->eh->e_ehsize = sizeof(*t->eh);
	t->eh->e_phoff = sizeof(*t->eh);
	t->eh->e_phentsize = sizeof(*t->ph);
	t->eh->e_phnum = 2;
	t->ph = tiny_take(t, 2 * sizeof(*t->ph));
	t->ph[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = TINY_TEXT,
				.p_vaddr = TINY_VADDR,
				.p_filesz = TINY_TEXT_SIZE,
				.p_memsz = TINY_TEXT_SIZE};
	t->note = tiny_take(t, 36);
	memcpy(t->note, "\4\0\0\0\24\0\0\0\3\0\0\0GNU", 16);
	memcpy(t->note + 16, tiny_id, sizeof(tiny_id));
	t->ph[1] = (Elf64_Phdr){.p_type = PT_NOTE,
				.p_offset = (uint64_t)(t->note - t->bytes),
				.p_filesz = 36,
				.p_memsz = 36,
				.p_align = 4};
	t->len = TINY_TEXT + TINY_TEXT_SIZE;
}

static inline void tiny_make(struct tiny *t, const struct tiny_sym *syms, size_t n)
{
	static const char names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab";
	Elf64_Sym *table;
	char *strings, *shstr;
	uint32_t at = 1;

	memset(t, 0, sizeof(*t));
	tiny_head(t);
	table = tiny_take(t, (n + 1) * sizeof(*table));
	strings = tiny_take(t, 2048);
	for (size_t i = 0; i < n; i++) {
		table[i + 1] = (Elf64_Sym){
			.st_name = at,
			.st_info = ELF64_ST_INFO(syms[i].bind, syms[i].type),
			.st_shndx = TINY_SH_TEXT,
			.st_value = TINY_VADDR + syms[i].at,
			.st_size = syms[i].size,
		};
		strcpy(strings + at, syms[i].name);
		at += (uint32_t)strlen(syms[i].name) + 1;
	}
	shstr = tiny_take(t, sizeof(names));
	memcpy(shstr, names, sizeof(names));
	t->eh->e_shoff = t->len;
	t->eh->e_shentsize = sizeof(*t->sh);
	t->eh->e_shnum = TINY_SHNUM;
	t->eh->e_shstrndx = TINY_SH_NAMES;
	t->sh = tiny_take(t, TINY_SHNUM * sizeof(*t->sh));
	tiny_section(t, TINY_SH_TEXT, 1, SHT_PROGBITS, t->bytes + TINY_TEXT, TINY_TEXT_SIZE);
	t->sh[TINY_SH_TEXT].sh_addr = TINY_VADDR;
	t->sh[TINY_SH_TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	tiny_section(t, TINY_SH_NOTE, 7, SHT_NOTE, t->note, 36);
	tiny_section(t, TINY_SH_SYMTAB, 26, SHT_SYMTAB, table, (n + 1) * sizeof(*table));
	t->sh[TINY_SH_SYMTAB].sh_link = TINY_SH_STRTAB;
	t->sh[TINY_SH_SYMTAB].sh_entsize = sizeof(*table);
	tiny_section(t, TINY_SH_STRTAB, 34, SHT_STRTAB, strings, at);
	tiny_section(t, TINY_SH_NAMES, 42, SHT_STRTAB, shstr, sizeof(names));
}

#endif
