// SPDX-License-Identifier: MIT
#include "view/page.h"

void page_title(const struct page *p, const char *title, int width)
{
	fprintf(p->out, p->colour ? "\n\033[1m%-*s\033[0m" : "\n%-*s", width, title);
}

void page_tint(const struct page *p, const char *code)
{
	if (p->colour)
		fprintf(p->out, "\033[%sm", code);
}
