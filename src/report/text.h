/* SPDX-License-Identifier: MIT */
/* A report as text for a person: tables that fit its width, sentences that wrap. */
#ifndef THAW_REPORT_TEXT_H
#define THAW_REPORT_TEXT_H

#include <stdio.h>

#include "model/summary/summary.h"

struct text_report {
	const struct summary *s;
	FILE *out;
	bool colour;
	size_t width;
	uint64_t top; /* rows a table; 0: what fits */
};

static inline size_t text_rows(const struct text_report *p, size_t have, size_t fits)
{
	size_t most = p->top ? p->top : fits;

	return have < most ? have : most;
}

/* An empty line, then the title of a table, which also heads its first column. */
void text_title(const struct text_report *p, const char *title, int width);
/* Switches a colour on ("31") or off ("0"). */
void text_tint(const struct text_report *p, const char *code);

/* Prints a line if a step (enum step) gave up `what` before the end of the window. */
void text_until(const struct text_report *p, uint32_t step, const char *what);

/* The same for the rate of samples. */
void text_rarer(const struct text_report *p);

/* The sections of a report, in their order. */
void text_stalls(const struct text_report *p);
void text_threads(const struct text_report *p);
void text_functions(const struct text_report *p);
void text_waits(const struct text_report *p);
void text_locks(const struct text_report *p);
void text_blame(const struct text_report *p);
void text_steps(const struct text_report *p);
void text_lost(const struct text_report *p);
/* What the engine cannot see, in a sentence; nothing if it sees all. */
void text_unseen(const struct text_report *p);

#endif
