// SPDX-License-Identifier: MIT
/*
 * Any bytes as a symbol table: an ELF image if they begin like one, else the text of kallsyms. The
 * ranges that come out must be sorted and disjoint, and every lookup must give the range's name.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "symbol/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct symbols *s)
{
	uint64_t distance = 0;

	for (size_t i = 0; i < s->ranges.out.n; i++) {
		const struct symbol_range *r = &s->ranges.out.v[i];
		const struct table_sym *sym = &s->syms.v[r->id];

		if (r->begin >= r->end || (i && s->ranges.out.v[i - 1].end > r->begin))
			abort();
		if (r->begin < sym->begin || r->end > sym->end)
			abort();
		if (symbols_find(s, r->end - 1, &distance) != (char *)s->names.p + sym->name)
			abort();
		if (distance != r->end - 1 - sym->begin)
			abort();
	}
	(void)symbols_find(s, UINT64_MAX, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols *s = NULL;

	if (size >= 4 && !memcmp(data, "\177ELF", 4)) {
		(void)symbols_load_image(data, size, &s);
	} else {
		struct buf text = {0};

		buf_put(&text, data, size);
		(void)kallsyms_parse(&text, &s);
		buf_done(&text);
	}
	if (s)
		check(s);
	symbols_free(s);
	return 0;
}
