// SPDX-License-Identifier: MIT
/* The document that the build has made (tools/page), with the gaps that it leaves filled. */
#include <string.h>

#include "html/embed.h"
#include "html/page.h"

#define CONNECT "@CONNECT@"
#define META "@META@"
#define TITLE "@TITLE@"
#define DATA "@DATA@"

static const char *const reachable[] = {
	[PAGE_FILE] = "'none'",
	[PAGE_SERVED] = "'self'",
};

struct html_part {
	const char *p, *end;
};

/* The text before a mark; `rest` begins after it. tools/page makes sure that the mark is there. */
static struct html_part html_before(struct html_part *rest, const char *mark)
{
	const char *at = memmem(rest->p, (size_t)(rest->end - rest->p), mark, strlen(mark));
	struct html_part part = {rest->p, at ? at : rest->end};

	rest->p = at ? at + strlen(mark) : rest->end;
	return part;
}

static void html_put(struct buf *out, struct html_part part)
{
	buf_put(out, part.p, (size_t)(part.end - part.p));
}

static void html_put_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (strchr("<>&\"'", c))
			buf_printf(out, "&#%u;", c);
		else
			buf_put_u8(out, c < 0x20 || c == 0x7f ? ' ' : c);
	}
}

static struct html_part document(void)
{
	return (struct html_part){page_document, page_document_end};
}

static void put_meta(struct buf *out, const char *name, const char *content)
{
	if (!content)
		return;
	buf_printf(out, "<meta name=\"%s\" content=\"", name);
	html_put_text(out, content);
	buf_printf(out, "\">\n");
}

void page_begin(struct buf *out, enum page_host host, const struct page_head *head)
{
	struct html_part rest = document();

	html_put(out, html_before(&rest, CONNECT));
	buf_printf(out, "%s", reachable[host]);
	html_put(out, html_before(&rest, META));
	put_meta(out, "thaw-token", head->token);
	put_meta(out, "thaw-start", head->start);
	put_meta(out, "thaw-compared", head->compared);
	html_put(out, html_before(&rest, TITLE));
	html_put_text(out, head->title);
	html_put(out, html_before(&rest, DATA));
}

void page_end(struct buf *out)
{
	struct html_part rest = document();

	html_before(&rest, DATA);
	html_put(out, rest);
}

void page_policy(struct buf *out, enum page_host host)
{
	struct html_part rest = document();

	html_before(&rest, "\"Content-Security-Policy\" content=\"");
	html_put(out, html_before(&rest, CONNECT));
	buf_printf(out, "%s", reachable[host]);
	html_put(out, html_before(&rest, "\""));
}
