// SPDX-License-Identifier: MIT
#include "cmd/formats.h"

#include <string.h>

#include "base/buf.h"
#include "report/words.h"
#include "wire/unseen.h"

#define EXPORTER(name) extern const struct exporter export_##name;
#include "export/exporters.def"

const struct exporter *const cmd_exporters[] = {
#define EXPORTER(name) &export_##name,
#include "export/exporters.def"
	NULL,
};

enum { NAME_WIDE = 12, WIDTH = 80 };

void formats_list(FILE *out)
{
	for (size_t i = 0; cmd_exporters[i]; i++) {
		fprintf(out, "  %-22s", cmd_exporters[i]->name);
		words_wrap(out, cmd_exporters[i]->words, 24, 24, WIDTH);
	}
}

/* "cpu, wait and lock, one at a time" */
static const char *kinds_of(const struct exporter *e, struct buf *b)
{
	unsigned left = e->kinds, n = 0;

	buf_clear(b);
	if (e->whole)
		return "the whole capture";
	for (unsigned k = 0; k < EXPORT_KINDS; k++) {
		if (!EXPORT_HAS(e->kinds, k))
			continue;
		left &= ~(1u << k);
		buf_printf(b, "%s%s", !n++ ? "" : left ? ", " : " and ", export_kind_word(k));
	}
	if (e->one_kind && n > 1)
		buf_printf(b, ", one at a time");
	return buf_cstr(b);
}

/* What it cannot do without, "" for nothing. */
static const char *needs_of(const struct exporter *e, struct buf *b)
{
	unsigned n = 0;

	buf_clear(b);
#define UNSEEN(bit, UPPER, name, words, brief, with)                                               \
	if (e->needs & UNSEEN_##UPPER)                                                             \
		buf_printf(b, "%s%s", n++ ? "; " : "", words);
#include "wire/unseen.def"
	return buf_cstr(b);
}

static void field(FILE *out, const char *name, const char *value)
{
	fprintf(out, "  %*s%s: ", NAME_WIDE, "", name);
	words_wrap(out, value, NAME_WIDE + 4 + strlen(name), NAME_WIDE + 4, WIDTH);
}

void formats_text(FILE *out)
{
	struct buf b = {0};

	for (size_t i = 0; cmd_exporters[i]; i++) {
		const struct exporter *e = cmd_exporters[i];

		fprintf(out, "  %-*s", NAME_WIDE, e->name);
		words_wrap(out, e->words, NAME_WIDE + 2, NAME_WIDE + 2, WIDTH);
		field(out, "has", kinds_of(e, &b));
		if (e->needs)
			field(out, "needs", needs_of(e, &b));
		field(out, "file", e->suffix);
	}
	buf_done(&b);
}

void formats_table(FILE *out)
{
	struct buf kinds = {0}, needs = {0};

	fputs("| format | what it is, and for whom | has in it | needs | file |\n"
	      "| --- | --- | --- | --- | --- |\n",
	      out);
	for (size_t i = 0; cmd_exporters[i]; i++) {
		const struct exporter *e = cmd_exporters[i];

		fprintf(out, "| `%s` | %s | %s | %s | `%s` |\n", e->name, e->words,
			kinds_of(e, &kinds), e->needs ? needs_of(e, &needs) : "-", e->suffix);
	}
	buf_done(&kinds);
	buf_done(&needs);
}
