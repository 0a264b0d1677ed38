// SPDX-License-Identifier: MIT
/*
 * The build id: the note "GNU" of type 3. Program headers are asked first, because they survive
 * every kind of stripping; then the sections, because a separate debug file has no bytes for its
 * program headers.
 *
 * A note is three words (length of the name, length of the content, type), the name and the
 * content, each padded to four bytes. In areas aligned to eight, where .note.gnu.property lives,
 * the padding is to eight.
 */
#include "elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"

#define NOTES_BYTES_MAX (64u << 10)
#define NOTES_AREAS_MAX 64

static void notes_pad(struct cursor *c, size_t align)
{
	size_t over = c->pos & (align - 1);

	/* The last note of an area need not be padded. */
	if (over && align - over <= cur_left(c))
		cur_skip(c, align - over);
}

/* Each note costs 12 bytes or more. */
int elf_notes_build_id(const struct buf *notes, size_t align, uint8_t *out, size_t room)
{
	struct cursor c = cur_init(notes->p, notes->len);

	while (!cur_end(&c)) {
		uint32_t name_len = cur_u32(&c), len = cur_u32(&c), type = cur_u32(&c);
		const void *name = cur_bytes(&c, name_len), *id;

		notes_pad(&c, align);
		id = cur_bytes(&c, len);
		notes_pad(&c, align);
		if (!cur_ok(&c))
			break;
		if (type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name, "GNU", 4) || !len)
			continue;
		if (len > room)
			return err_set(-ENOBUFS, "a build id of %u bytes is too long", len);
		memcpy(out, id, len);
		return (int)len;
	}
	return -ENODATA;
}

static int find_at(const struct elf *e, uint64_t offset, uint64_t size, uint64_t align,
		   uint8_t *out, size_t room)
{
	struct buf b;
	int n = elf_read(e, offset, size, NOTES_BYTES_MAX, &b);

	if (n == -EFBIG || n == -EBADMSG)
		return -ENODATA;
	if (n)
		return n;
	n = elf_notes_build_id(&b, align == 8 ? 8 : 4, out, room);
	buf_done(&b);
	return n;
}

int elf_build_id(const struct elf *e, uint8_t *out, size_t room)
{
	int areas = 0, n = -ENODATA;

	for (size_t i = 0; i < e->n_segments && n == -ENODATA && areas < NOTES_AREAS_MAX; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_NOTE && ++areas)
			n = find_at(e, s->offset, s->filesz, s->align, out, room);
	}
	areas = 0;
	for (size_t i = 0; i < e->n_sections && n == -ENODATA && areas < NOTES_AREAS_MAX; i++) {
		const struct elf_section *s = &e->sections[i];

		if (s->type == SHT_NOTE && !strcmp(s->name, ".note.gnu.build-id") && ++areas)
			n = find_at(e, s->offset, s->size, 4, out, room);
	}
	return n == -ENODATA ? err_set(n, "no build id") : n;
}
