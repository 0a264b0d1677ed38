/* SPDX-License-Identifier: MIT */
/* An ELF file made by hand: one segment of code, and sections. */
#ifndef THAW_TEST_UNIT_UNWIND_MADE_ELF_H
#define THAW_TEST_UNIT_UNWIND_MADE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define MADE_TEXT 0x1000 /* where its code is in the file */
#define MADE_SECTIONS 4

/* Without bytes there is no such section, unless it is the code itself. */
struct made_section {
	const char *name;
	const struct buf *bytes;
	bool text;
};

struct made_elf {
	uint16_t type;
	uint64_t entry;
	uint64_t address; /* of the code */
	const uint8_t *text;
	size_t text_size;
	struct made_section sections[MADE_SECTIONS];
};

static inline struct buf made_elf(const struct made_elf *m)
{
	Elf64_Ehdr eh = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = m->type,
		.e_machine = EM_X86_64,
		.e_entry = m->entry,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = MADE_SECTIONS + 2,
		.e_shstrndx = MADE_SECTIONS + 1,
	};
	Elf64_Phdr ph = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = MADE_TEXT,
			 .p_vaddr = m->address,
			 .p_filesz = m->text_size,
			 .p_memsz = m->text_size};
	Elf64_Shdr sh[MADE_SECTIONS + 2] = {{0}};
	struct buf f = {0}, names = {0};

	buf_reserve(&f, MADE_TEXT + m->text_size);
	memset(f.p, 0, MADE_TEXT);
	f.len = MADE_TEXT;
	buf_put(&f, m->text, m->text_size);
	buf_put(&names, "", 1);
	for (size_t i = 0; i < MADE_SECTIONS; i++) {
		const struct made_section *s = &m->sections[i];

		if (!s->text && (!s->bytes || !s->bytes->len))
			continue;
		sh[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.len,
					 .sh_type = SHT_PROGBITS,
					 .sh_addr = s->text ? m->address : 0x800000,
					 .sh_offset = s->text ? MADE_TEXT : f.len,
					 .sh_size = s->text ? m->text_size : s->bytes->len};
		buf_put(&names, s->name, strlen(s->name) + 1);
		if (!s->text)
			buf_put(&f, s->bytes->p, s->bytes->len);
	}
	sh[MADE_SECTIONS + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.len,
					     .sh_type = SHT_STRTAB,
					     .sh_offset = f.len,
					     .sh_size = names.len + sizeof(".shstrtab")};
	buf_put(&names, ".shstrtab", sizeof(".shstrtab"));
	buf_put(&f, names.p, names.len);
	eh.e_shoff = f.len;
	buf_put(&f, sh, sizeof(sh));
	memcpy(f.p, &eh, sizeof(eh));
	memcpy(f.p + sizeof(eh), &ph, sizeof(ph));
	buf_done(&names);
	return f;
}

#endif
