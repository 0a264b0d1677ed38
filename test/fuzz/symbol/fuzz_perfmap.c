// SPDX-License-Identifier: MIT
/*
 * Any bytes as a perf map, read the fast way and compared with the slow one: for each address the
 * last line that covers it, line by line with the C library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 64

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Addresses at and beside the numbers that the map itself mentions, so that there are hits. */
static size_t pick(const uint8_t *data, size_t size, uint64_t *out)
{
	size_t n = 0;

	out[n++] = 0;
	out[n++] = UINT64_MAX;
	for (size_t i = 0; i < size && n + 4 < ADDRESSES; i++) {
		char digits[17] = "";
		uint64_t v;

		if (i && data[i - 1] != '\n' && data[i - 1] != ' ')
			continue;
		memcpy(digits, data + i, size - i < 16 ? size - i : 16);
		v = strtoull(digits, NULL, 16);
		out[n++] = v;
		out[n++] = v - 1;
		out[n++] = v + 1;
		out[n++] = v + 64;
	}
	qsort(out, n, sizeof(*out), compare);
	return n;
}

static void check_name(const char *name, const char *text, size_t size)
{
	if (name < text || name >= text + size || !*name)
		abort();
	if (memchr(name, 0, (size_t)(text + size - name)) == NULL)
		abort();
}

/* Later lines win: an address is named by a later line than any other that covers it. */
static void check_order(const char *copy, size_t size, const char *text, uint64_t address,
			const char *name)
{
	const char *best = NULL;

	for (size_t at = 0; at < size;) {
		const char *nl = memchr(copy + at, '\n', size - at);
		uint64_t begin, len;
		int used = 0;
		char line[128];

		if (!nl)
			break;
		snprintf(line, sizeof(line), "%.*s", (int)(nl - copy - (ptrdiff_t)at), copy + at);
		/* Only lines of the plainest form: the rest is left to the parser. */
		if (strspn(line, "123456789abcdef") > 0 && strlen(line) < 100 &&
		    (size_t)(nl - copy) - at == strlen(line) &&
		    sscanf(line, "%12" SCNx64 "%n", &begin, &used) == 1 && line[used] == ' ' &&
		    strspn(line + used + 1, "0123456789abcdef") > 0) {
			size_t digits = strspn(line + used + 1, "0123456789abcdef");
			const char *rest = line + used + 1 + digits;

			len = strtoull(line + used + 1, NULL, 16);
			if (digits <= 12 && len && rest[0] == ' ' && rest[1] && address >= begin &&
			    address - begin < len)
				best = text + at + (size_t)(rest + 1 - line);
		}
		at = (size_t)(nl - copy) + 1;
	}
	if (best && (!name || name < best))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addresses[ADDRESSES];
	const char *names[ADDRESSES];
	char *text = mem_alloc(size + 1);
	size_t n = pick(data, size, addresses);

	memcpy(text, data, size);
	perfmap_find(text, size, addresses, n, names);
	for (size_t i = 0; i < n; i++) {
		if (names[i])
			check_name(names[i], text, size);
		check_order((const char *)data, size, text, addresses[i], names[i]);
	}
	free(text);
	return 0;
}
