/* SPDX-License-Identifier: MIT */
/* What the files of the CFI parser share among themselves. */
#ifndef THAW_ELF_CFI_PRIVATE_H
#define THAW_ELF_CFI_PRIVATE_H

#include "elf/cfi.h"

/* The encodings of addresses in .eh_frame: how they are written, and what they count from. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/*
 * An address at the cursor, whose base lies `at` bytes into the section. The cursor turns bad on an
 * encoding that cannot be followed: indirect ones point into memory that only a process has.
 */
uint64_t cfi_read_address(const struct cfi *c, uint8_t encoding, struct cursor *cur, size_t at);

int64_t cfi_read_sleb(struct cursor *cur);

/* Runs a CIE's program. False: it is damaged. */
bool cfi_run_initial(struct cfi_cie *cie, struct cursor program);

/* The shape of a CFA expression, or UNKNOWN; sets the CFA part of the rules only. */
void cfi_match_cfa(struct cursor expr, struct cfi_rules *ret);
/* True if the expression is rbp plus an offset. */
bool cfi_match_at_rbp(struct cursor expr, int64_t *ret_off);

#endif
