// SPDX-License-Identifier: MIT
/*
 * The entries of .eh_frame and .debug_frame. An entry is its length (4 bytes; 0xffffffff says that
 * 8 more hold it), an id that distinguishes CIEs from FDEs, and the rest. The two sections differ:
 *
 *                  .eh_frame                               .debug_frame
 *   id             4 bytes                                 4 or 8, as the length
 *   of a CIE       0                                       all ones
 *   of an FDE      how far its CIE lies before the id      where its CIE lies in the section
 *   addresses      as the CIE's augmentation says          8 bytes, absolute
 *   ends           at a length of zero, or its end         at its end
 */
#include "elf/cfi_private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/search.h"
#include "base/vec.h"

#define EH_FRAME_HDR_MAX 64u

struct cfi_entry {
	size_t offset; /* of its length */
	size_t id_at;  /* of its id */
	uint64_t id;
	bool is_cie;
	struct cursor cur; /* over the section up to the entry's end, after the id */
};

typedef VEC(struct cfi_cie) cie_vec;

static int64_t read_format(uint8_t encoding, struct cursor *cur)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return (int64_t)cur_u64(cur);
	case PE_ULEB128:
		return (int64_t)cur_varint(cur);
	case PE_UDATA2:
		return cur_u16(cur);
	case PE_UDATA4:
		return cur_u32(cur);
	case PE_SLEB128:
		return cfi_read_sleb(cur);
	case PE_SDATA2:
		return (int16_t)cur_u16(cur);
	case PE_SDATA4:
		return (int32_t)cur_u32(cur);
	}
	cur->bad = true;
	return 0;
}

uint64_t cfi_read_address(const struct cfi *c, uint8_t encoding, struct cursor *cur, size_t at)
{
	uint64_t base = 0;

	switch (encoding & PE_BASE) {
	case 0:
		break;
	case PE_PCREL:
		base = c->addr + at;
		cur->bad |= c->debug; /* not in memory: nothing is relative to it */
		break;
	case PE_TEXTREL:
		base = c->text;
		break;
	case PE_DATAREL:
		base = c->data;
		break;
	default:
		cur->bad = true;
	}
	if (encoding & PE_INDIRECT)
		cur->bad = true;
	return base + (uint64_t)read_format(encoding, cur);
}

/* The entry at *pos, which moves past it. False: the end, or nothing that could be followed. */
static bool next_entry(const struct cfi *c, size_t *pos, struct cfi_entry *ret)
{
	struct cursor cur = cur_init(c->bytes.p, c->bytes.len);
	bool wide = false;
	uint64_t len;
	size_t end;

	cur_seek(&cur, *pos);
	len = cur_u32(&cur);
	if (len == UINT32_MAX) {
		wide = true;
		len = cur_u64(&cur);
	}
	if (!cur_ok(&cur) || len > cur_left(&cur) || (!len && !c->debug))
		return false;
	end = cur.pos + (size_t)len;
	ret->offset = *pos;
	ret->id_at = cur.pos;
	*pos = end;
	cur.len = end;
	if (c->debug && wide) {
		ret->id = cur_u64(&cur);
		ret->is_cie = ret->id == UINT64_MAX;
	} else {
		ret->id = cur_u32(&cur);
		ret->is_cie = ret->id == (c->debug ? UINT32_MAX : 0);
	}
	ret->cur = cur; /* bad if too short for an id: later reads notice */
	return true;
}

/* The letters after 'z' say what the augmentation's bytes are. False: we cannot know. */
static bool read_augmentation(struct cfi_cie *cie, const char *letters, struct cursor *cur)
{
	uint64_t len;
	struct cursor data;

	if (!*letters)
		return true;
	if (*letters != 'z')
		return false;
	cie->sized = true;
	len = cur_varint(cur);
	data = cur_take(cur, len > SIZE_MAX ? SIZE_MAX : (size_t)len);
	for (letters++; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = cur_u8(&data);
			break;
		case 'L':
			cur_skip(&data, 1);
			break;
		case 'P':
			/* A personality: only its length matters here. */
			encoding = cur_u8(&data);
			if (encoding == 0x50)
				return false;
			if (encoding != PE_OMIT)
				(void)read_format(encoding, &data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: a key for return addresses; nothing here */
			break;
		default:
			return false;
		}
	}
	return cur_ok(&data);
}

