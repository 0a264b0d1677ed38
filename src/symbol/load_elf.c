// SPDX-License-Identifier: MIT
/*
 * The functions of an ELF file, by their place in the file. Lookups come as file offsets (that is
 * what a mapping gives), so addresses are turned into offsets here, once: a symbol belongs to the
 * executable PT_LOAD that holds it, is cut at that segment's end, and is left out if there is none.
 */
#include "symbol/symbol.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/table.h"

#define BUILD_ID_ROOM 64

/* Functions; and labels that somebody took the trouble to export or to give a size (assembler). */
static bool wanted(const struct elf *e, const struct elf_symbol *sym)
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

static void add(struct symbols *s, const struct elf *e, const struct elf_symbol *sym)
{
	const struct elf_segment *seg = wanted(e, sym) ? text_of(e, sym->value) : NULL;
	uint64_t at, size;

	if (!seg)
		return;
	at = sym->value - seg->vaddr;
	size = sym->size < seg->filesz - at ? sym->size : seg->filesz - at;
	table_add(s, &(struct table_sym){
			     .begin = seg->offset + at,
			     .end = seg->offset + at + size,
			     .name = sym->name,
			     .is_func = sym->type != STT_NOTYPE,
			     .exported = sym->bind != STB_LOCAL,
		     });
}

static int load_table(const struct elf *e, uint32_t type, struct symbols **ret)
{
	struct elf_symtab t;
	struct elf_symbol sym;
	struct symbols *s;
	int rc = elf_symtab_open(e, type, &t);

	if (rc)
		return rc;
	s = table_new(&t.strings);
	/* table_new() took the strings: what the walk needs of them is their length. */
	t.strings.len = s->names.len;
	while (elf_symtab_next(&t, &sym))
		add(s, e, &sym);
	t.strings.len = 0;
	rc = t.rc;
	elf_symtab_done(&t);
	if (rc) {
		symbols_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* .dynsym only names what a library exports, and is a part of .symtab where there is one. */
static int load(const struct elf *e, struct symbols **ret)
{
	struct symbols *s = NULL;
	int rc = load_table(e, SHT_SYMTAB, &s);

	if (rc && rc != -ENODATA)
		return rc;
	if (!s || !symbols_count(s)) {
		symbols_free(s);
		s = NULL;
		rc = load_table(e, SHT_DYNSYM, &s);
	}
	if (rc && rc != -ENODATA)
		return rc;
	if (!s)
		s = table_new(&(struct buf){0});
	table_build(s, TABLE_SIZELESS_MAX);
	*ret = s;
	return 0;
}

int symbols_load_image(const void *image, size_t len, struct symbols **ret)
{
	struct elf *e;
	int rc = elf_open_bytes(image, len, &e);

	if (rc)
		return rc;
	rc = load(e, ret);
	elf_free(e);
	return rc;
}

static int check_build_id(const struct elf *e, const uint8_t *want, size_t len)
{
	uint8_t have[BUILD_ID_ROOM];
	int n;

	if (!len)
		return 0;
	n = elf_build_id(e, have, sizeof(have));
	if (n != (int)len || memcmp(have, want, len))
		return err_set(-ESTALE, "the file was replaced since: its build id differs");
	return 0;
}

static int load_path(const char *path, uint32_t pid, const uint8_t *build_id, size_t len,
		     struct symbols **ret)
{
	struct elf *e = NULL;
	int fd, rc = file_open(path, pid, &fd);

	if (rc)
		return rc;
	rc = elf_open_fd(fd, &e);
	rc = rc ? rc : check_build_id(e, build_id, len);
	rc = rc ? rc : load(e, ret);
	elf_free(e);
	close(fd);
	return rc ? err_add(rc, "%s", path) : 0;
}

int symbols_load_elf(const char *path, uint32_t pid, const uint8_t *build_id, size_t build_id_len,
		     struct symbols **ret)
{
	int first = load_path(path, pid, build_id, build_id_len, ret), rc;

	/*
	 * The same path outside of the process's root may be another file. It may stand in if the
	 * build id proves that it is the same, or if there is no such process any more to ask.
	 */
	if (!first || !pid || (first != -ESRCH && !build_id_len))
		return first;
	rc = load_path(path, 0, build_id, build_id_len, ret);
	if (rc == -ENOENT && first == -ESTALE)
		return err_set(first, "%s: the file was replaced since: its build id differs",
			       path);
	return rc;
}

int symbols_build_id(const char *path, uint8_t *out, size_t room)
{
	struct elf *e = NULL;
	int fd, rc = file_open(path, 0, &fd);

	if (rc)
		return rc;
	rc = elf_open_fd(fd, &e);
	rc = rc ? rc : elf_build_id(e, out, room);
	elf_free(e);
	close(fd);
	return rc < 0 ? err_add(rc, "%s", path) : rc;
}
