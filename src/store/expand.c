// SPDX-License-Identifier: MIT
#include "store/expand.h"

#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "store/format.h"

uint32_t format_crc(const void *p, size_t n)
{
	return (uint32_t)crc32_z(0, p, n);
}

struct expander *expander_new(void)
{
	return (struct expander *)ZSTD_createDCtx();
}

void expander_free(struct expander *c)
{
	ZSTD_freeDCtx((ZSTD_DCtx *)c);
}

int expander_run(struct expander *c, const void *frame, size_t n, void *into, size_t bytes)
{
	size_t got = ZSTD_decompressDCtx((ZSTD_DCtx *)c, into, bytes, frame, n);

	return ZSTD_isError(got) || got != bytes ? err_set(-EBADMSG, "cannot be decompressed") : 0;
}
