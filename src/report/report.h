/* SPDX-License-Identifier: MIT */
/* `thaw report`: one screen for a person, or everything as JSON ("thaw.report/1"). */
#ifndef THAW_REPORT_REPORT_H
#define THAW_REPORT_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/summary/summary.h"

#define REPORT_SCHEMA "thaw.report/1"

struct report_opts {
	uint64_t top; /* rows a table; 0: what fits one screen (text), all (JSON) */
	bool colour;
};

void report_text(const struct summary *s, const struct report_opts *opts, FILE *out);
void report_json(const struct summary *s, const struct report_opts *opts, FILE *out);
void report_put_json(const struct summary *s, const struct report_opts *opts, struct json *j);

/* lead.c: the first sentences. */
void report_lead(const struct summary *s, bool colour, FILE *out);

#endif
