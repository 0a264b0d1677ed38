/* SPDX-License-Identifier: MIT */
/* A page of text for a person: tables that fit its width, sentences that wrap. */
#ifndef THAW_VIEW_PAGE_H
#define THAW_VIEW_PAGE_H

#include <stdio.h>

#include "model/summary.h"

struct page {
	const struct summary *s;
	FILE *out;
	bool colour;
	size_t width;
	uint64_t top; /* rows a table; 0: what fits */
};

static inline size_t page_rows(const struct page *p, size_t have, size_t fits)
{
	size_t most = p->top ? p->top : fits;

	return have < most ? have : most;
}

/* An empty line, then the title of a table, which is the heading of its first column too. */
void page_title(const struct page *p, const char *title, int width);
/* Switches a colour on ("31") or off ("0"). */
void page_tint(const struct page *p, const char *code);

/* A line, if `what` was given up by a step (enum step) before the end of what is shown. */
void page_until(const struct page *p, uint32_t step, const char *what);

/* The same for the rate of samples. */
void page_rarer(const struct page *p);

/* The sections of a report, in their order. */
void page_stalls(const struct page *p);
void page_threads(const struct page *p);
void page_functions(const struct page *p);
void page_waits(const struct page *p);
void page_locks(const struct page *p);
void page_blame(const struct page *p);
void page_steps(const struct page *p);
void page_lost(const struct page *p);
/* What the engine cannot see, in a sentence; nothing if it sees all. */
void page_unseen(const struct page *p);

#endif
