/* SPDX-License-Identifier: MIT */
/* The formats of thaw export: the rows of exporters.def, and the ways to list them. */
#ifndef THAW_CMD_FORMATS_H
#define THAW_CMD_FORMATS_H

#include "export/export.h"

/* Ends with NULL. */
extern const struct exporter *const cmd_exporters[];

/* A line a format, for --help. */
void formats_list(FILE *out);
/* All that there is to know about each, for a person at a terminal. */
void formats_text(FILE *out);
/* The same as a table in Markdown: it stands in docs/export.md. */
void formats_table(FILE *out);

#endif
