// SPDX-License-Identifier: MIT
/*
 * The table of what the guard knows, as it stands in docs/guard.md: one source, src/guard/bugs.def.
 */
#include <stdio.h>

#include "base/buf.h"
#include "cmd/doctor.h"

static void put_ranges(struct buf *b, const struct guard_row *row)
{
	char from[32], until[32];

	for (const struct guard_range *r = row->ranges; r->until; r++)
		buf_printf(b, "%s%s to before %s", r == row->ranges ? "" : ", ",
			   guard_version_text(from, sizeof(from), r->from),
			   guard_version_text(until, sizeof(until), r->until));
	if (!row->ranges[0].until)
		buf_printf(b, "any");
}

static void put_does(struct buf *b, const struct guard_row *row)
{
	buf_printf(b, "%s", guard_action_name(row->action));
	for (unsigned m = 0; m < MECHANISMS; m++)
		if (row->mechanisms >> m & 1)
			buf_printf(b, " %s", guard_mechanism_name(m));
}

void doctor_list(FILE *out)
{
	const struct guard_row *rows = guard_rows();
	const struct guard_avoided *avoided;
	struct buf b = {0};
	size_t n;

	fputs("| id | what is wrong | upstream kernels | looks for first | thaw | fixed by |\n"
	      "| --- | --- | --- | --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < BUGS; i++) {
		buf_clear(&b);
		buf_printf(&b, "| %s | %s | ", rows[i].id, rows[i].title);
		put_ranges(&b, &rows[i]);
		buf_printf(&b, " | %s | ", guard_looks_for(&rows[i]));
		put_does(&b, &rows[i]);
		fprintf(out, "%s | %s |\n", buf_cstr(&b), rows[i].fix[0] ? rows[i].fix : "-");
	}
	fputs("\n| mechanism | what it is | without it |\n| --- | --- | --- |\n", out);
	for (unsigned m = 0; m < MECHANISMS; m++)
		fprintf(out, "| %s | %s | %s |\n", guard_mechanism_name(m),
			guard_mechanism_words(m), guard_mechanism_instead(m));
	fputs("\n| id | what is wrong | why it cannot touch thaw |\n| --- | --- | --- |\n", out);
	avoided = guard_avoided(&n);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "| %s | %s | %s |\n", avoided[i].id, avoided[i].title, avoided[i].how);
	buf_done(&b);
}
