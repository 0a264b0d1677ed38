/* SPDX-License-Identifier: MIT */
/*
 * The page: one document with its style and script, embedded in thaw (embed.S). The data that it
 * shows is in the document, as blocks, or comes from the server that sent the page.
 *
 * Names out of a capture never become markup: the title is escaped, everything else is base64.
 */
#ifndef THAW_HTML_PAGE_H
#define THAW_HTML_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "export/export.h"

enum page_host {
	PAGE_FILE,   /* everything is in the file: no address may be reached */
	PAGE_SERVED, /* by thaw itself: only that may be reached */
};

/* What may be NULL is left out. */
struct page_head {
	const char *title;
	const char *token;    /* by which the server knows its page: letters and digits */
	const char *start;    /* what is shown first, as in an address: "sel=0-5&tab=flame" */
	const char *compared; /* JSON: struct Compared of viewer/page.ts */
};

/* The document up to its data, and from there on. */
void page_begin(struct buf *out, enum page_host host, const struct page_head *head);
void page_end(struct buf *out);

/* The content security policy in the document; a server repeats it in a header. */
void page_policy(struct buf *out, enum page_host host);

/* The whole page, with the engine and the capture in it. Memory does not grow with the capture. */
extern const struct exporter export_html;

#endif
