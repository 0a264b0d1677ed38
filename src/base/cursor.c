// SPDX-License-Identifier: MIT
#include "base/cursor.h"

const char *cur_str_ref(struct cursor *c, size_t *ret_len)
{
	uint64_t n = cur_varint(c);
	const char *p;

	if (n > SIZE_MAX / 2)
		c->bad = true;
	p = cur_bytes(c, (size_t)n);
	*ret_len = p ? (size_t)n : 0;
	return p;
}
