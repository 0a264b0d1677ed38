/* SPDX-License-Identifier: MIT */
/* What the files that read DWARF share. Private to elf/. */
#ifndef THAW_ELF_DWARF_PRIVATE_H
#define THAW_ELF_DWARF_PRIVATE_H

#include "elf/dwarf.h"
#include "elf/dwarf_numbers.h"

/* The table for units of this kind; made when it is first asked for. */
struct dw_abbrevs *dw_abbrevs_at(struct dw_file *f, uint64_t offset, uint8_t offset_size,
				 uint16_t version);
void dw_abbrevs_free(struct dw_abbrevs *t);
/* NULL if there is none. Valid until the next call. */
const struct dw_abbrev *dw_abbrev_find(struct dw_abbrevs *t, uint64_t code);
/* Moves the cursor from the first attribute past the last one. */
void dw_abbrev_skip(const struct dw_abbrevs *t, const struct dw_abbrev *a, struct cursor *c);

/* A number of bytes that lies in the section, or turns the cursor bad. */
static inline uint64_t dw_uint(struct cursor *c, unsigned size)
{
	switch (size) {
	case 1:
		return cur_u8(c);
	case 2:
		return cur_u16(c);
	case 4:
		return cur_u32(c);
	case 8:
		return cur_u64(c);
	default:
		c->bad = true;
		return 0;
	}
}

int64_t dw_sleb(struct cursor *c);
/* A length: 4 bytes, or 12; the second kind makes offsets 8 bytes long. */
uint64_t dw_length(struct cursor *c, uint8_t *ret_offset_size);
/* One value of a known form. */
void dw_read_form(struct cursor *c, uint16_t form, uint8_t offset_size, bool version_2,
		  struct dw_attr *ret);

#endif
