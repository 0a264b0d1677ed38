// SPDX-License-Identifier: MIT
/* Any bytes as an ELF file: everything that elf/ offers is asked, and what it promises is checked.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void sections(const struct elf *e)
{
	/* Many sections may share the same large bytes: a few are enough to see a wrong read. */
	size_t reads = 0;

	for (size_t i = 0; i < e->n_sections; i++) {
		const struct elf_section *s = &e->sections[i];
		struct buf b;

		PROMISE(strlen(s->name) <= e->names.len);
		PROMISE(s->addr + s->size >= s->addr);
		if (reads++ >= 16 || elf_read_section(e, s, &b))
			continue;
		PROMISE(b.len == s->size && b.p[b.len] == 0);
		PROMISE(!memcmp(b.p, e->bytes + s->offset, b.len));
		buf_done(&b);
	}
	(void)elf_section(e, ".eh_frame");
	(void)elf_section(e, "");
}

static void segments(const struct elf *e)
{
	uint64_t at, back, begin, end;

	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		PROMISE(s->offset <= e->size && s->filesz <= e->size - s->offset);
		PROMISE(s->vaddr + s->memsz >= s->vaddr);
		if (elf_offset_to_vaddr(e, s->offset, &at))
			PROMISE(elf_vaddr_to_offset(e, at, &back));
		(void)elf_vaddr_to_offset(e, s->vaddr + s->memsz, &back);
	}
	if (elf_text_range(e, &begin, &end))
		PROMISE(begin < end);
}

static void symbols(const struct elf *e, uint32_t type)
{
	struct elf_symtab t;
	struct elf_symbol sym;
	uint64_t n = 0;

	if (elf_symtab_open(e, type, &t))
		return;
	while (elf_symtab_next(&t, &sym)) {
		PROMISE(sym.name <= t.strings.len);
		PROMISE(n++ < e->size / 24);
	}
	PROMISE(strlen((char *)t.strings.p) <= t.strings.len);
	elf_symtab_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[32];
	struct elf *e;
	int n;

	if (elf_open_bytes(data, size, &e))
		return 0;
	sections(e);
	segments(e);
	symbols(e, SHT_SYMTAB);
	symbols(e, SHT_DYNSYM);
	n = elf_build_id(e, id, sizeof(id));
	PROMISE(n < 0 || (n > 0 && n <= (int)sizeof(id)));
	PROMISE(elf_build_id(e, id, 1) <= 1);
	elf_free(e);
	return 0;
}
