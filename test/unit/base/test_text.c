// SPDX-License-Identifier: MIT
/* Names from outside become text that every reader takes: judged by iconv, which is not ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <iconv.h>

#include "base/text.h"

static const char *clean(const char *s)
{
	static struct buf b;

	buf_clear(&b);
	text_put_clean(&b, s);
	return buf_cstr(&b);
}

#define FFFD TEXT_REPLACEMENT

static void test_known(void **state)
{
	assert_string_equal(clean(""), "");
	assert_string_equal(clean("worker \"1\";\\"), "worker \"1\";\\");
	assert_string_equal(clean("a\nb\tc\x7f"), "a b c ");
	assert_string_equal(clean("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
			    "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
	assert_string_equal(clean("\xff"
				  "a\xc3"),
			    FFFD "a" FFFD);
	assert_string_equal(clean("\xed\xa0\x80"), FFFD FFFD FFFD);
	assert_string_equal(clean("\xc0\x80"), FFFD FFFD);
}

static int valid(iconv_t cd, const char *s)
{
	char wide[256], *in = (char *)s, *out = wide;
	size_t left = strlen(s), room = sizeof(wide);

	iconv(cd, NULL, NULL, NULL, NULL);
	return iconv(cd, &in, &left, &out, &room) != (size_t)-1 && !left;
}

/* Whatever is valid stays, whatever comes out is valid: as another decoder sees it. */
static void test_random(void **state)
{
	static const unsigned char bytes[] = {'a',  0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
					      0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xee,
					      0xf0, 0xf1, 0xf4, 0xf5, 0xff};
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	int good = 0;
	uint32_t r = 1;

	assert_true(cd != (iconv_t)-1);
	for (int i = 0; i < 200000; i++) {
		char s[7] = "";

		for (int k = 0; k < 6; k++) {
			r = r * 1664525 + 1013904223;
			s[k] = (char)bytes[(r >> 16) % sizeof(bytes)];
			if (!((r >> 8) % 5))
				break;
		}
		if (valid(cd, s)) {
			assert_string_equal(clean(s), s);
			good++;
		} else {
			assert_string_not_equal(clean(s), s);
			assert_true(valid(cd, clean(s)));
		}
	}
	assert_true(good > 1000);
	iconv_close(cd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
