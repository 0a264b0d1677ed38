/* SPDX-License-Identifier: MIT */
/*
 * Bytes through an importer, by files in memory; what comes out is read, as far as that is worth
 * it.
 */
#ifndef THAW_FUZZ_IMPORT_RUN_H
#define THAW_FUZZ_IMPORT_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "import/import.h"
#include "store/reader.h"

enum { FUZZ_EVENTS_MAX = 20000 };

static inline void fuzz_import(const char *format, const uint8_t *data, size_t size)
{
	static int in = -1, out;
	static char in_path[40], out_path[40];
	struct import_opts o = {.path = in_path,
				.output = out_path,
				.format = format,
				.divide = 1000000000000000,
				.no_names = true};
	struct import_result res;
	struct reader *r;
	struct event ev;

	if (in < 0) {
		in = memfd_create("in", 0);
		out = memfd_create("out", 0);
		snprintf(in_path, sizeof(in_path), "/proc/self/fd/%d", in);
		snprintf(out_path, sizeof(out_path), "/proc/self/fd/%d", out);
	}
	if (ftruncate(in, 0) || ftruncate(out, 0) || pwrite(in, data, size, 0) != (ssize_t)size)
		abort();
	err_clear();
	if (import_file(&o, &res)) {
		if (!err_msg()[0])
			abort();
		return;
	}
	if (reader_open(out_path, &r))
		abort();
	for (int i = 0; i < FUZZ_EVENTS_MAX && reader_next(r, &ev) > 0; i++)
		;
	reader_close(r);
}

#endif
