// SPDX-License-Identifier: MIT
/* A gzip file in pieces, unpacked by gzip itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "export/gzip.h"

enum { PIECES = 300, PIECE = 7001 };

static uint8_t piece[PIECE];

static void fill(uint32_t *r)
{
	for (size_t i = 0; i < PIECE; i++) {
		*r = *r * 1664525 + 1013904223;
		piece[i] = (uint8_t)(*r >> (i % 3 ? 30 : 24));
	}
}

static void test_pieces(void **state)
{
	char path[] = "/tmp/thaw-gzip-XXXXXX", command[128];
	static uint8_t got[PIECE];
	uint32_t r = 1;
	struct gzip g;
	FILE *f = fdopen(mkstemp(path), "w");

	assert_non_null(f);
	assert_int_equal(gzip_begin(&g, f), 0);
	for (int i = 0; i < PIECES; i++) {
		fill(&r);
		assert_int_equal(gzip_put(&g, piece, i % 7 ? PIECE : 0), 0);
	}
	assert_int_equal(gzip_end(&g), 0);
	gzip_done(&g);
	fclose(f);
	snprintf(command, sizeof(command), "gzip -dc < %s", path);
	f = popen(command, "r");
	assert_non_null(f);
	r = 1;
	for (int i = 0; i < PIECES; i++) {
		fill(&r);
		if (!(i % 7))
			continue;
		assert_int_equal(fread(got, 1, PIECE, f), PIECE);
		assert_memory_equal(got, piece, PIECE);
	}
	assert_int_equal(fread(got, 1, PIECE, f), 0);
	assert_int_equal(pclose(f), 0);
	unlink(path);
}

static void test_full_disk(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct gzip g;
	uint32_t r = 1;
	int rc = 0;

	if (!f)
		skip();
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(gzip_begin(&g, f), 0);
	for (int i = 0; i < PIECES && !rc; i++) {
		fill(&r);
		rc = gzip_put(&g, piece, PIECE);
	}
	assert_true(rc < 0);
	gzip_done(&g);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
