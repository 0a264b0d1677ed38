// SPDX-License-Identifier: MIT
/*
 * .gnu_debugdata: an ELF file with nothing but a symbol table, compressed with xz. Both what the
 * decoder may allocate and what may come out are bounded: a few bytes of xz can stand for
 * gigabytes.
 */
#include <lzma.h>
#include <string.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/table.h"

#define UNPACKED_MAX (64u << 20)
#define DECODER_MEMORY_MAX (128u << 20)
#define PIECE (256u << 10)

/* Grows the buffer piece by piece, so that a small result takes little memory. */
static int debugdata_decode(lzma_stream *z, struct buf *out)
{
	for (;;) {
		lzma_ret rc;

		buf_reserve(out, PIECE);
		z->next_out = out->p + out->len;
		z->avail_out = out->room - out->len;
		rc = lzma_code(z, LZMA_FINISH);
		out->len = out->room - z->avail_out;
		if (rc == LZMA_STREAM_END)
			return 0;
		if (rc != LZMA_OK)
			return err_set(-EBADMSG, "damaged .gnu_debugdata");
		if (out->len > UNPACKED_MAX)
			return err_set(-EFBIG, ".gnu_debugdata is too large");
	}
}

int debugdata_unpack(const struct elf *e, struct buf *ret)
{
	const struct elf_section *s = elf_section(e, ".gnu_debugdata");
	lzma_stream z = LZMA_STREAM_INIT;
	struct buf packed, out = {0};
	int rc;

	if (!s)
		return -ENODATA;
	rc = elf_read_section(e, s, &packed);
	if (rc)
		return rc;
	z.next_in = packed.p;
	z.avail_in = packed.len;
	rc = lzma_stream_decoder(&z, DECODER_MEMORY_MAX, 0) == LZMA_OK ? debugdata_decode(&z, &out)
								       : -ENOMEM;
	lzma_end(&z);
	buf_done(&packed);
	if (rc) {
		buf_done(&out);
		return rc;
	}
	*ret = out;
	return 0;
}
