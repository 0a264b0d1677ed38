// SPDX-License-Identifier: MIT
#include "base/text.h"

size_t text_utf8_len(const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t n = s[0] < 0x80			 ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

static size_t plain_len(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

void text_put_clean(struct buf *b, const char *s)
{
	while (*s) {
		size_t plain = plain_len(s), n;

		buf_put(b, s, plain);
		s += plain;
		if (!*s)
			break;
		n = text_utf8_len(s);
		if (n > 1)
			buf_put(b, s, n);
		else if (n)
			buf_put_u8(b, ' ');
		else
			buf_put(b, TEXT_REPLACEMENT, 3);
		s += n ? n : 1;
	}
}
