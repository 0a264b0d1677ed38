// SPDX-License-Identifier: MIT
#include "report/text.h"

void text_title(const struct text_report *p, const char *title, int width)
{
	fprintf(p->out, p->colour ? "\n\033[1m%-*s\033[0m" : "\n%-*s", width, title);
}

void text_tint(const struct text_report *p, const char *code)
{
	if (p->colour)
		fprintf(p->out, "\033[%sm", code);
}
