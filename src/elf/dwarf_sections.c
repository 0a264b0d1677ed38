// SPDX-License-Identifier: MIT
/*
 * The sections of debug information. They are compressed in many files (zlib or zstd after an ELF
 * header, or the older .zdebug_ kind), and large in the others: each is unpacked when it is first
 * asked for, and one that is not compressed is used where it lies. Before memory is taken, the
 * unpacked size is bounded, also by what the compression can do at best.
 */
#include "elf/dwarf_private.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "base/err.h"

#define ZLIB_BEST 1032u /* bytes out of one */
#define ZSTD_BEST 65536u
#define HUGE_PAGE (2u << 20)
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const char *const names[DW_SECTIONS] = {
	[DW_INFO] = ".debug_info",
	[DW_TYPES] = ".debug_types",
	[DW_ABBREV] = ".debug_abbrev",
	[DW_STR] = ".debug_str",
	[DW_STR_OFFSETS] = ".debug_str_offsets",
	[DW_ADDR] = ".debug_addr",
	[DW_RANGES] = ".debug_ranges",
	[DW_RNGLISTS] = ".debug_rnglists",
	[DW_LINE] = ".debug_line",
	[DW_LINE_STR] = ".debug_line_str",
};

static int room_for(struct buf *b, uint64_t size, uint64_t packed, uint64_t best)
{
	void *p;

	if (size > DW_UNPACKED_MAX || size > packed * best + 64)
		return err_set(-EBADMSG, "damaged ELF: %llu bytes cannot become %llu",
			       (unsigned long long)packed, (unsigned long long)size);
	/* Large pages, where the kernel has them: most of the time would go into small ones. */
	if (size >= HUGE_PAGE && !posix_memalign(&p, HUGE_PAGE, (size_t)size + 1)) {
		(void)madvise(p, (size_t)size, MADV_HUGEPAGE);
		*b = (struct buf){.p = p, .room = (size_t)size + 1};
		return 0;
	}
	buf_reserve(b, (size_t)size + 1);
	return 0;
}

/* Ignores the checksum at the end: a hostile file would have a right one. */
static int unzlib(const uint8_t *p, size_t len, uint64_t size, struct buf *ret)
{
	int rc = len < 2 ? -EBADMSG : room_for(ret, size, len, ZLIB_BEST);
	struct libdeflate_decompressor *d;

	if (rc)
		return rc;
	d = libdeflate_alloc_decompressor();
	if (!d)
		return -ENOMEM;
	/* With NULL for the actual size, fewer bytes are an error. */
	rc = libdeflate_deflate_decompress(d, p + 2, len - 2, ret->p, (size_t)size, NULL);
	libdeflate_free_decompressor(d);
	if (rc != LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	ret->len = (size_t)size;
	return 0;
}

static int unzstd(const uint8_t *p, size_t len, uint64_t size, struct buf *ret)
{
	int rc = room_for(ret, size, len, ZSTD_BEST);
	size_t n;

	if (rc)
		return rc;
	n = ZSTD_decompress(ret->p, (size_t)size, p, len);
	if (ZSTD_isError(n) || n != size)
		return -EBADMSG;
	ret->len = n;
	return 0;
}

static int dwarf_sections_unpack(struct cursor c, bool gnu, struct buf *ret)
{
	uint32_t type = ELFCOMPRESS_ZLIB;
	uint64_t size = 0;
	const uint8_t *p;
	size_t n;

	if (gnu) {
		p = cur_bytes(&c, 12);
		if (!p || memcmp(p, "ZLIB", 4))
			return -EBADMSG;
		for (int i = 4; i < 12; i++)
			size = size << 8 | p[i];
	} else {
		type = cur_u32(&c);
		cur_skip(&c, 4);
		size = cur_u64(&c);
		cur_skip(&c, 8);
	}
	n = cur_left(&c);
	p = cur_bytes(&c, n);
	if (!p)
		return -EBADMSG;
	if (type == ELFCOMPRESS_ZLIB)
		return unzlib(p, n, size, ret);
	return type == ELFCOMPRESS_ZSTD ? unzstd(p, n, size, ret) : -EOPNOTSUPP;
}

static const struct elf_section *dwarf_sections_find(const struct elf *e, enum dw_section which,
						     bool *ret_gnu)
{
	const struct elf_section *s = elf_section(e, names[which]);
	char old[64] = ".z";

	*ret_gnu = false;
	if (s)
		return s;
	*ret_gnu = true;
	strcpy(old + 2, names[which] + 1);
	return elf_section(e, old);
}

static void dwarf_sections_load(struct dw_file *f, enum dw_section which)
{
	struct dw_bytes *b = &f->sections[which];
	struct buf raw = {0};
	bool gnu;
	const struct elf_section *s = dwarf_sections_find(f->elf, which, &gnu);
	const uint8_t *p;
	size_t len;

	if (!s || s->type == SHT_NOBITS || s->type == SHT_NULL)
		return;
	if (f->elf->bytes) {
		p = f->elf->bytes + s->offset;
		len = (size_t)s->size;
	} else {
		if (elf_read_section(f->elf, s, &raw))
			return;
		p = raw.p;
		len = raw.len;
	}
	if (gnu || s->flags & SHF_COMPRESSED) {
		if (!dwarf_sections_unpack(cur_init(p, len), gnu, &b->own)) {
			b->p = b->own.p;
			b->len = b->own.len;
		} else {
			buf_done(&b->own);
		}
		buf_done(&raw);
		return;
	}
	b->own = raw;
	b->p = p;
	b->len = len;
}

struct cursor dw_section(struct dw_file *f, enum dw_section which)
{
	struct dw_bytes *b = &f->sections[which];

	if (!b->looked) {
		b->looked = true;
		dwarf_sections_load(f, which);
		/* See dwarf.h: nothing that is honest needs to look at a byte more often. */
		f->payer->account += 64 * (uint64_t)b->len;
	}
	return cur_init(b->p, b->len);
}