static const char *read_cstr(struct cursor *cur)
{
	size_t left = cur_left(cur);
	const uint8_t *end = left ? memchr(cur->base + cur->pos, 0, left) : NULL;

	if (!end) {
		cur->bad = true;
		return "";
	}
	return cur_bytes(cur, (size_t)(end - (cur->base + cur->pos)) + 1);
}

static bool read_cie_body(const struct cfi *c, struct cfi_cie *cie, struct cursor cur)
{
	uint8_t version = cur_u8(&cur);
	const char *letters = read_cstr(&cur);
	uint64_t ra;

	if (version != 1 && version != 3 && !(version == 4 && c->debug))
		return false;
	/* Since version 4: the size of addresses, and of segment selectors. */
	if (version == 4 && (cur_u8(&cur) != 8 || cur_u8(&cur) != 0))
		return false;
	cie->code_align = cur_varint(&cur);
	cie->data_align = cfi_read_sleb(&cur);
	ra = version == 1 ? cur_u8(&cur) : cur_varint(&cur);
	if (ra != CFI_RA || !read_augmentation(cie, letters, &cur) || !cur_ok(&cur))
		return false;
	return cfi_run_initial(cie, cur_take(&cur, cur_left(&cur)));
}

static void collect_cies(struct cfi *c)
{
	cie_vec cies = {0};
	struct cfi_entry entry;
	size_t pos = 0;

	while (cies.n < CFI_CIES_MAX && next_entry(c, &pos, &entry)) {
		struct cfi_cie *cie;

		if (!entry.is_cie)
			continue;
		cie = vec_add(&cies);
		cie->offset = entry.offset;
		cie->usable = read_cie_body(c, cie, entry.cur);
	}
	c->cies = cies.v;
	c->n_cies = cies.n;
}

/* CIEs are in the order of their offsets. Neighbours mostly share one: ask the last first. */
static const struct cfi_cie *cie_at(struct cfi *c, uint64_t offset)
{
	size_t lo;

	if (c->last_cie < c->n_cies && c->cies[c->last_cie].offset == offset)
		return &c->cies[c->last_cie];
	lo = SEARCH(0, c->n_cies, mid, c->cies[mid].offset < offset);
	if (lo == c->n_cies || c->cies[lo].offset != offset)
		return NULL;
	c->last_cie = lo;
	return &c->cies[lo];
}

static bool read_fde(struct cfi *c, const struct cfi_entry *entry, struct cfi_fde *ret)
{
	const struct cfi_cie *cie = cie_at(c, c->debug ? entry->id : entry->id_at - entry->id);
	struct cursor cur = entry->cur;
	uint64_t begin, len;

	if (!cie || !cie->usable)
		return false;
	begin = cfi_read_address(c, cie->encoding, &cur, cur.pos);
	len = (uint64_t)read_format(cie->encoding, &cur);
	if (cie->sized) {
		uint64_t skip = cur_varint(&cur);

		cur_skip(&cur, skip > SIZE_MAX ? SIZE_MAX : (size_t)skip);
	}
	if (!cur_ok(&cur) || !len || len > UINT64_MAX - begin)
		return false;
	*ret = (struct cfi_fde){
		.begin = begin,
		.end = begin + len,
		.cie = cie,
		.program = (uint32_t)cur.pos,
		.program_len = (uint32_t)cur_left(&cur),
	};
	return true;
}

bool cfi_next(struct cfi *c, struct cfi_fde *ret)
{
	struct cfi_entry entry;

	while (next_entry(c, &c->pos, &entry))
		if (!entry.is_cie && read_fde(c, &entry, ret))
			return true;
	return false;
}

