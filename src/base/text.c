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

uint32_t text_code(const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

bool text_is_shown(const char *s, size_t n)
{
	static const struct {
		uint32_t first, last;
	} obeyed[] = {
		{0x00, 0x1f},	    {0x7f, 0x9f},     /* C0, DEL and C1 */
		{0x061c, 0x061c},   {0x200e, 0x200f}, /* marks of direction */
		{0x2028, 0x202e},		      /* ends of lines, embeddings, overrides */
		{0x2066, 0x2069},		      /* isolates */
		{0xfff9, 0xfffb},   {0xfeff, 0xfeff}, /* annotations, the mark of byte order */
		{0xe0000, 0xe007f},		      /* tags */
	};
	uint32_t code = text_code(s, n);

	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		if (code >= obeyed[i].first && code <= obeyed[i].last)
			return false;
	return true;
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
		if (n > 1 && text_is_shown(s, n))
			buf_put(b, s, n);
		else if (n == 1)
			buf_put_u8(b, ' ');
		else
			buf_put(b, TEXT_REPLACEMENT, 3);
		s += n ? n : 1;
	}
}
