// SPDX-License-Identifier: MIT
/* Any bytes as perf.data: an error, or a capture that can be read. */
#include <stddef.h>
#include <stdint.h>

#include "run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("perfdata", data, size);
	return 0;
}