/* Takes the bytes, whatever becomes of them. */
static int open_buf(struct cfi *c, struct cfi *ret)
{
	if (c->bytes.len > CFI_SECTION_MAX) {
		buf_done(&c->bytes);
		return err_set(-EFBIG, "call frame information of more than %u MiB",
			       CFI_SECTION_MAX >> 20);
	}
	collect_cies(c);
	*ret = *c;
	return 0;
}

int cfi_open_bytes(const void *bytes, size_t len, uint64_t addr, bool debug, struct cfi *ret)
{
	struct cfi c = {.debug = debug, .addr = addr};

	buf_put(&c.bytes, bytes, len);
	return open_buf(&c, ret);
}

/* Where .eh_frame begins, as .eh_frame_hdr says: for files without section headers. */
static bool header_points_to(const struct elf *e, uint64_t *ret)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];
		struct cfi c = {.addr = s->vaddr, .data = s->vaddr};
		struct cursor cur;
		uint8_t encoding;

		if (s->type != PT_GNU_EH_FRAME ||
		    elf_read(e, s->offset,
			     s->filesz < EH_FRAME_HDR_MAX ? s->filesz : EH_FRAME_HDR_MAX,
			     EH_FRAME_HDR_MAX, &c.bytes))
			continue;
		cur = cur_init(c.bytes.p, c.bytes.len);
		cur.bad |= cur_u8(&cur) != 1; /* version */
		encoding = cur_u8(&cur);
		cur_skip(&cur, 2);
		*ret = cfi_read_address(&c, encoding, &cur, cur.pos);
		buf_done(&c.bytes);
		if (cur_ok(&cur))
			return true;
	}
	return false;
}

/* From there to the end of its segment: it ends earlier, with a length of zero. */
static int read_by_header(const struct elf *e, struct cfi *c)
{
	uint64_t addr;

	if (!header_points_to(e, &addr))
		return err_set(-ENODATA, "no .eh_frame");
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];
		uint64_t skip = addr - s->vaddr, size;

		if (s->type != PT_LOAD || addr < s->vaddr || skip >= s->filesz)
			continue;
		size = s->filesz - skip;
		c->addr = addr;
		return elf_read(e, s->offset + skip,
				size < CFI_SECTION_MAX ? size : CFI_SECTION_MAX, CFI_SECTION_MAX,
				&c->bytes);
	}
	return err_set(-ENODATA, "no .eh_frame");
}

static uint64_t section_addr(const struct elf *e, const char *name, uint64_t otherwise)
{
	const struct elf_section *s = elf_section(e, name);

	return s ? s->addr : otherwise;
}

int cfi_open(const struct elf *e, bool debug, struct cfi *ret)
{
	const char *name = debug ? ".debug_frame" : ".eh_frame";
	const struct elf_section *s = elf_section(e, name);
	struct cfi c = {
		.debug = debug,
		.text = section_addr(e, ".text", 0),
		.data = section_addr(e, ".got.plt", section_addr(e, ".got", 0)),
	};
	int rc;

	if (!s && !debug) {
		rc = read_by_header(e, &c);
	} else if (!s || s->type == SHT_NOBITS || !s->size || (s->flags & SHF_COMPRESSED)) {
		rc = err_set(-ENODATA, "no %s", name);
	} else {
		c.addr = s->addr;
		rc = elf_read(e, s->offset, s->size, CFI_SECTION_MAX, &c.bytes);
	}
	return rc ? rc : open_buf(&c, ret);
}

void cfi_done(struct cfi *c)
{
	buf_done(&c->bytes);
	free(c->cies);
	*c = (struct cfi){0};
}

bool cfi_entry_point(const struct elf *e, uint64_t *ret)
{
	struct cursor cur;
	struct buf b;
	uint64_t entry;

	if (elf_read(e, offsetof(Elf64_Ehdr, e_entry), sizeof(entry), sizeof(entry), &b))
		return false;
	cur = cur_init(b.p, b.len);
	entry = cur_u64(&cur);
	buf_done(&b);
	if (!entry)
		return false;
	*ret = entry;
	return true;
}
