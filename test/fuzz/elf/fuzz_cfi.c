// SPDX-License-Identifier: MIT
/*
 * Any bytes as .eh_frame or as .debug_frame: every FDE and every row of it, and what cfi.h promises
 * of them. The first byte chooses the section, the next two its address.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void rows(const struct cfi *c, const struct cfi_fde *fde)
{
	uint64_t at = fde->begin, n = 0;
	struct cfi_rows r;
	struct cfi_row row;

	/* What is not said to be set must not be read. */
	memset(&r, 0xa5, sizeof(r));
	cfi_rows_init(&r, c, fde);
	while (cfi_rows_next(&r, &row)) {
		PROMISE(row.begin == at && row.end > at && row.end <= fde->end);
		PROMISE(row.rules.cfa <= CFI_CFA_PLT && row.rules.rbp <= CFI_WHERE_AT_RBP);
		PROMISE(row.rules.ra <= CFI_WHERE_AT_CFA);
		PROMISE(row.rules.cfa != CFI_CFA_PLT || row.rules.cfa_off <= 15);
		PROMISE(n++ <= fde->program_len);
		at = row.end;
	}
	PROMISE(at == fde->end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t n = 0, addr;
	struct cfi_fde fde;
	struct cfi c;

	if (size < 3)
		return 0;
	addr = (uint64_t)data[1] << (data[2] & 63);
	if (cfi_open_bytes(data + 3, size - 3, addr, data[0] & 1, &c))
		return 0;
	while (cfi_next(&c, &fde)) {
		PROMISE(fde.begin < fde.end && fde.cie->usable);
		PROMISE((uint64_t)fde.program + fde.program_len <= size - 3);
		PROMISE(n++ < size);
		rows(&c, &fde);
	}
	cfi_done(&c);
	return 0;
}
