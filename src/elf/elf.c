// SPDX-License-Identifier: MIT
/* Opening, the two header tables, and lookups in them. See elf.h for the promises. */
#include "elf/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/err.h"
#include "base/mem.h"

#define SECTION_NAMES_MAX (4u << 20)

static int read_fd(int fd, uint64_t offset, uint8_t *out, size_t size)
{
	while (size) {
		ssize_t n = pread(fd, out, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(-errno, "cannot read: %s", strerror(errno));
		if (n == 0)
			return err_set(-EBADMSG, "the file became shorter while it was read");
		out += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int elf_read(const struct elf *e, uint64_t offset, uint64_t size, uint64_t max, struct buf *ret)
{
	struct buf b = {0};
	int rc = 0;

	if (offset > e->size || size > e->size - offset)
		return err_set(-EBADMSG, "damaged ELF: %llu bytes at %llu lie outside of the file",
			       (unsigned long long)size, (unsigned long long)offset);
	if (size > max || size > ELF_PIECE_MAX)
		return err_set(-EFBIG, "a part of %llu bytes is too large",
			       (unsigned long long)size);
	buf_reserve(&b, (size_t)size + 1);
	if (e->bytes)
		memcpy(b.p, e->bytes + offset, (size_t)size);
	else
		rc = read_fd(e->fd, offset, b.p, (size_t)size);
	if (rc) {
		buf_done(&b);
		return rc;
	}
	b.len = (size_t)size;
	b.p[b.len] = 0;
	*ret = b;
	return 0;
}

int elf_read_section(const struct elf *e, const struct elf_section *s, struct buf *ret)
{
	if (s->type == SHT_NOBITS || s->type == SHT_NULL)
		return err_set(-ENODATA, "section '%s' has no bytes in the file", s->name);
	return elf_read(e, s->offset, s->size, ELF_PIECE_MAX, ret);
}

static int check_ident(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(-ENOEXEC, "not an ELF file");
	if (h->e_ident[EI_CLASS] == ELFCLASS32)
		return err_set(-EOPNOTSUPP,
			       "a 32-bit ELF file; only 64-bit " ARCH_WORDS " is read");
	if (h->e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(-EOPNOTSUPP, "an ELF file of unknown class %u",
			       h->e_ident[EI_CLASS]);
	if (h->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(-EOPNOTSUPP, "a big-endian ELF file; only " ARCH_WORDS " is read");
	if (h->e_ident[EI_VERSION] != EV_CURRENT)
		return err_set(-EOPNOTSUPP, "an ELF file of unknown version %u",
			       h->e_ident[EI_VERSION]);
	if (h->e_machine != ARCH_ELF)
		return err_set(-EOPNOTSUPP,
			       "an ELF file for machine %u; only " ARCH_WORDS " is read",
			       h->e_machine);
	return 0;
}

static bool segment_sane(const struct elf *e, const Elf64_Phdr *p)
{
	return p->p_offset <= e->size && p->p_filesz <= e->size - p->p_offset &&
	       p->p_vaddr <= UINT64_MAX - p->p_memsz && p->p_filesz <= UINT64_MAX - p->p_vaddr;
}

/*
 * Segments that lie outside of the file are left out: a file cut short still has the others, and a
 * separate debug file keeps the program headers of the file that it was split from.
 */
static int read_segments(struct elf *e, const Elf64_Ehdr *h)
{
	struct buf b;
	struct cursor c;
	int rc;

	if (!h->e_phnum)
		return 0;
	if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum > ELF_SEGMENTS_MAX)
		return err_set(-EBADMSG, "damaged ELF: %u program headers of %u bytes", h->e_phnum,
			       h->e_phentsize);
	rc = elf_read(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), ELF_PIECE_MAX, &b);
	if (rc)
		return err_add(rc, "program headers");
	e->segments = mem_zalloc(h->e_phnum * sizeof(*e->segments));
	c = cur_init(b.p, b.len);
	for (size_t i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;

		cur_copy(&c, &p, sizeof(p));
		if (p.p_type == PT_NULL || !segment_sane(e, &p))
			continue;
		e->segments[e->n_segments++] = (struct elf_segment){
			.type = p.p_type,
			.flags = p.p_flags,
			.offset = p.p_offset,
			.filesz = p.p_filesz,
			.vaddr = p.p_vaddr,
			.memsz = p.p_memsz,
			.align = p.p_align,
		};
	}
	buf_done(&b);
	return 0;
}

static void section_from(struct elf *e, const Elf64_Shdr *s, struct elf_section *ret)
{
	bool in_file = s->sh_offset <= e->size && s->sh_size <= e->size - s->sh_offset;

	*ret = (struct elf_section){.name = ""};
	if ((s->sh_type != SHT_NOBITS && !in_file) || s->sh_addr > UINT64_MAX - s->sh_size)
		return; /* stays in its place as SHT_NULL: sections refer to each other by index */
	ret->type = s->sh_type;
	ret->link = s->sh_link;
	ret->flags = s->sh_flags;
	ret->addr = s->sh_addr;
	ret->offset = s->sh_offset;
	ret->size = s->sh_size;
	ret->entsize = s->sh_entsize;
	if (s->sh_name < e->names.len)
		ret->name = (const char *)e->names.p + s->sh_name;
}

/* Above 0xff00 sections, their number and the index of their names' section stand in section 0. */
static int section_counts(const struct elf *e, const Elf64_Ehdr *h, uint64_t *ret_n,
			  uint64_t *ret_names)
{
	Elf64_Shdr first;
	struct cursor c;
	struct buf b;
	int rc = elf_read(e, h->e_shoff, sizeof(first), sizeof(first), &b);

	if (rc)
		return rc;
	c = cur_init(b.p, b.len);
	cur_copy(&c, &first, sizeof(first));
	buf_done(&b);
	*ret_n = h->e_shnum ? h->e_shnum : first.sh_size;
	*ret_names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
	return 0;
}

static void read_section_names(struct elf *e, const struct cursor *table, uint64_t index)
{
	struct cursor c = *table;
	Elf64_Shdr s;

	cur_seek(&c, (size_t)index * sizeof(s));
	cur_copy(&c, &s, sizeof(s));
	if (cur_ok(&c) && s.sh_type == SHT_STRTAB)
		(void)elf_read(e, s.sh_offset, s.sh_size, SECTION_NAMES_MAX, &e->names);
}

static void read_sections(struct elf *e, const Elf64_Ehdr *h)
{
	uint64_t n, names;
	struct cursor c;
	struct buf b;

	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    section_counts(e, h, &n, &names) || n > ELF_SECTIONS_MAX ||
	    elf_read(e, h->e_shoff, n * sizeof(Elf64_Shdr), ELF_PIECE_MAX, &b))
		return;
	c = cur_init(b.p, b.len);
	if (names && names < n)
		read_section_names(e, &c, names);
	e->sections = mem_zalloc((size_t)n * sizeof(*e->sections));
	for (; e->n_sections < n; e->n_sections++) {
		Elf64_Shdr s;

		cur_copy(&c, &s, sizeof(s));
		section_from(e, &s, &e->sections[e->n_sections]);
	}
	buf_done(&b);
}

static int open_any(struct elf *e, struct elf **ret)
{
	Elf64_Ehdr h;
	struct cursor c;
	struct buf b = {0};
	int rc;

	rc = elf_read(e, 0, sizeof(h) < e->size ? sizeof(h) : e->size, sizeof(h), &b);
	if (rc)
		goto fail;
	c = cur_init(b.p, b.len);
	cur_copy(&c, &h, sizeof(h));
	if (!cur_ok(&c))
		rc = err_set(-ENOEXEC, "not an ELF file: %zu bytes are too few", b.len);
	buf_done(&b);
	rc = rc ? rc : check_ident(&h);
	rc = rc ? rc : read_segments(e, &h);
	if (rc)
		goto fail;
	e->type = h.e_type;
	read_sections(e, &h);
	*ret = e;
	return 0;
fail:
	elf_free(e);
	return rc;
}

int elf_open_bytes(const void *bytes, size_t len, struct elf **ret)
{
	struct elf *e = mem_zalloc(sizeof(*e));

	e->bytes = len ? bytes : (const uint8_t *)"";
	e->size = len;
	e->fd = -1;
	return open_any(e, ret);
}

int elf_open_fd(int fd, struct elf **ret)
{
	struct stat st;
	struct elf *e;

	if (fstat(fd, &st))
		return err_set(-errno, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-ENOEXEC, "not a regular file");
	e = mem_zalloc(sizeof(*e));
	e->fd = fd;
	e->size = (uint64_t)st.st_size;
	return open_any(e, ret);
}

void elf_free(struct elf *e)
{
	if (!e)
		return;
	free(e->segments);
	free(e->sections);
	buf_done(&e->names);
	free(e);
}

const struct elf_section *elf_section(const struct elf *e, const char *name)
{
	for (size_t i = 0; i < e->n_sections; i++)
		if (e->sections[i].type != SHT_NULL && !strcmp(e->sections[i].name, name))
			return &e->sections[i];
	return NULL;
}

const struct elf_section *elf_section_of_type(const struct elf *e, uint32_t type)
{
	for (size_t i = 0; i < e->n_sections; i++)
		if (e->sections[i].type == type)
			return &e->sections[i];
	return NULL;
}

/* The PT_LOAD for which `at` lies within [from, from + filesz), executable ones first. */
static const struct elf_segment *segment_at(const struct elf *e, uint64_t at, bool by_vaddr)
{
	const struct elf_segment *found = NULL;

	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];
		uint64_t from = by_vaddr ? s->vaddr : s->offset;

		if (s->type != PT_LOAD || at < from || at - from >= s->filesz)
			continue;
		if (s->flags & PF_X)
			return s;
		if (!found)
			found = s;
	}
	return found;
}

bool elf_offset_to_vaddr(const struct elf *e, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct elf_segment *s = segment_at(e, offset, false);

	if (s)
		*ret_vaddr = s->vaddr + (offset - s->offset);
	return s;
}

bool elf_vaddr_to_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct elf_segment *s = segment_at(e, vaddr, true);

	if (s)
		*ret_offset = s->offset + (vaddr - s->vaddr);
	return s;
}

bool elf_text_range(const struct elf *e, uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) || !s->memsz)
			continue;
		if (s->vaddr < begin)
			begin = s->vaddr;
		if (s->vaddr + s->memsz > end)
			end = s->vaddr + s->memsz;
	}
	if (begin >= end)
		return false;
	*ret_begin = begin;
	*ret_end = end;
	return true;
}
