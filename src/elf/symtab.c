// SPDX-License-Identifier: MIT
/*
 * The walk over .symtab or .dynsym. The table is read in windows of a fixed size: a large one costs
 * time in proportion, and no memory. The names are kept as one piece, so that names that share
 * their tails (linkers do that, and a hostile file may do it a million times) are never multiplied.
 */
#include "elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"

#define WINDOW_SYMBOLS 8192u

int elf_symtab_open(const struct elf *e, uint32_t type, struct elf_symtab *ret)
{
	const struct elf_section *s = elf_section_of_type(e, type), *strings;
	struct elf_symtab t = {.elf = e};
	int rc;

	if (!s || s->size < sizeof(Elf64_Sym))
		return err_set(-ENODATA, "no symbol table");
	if (s->entsize != sizeof(Elf64_Sym) || s->link >= e->n_sections)
		return err_set(-EBADMSG, "damaged ELF: a symbol table with entries of %llu bytes",
			       (unsigned long long)s->entsize);
	t.left = s->size / sizeof(Elf64_Sym);
	t.offset = s->offset;
	if (t.left > ELF_SYMBOLS_MAX)
		return err_set(-EFBIG, "%llu symbols are too many", (unsigned long long)t.left);
	strings = &e->sections[s->link];
	if (strings->type != SHT_STRTAB)
		return err_set(-EBADMSG, "damaged ELF: a symbol table without names");
	rc = elf_read_section(e, strings, &t.strings);
	if (rc)
		return err_add(rc, "symbol names");
	*ret = t;
	return 0;
}

static bool next_window(struct elf_symtab *t)
{
	uint64_t n = t->left < WINDOW_SYMBOLS ? t->left : WINDOW_SYMBOLS;

	if (!n || t->rc)
		return false;
	buf_done(&t->window);
	t->rc = elf_read(t->elf, t->offset, n * sizeof(Elf64_Sym), ELF_PIECE_MAX, &t->window);
	if (t->rc)
		return false;
	t->cur = cur_init(t->window.p, t->window.len);
	t->left -= n;
	t->offset += n * sizeof(Elf64_Sym);
	return true;
}

bool elf_symtab_next(struct elf_symtab *t, struct elf_symbol *ret)
{
	Elf64_Sym s;

	if (cur_end(&t->cur) && !next_window(t))
		return false;
	cur_copy(&t->cur, &s, sizeof(s));
	*ret = (struct elf_symbol){
		/* A name out of range is the empty name: the zero after the end. */
		.name = s.st_name < t->strings.len ? s.st_name : (uint32_t)t->strings.len,
		.type = ELF64_ST_TYPE(s.st_info),
		.bind = ELF64_ST_BIND(s.st_info),
		.section = s.st_shndx,
		.value = s.st_value,
		.size = s.st_size,
	};
	return true;
}

void elf_symtab_done(struct elf_symtab *t)
{
	buf_done(&t->strings);
	buf_done(&t->window);
}
