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

/* What is obeyed rather than shown goes, what stands beside it stays. */
static void test_obeyed(void **state)
{
	static const char *const obeyed[] = {
		"\xc2\x80",	"\xc2\x85",	"\xc2\x9b",	   "\xc2\x9f",	   "\xd8\x9c",
		"\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8",	   "\xe2\x80\xae", "\xe2\x81\xa6",
		"\xe2\x81\xa9", "\xef\xbb\xbf", "\xf3\xa0\x81\x81"};
	static const char *const shown[] = {"\xc2\xa0",	    "\xd8\x9b",	    "\xd8\x9d",
					    "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xaf",
					    "\xe2\x81\xa5", "\xef\xbb\xbe", "\xf3\xa0\x84\x80"};

	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
		char s[16] = "a";

		strcat(strcat(s, obeyed[i]), "b");
		assert_string_equal(clean(s), "a" FFFD "b");
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_string_equal(clean(shown[i]), shown[i]);
}

static int valid(iconv_t cd, const char *s)
{
	char wide[256], *in = (char *)s, *out = wide;
	size_t left = strlen(s), room = sizeof(wide);

	iconv(cd, NULL, NULL, NULL, NULL);
	return iconv(cd, &in, &left, &out, &room) != (size_t)-1 && !left;
}

/* C2 80 to C2 9F: nothing else of these bytes is obeyed by a terminal. */
static int has_c1(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
			return 1;
	return 0;
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
		if (valid(cd, s) && !has_c1(s)) {
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
		cmocka_unit_test(test_obeyed),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
