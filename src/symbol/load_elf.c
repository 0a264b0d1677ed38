// SPDX-License-Identifier: MIT
/*
 * The functions of an ELF file, by their place in the file, or its data, by address. Best first:
 * .symtab of its separate debug file, its own .symtab, .gnu_debugdata with .dynsym, .dynsym.
 * Functions are looked up by file offset (that is what a mapping gives), so addresses are turned
 * into offsets here, once: a symbol belongs to the executable PT_LOAD that holds it, is cut at that
 * segment's end, and is left out if there is none. Data keeps its address: .bss has no place in the
 * file.
 */
#include "symbol/symbol.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/table.h"

/* Functions, and labels of assembler code that are exported or have a size. */
static bool load_elf_wanted(const struct elf *e, const struct elf_symbol *sym)
{
	if (sym->section == SHN_UNDEF || sym->bind > STB_GNU_UNIQUE)
		return false;
	if (sym->type == STT_FUNC || sym->type == STT_GNU_IFUNC)
		return true;
	return sym->type == STT_NOTYPE && (sym->size || sym->bind != STB_LOCAL) &&
	       sym->section < e->n_sections && (e->sections[sym->section].flags & SHF_EXECINSTR);
}

static const struct elf_segment *text_of(const struct elf *e, uint64_t vaddr)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && (s->flags & PF_X) && vaddr >= s->vaddr &&
		    vaddr - s->vaddr < s->filesz)
			return s;
	}
	return NULL;
}

static bool wanted_data(const struct elf_symbol *sym)
{
	return sym->section != SHN_UNDEF && sym->section != SHN_ABS && sym->size &&
	       sym->bind <= STB_GNU_UNIQUE && (sym->type == STT_OBJECT || sym->type == STT_COMMON);
}

static bool in_memory(const struct elf *e, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz)
			return size <= s->memsz - (vaddr - s->vaddr);
	}
	return false;
}

/* The symbols of one or more tables, before they become one. */
struct pile {
	bool data;
	struct buf names;
	VEC(struct table_sym) syms;
};

static void add_data(struct pile *p, uint64_t base, const struct elf *main,
		     const struct elf_symbol *sym)
{
	struct table_sym x = {
		.begin = sym->value,
		.end = sym->value + sym->size,
		.name = (uint32_t)(base + sym->name),
		.is_func = true, /* not just a label */
		.exported = sym->bind != STB_LOCAL,
	};

	if (wanted_data(sym) && in_memory(main, sym->value, sym->size))
		vec_push(&p->syms, x);
}

static void load_elf_add(struct pile *p, uint64_t base, const struct elf *text,
			 const struct elf *from, const struct elf_symbol *sym)
{
	const struct elf_segment *seg =
		load_elf_wanted(from, sym) ? text_of(text, sym->value) : NULL;
	struct table_sym x;
	uint64_t at, size;

	if (!seg)
		return;
	at = sym->value - seg->vaddr;
	size = sym->size < seg->filesz - at ? sym->size : seg->filesz - at;
	x = (struct table_sym){
		.begin = seg->offset + at,
		.end = seg->offset + at + size,
		.name = (uint32_t)(base + sym->name),
		.is_func = sym->type != STT_NOTYPE,
		.exported = sym->bind != STB_LOCAL,
	};
	vec_push(&p->syms, x);
}

/* Addresses are those of `text`, because the segments of a separate debug file mean nothing. */
static int pile_up(struct pile *p, const struct elf *text, const struct elf *from, uint32_t type)
{
	uint64_t base = p->names.len;
	struct elf_symbol sym;
	struct elf_symtab t;
	int rc = elf_symtab_open(from, type, &t);

	if (rc)
		return rc == -ENODATA ? 0 : rc;
	if (base + t.strings.len < UINT32_MAX) {
		while (elf_symtab_next(&t, &sym)) {
			if (p->data)
				add_data(p, base, text, &sym);
			else
				load_elf_add(p, base, text, from, &sym);
		}
		buf_put(&p->names, t.strings.p, t.strings.len);
		buf_put_u8(&p->names, 0);
	}
	rc = t.rc;
	elf_symtab_done(&t);
	return rc;
}

/* A small symbol table that distributions leave in stripped files, compressed: all but .dynsym. */
static void pile_up_debugdata(struct pile *p, const struct elf *e)
{
	struct buf image = {0};
	struct elf *mini = NULL;

	if (!debugdata_unpack(e, &image) && !elf_open_bytes(image.p, image.len, &mini))
		(void)pile_up(p, e, mini, SHT_SYMTAB);
	elf_free(mini);
	buf_done(&image);
}

/* "fclose@@GLIBC_2.2.5": the version is for the linker. Names with a shared tail also share it. */
static void cut_version(struct pile *p, const struct table_sym *sym)
{
	char *name = (char *)p->names.p + sym->name, *at = *name ? strchr(name + 1, '@') : NULL;

	if (at)
		*at = '\0';
}

static int load_elf_load(const struct elf *e, const struct elf *debug, bool data,
			 struct symbols **ret)
{
	struct pile p = {.data = data};
	struct symbols *s;
	int rc = debug ? pile_up(&p, e, debug, SHT_SYMTAB) : 0;

	/* .dynsym only names what a library exports, and is a part of .symtab if there is one. */
	if (!p.syms.n)
		rc = pile_up(&p, e, e, SHT_SYMTAB);
	if (!rc && !p.syms.n) {
		rc = pile_up(&p, e, e, SHT_DYNSYM);
		pile_up_debugdata(&p, e);
	}
	if (!rc) {
		for (size_t i = 0; i < p.syms.n; i++)
			cut_version(&p, &p.syms.v[i]);
		s = table_new(&p.names);
		for (size_t i = 0; i < p.syms.n; i++)
			table_add(s, &p.syms.v[i]);
		table_build(s, TABLE_SIZELESS_MAX);
		*ret = s;
	}
	buf_done(&p.names);
	vec_done(&p.syms);
	return rc;
}

int table_load(const struct elf *e, const struct elf *debug, struct symbols **ret)
{
	return load_elf_load(e, debug, false, ret);
}

int table_load_data(const struct elf *e, const struct elf *debug, struct symbols **ret)
{
	return load_elf_load(e, debug, true, ret);
}

int symbols_load_image(const void *image, size_t len, struct symbols **ret)
{
	struct elf *e;
	int rc = elf_open_bytes(image, len, &e);

	if (rc)
		return rc;
	rc = table_load(e, NULL, ret);
	elf_free(e);
	return rc;
}

int symbols_build_id(int fd, uint8_t *out, size_t room)
{
	struct elf *e = NULL;
	int rc = elf_open_fd(fd, &e);

	rc = rc ? rc : elf_build_id(e, out, room);
	elf_free(e);
	return rc;
}
