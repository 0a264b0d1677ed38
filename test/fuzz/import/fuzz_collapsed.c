// SPDX-License-Identifier: MIT
/* Any bytes as collapsed stacks: an error, or a capture that can be read. */
#include <stddef.h>
#include <stdint.h>

#include "run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("collapsed", data, size);
	return 0;
}
