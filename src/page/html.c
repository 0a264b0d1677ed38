// SPDX-License-Identifier: MIT
/* The document that the build has made (tools/page), and what it leaves open. */
#include <string.h>

#include "page/embed.h"
#include "page/page.h"

#define CONNECT "@CONNECT@"
#define META "@META@"
#define TITLE "@TITLE@"
#define DATA "@DATA@"

static const char *const reachable[] = {
	[PAGE_FILE] = "'none'",
	[PAGE_SERVED] = "'self'",
};

struct part {
	const char *p, *end;
};

/* What comes before a mark; `rest` begins behind it. tools/page sees to it that the mark is there.
 */
static struct part before(struct part *rest, const char *mark)
{
	const char *at = memmem(rest->p, (size_t)(rest->end - rest->p), mark, strlen(mark));
	struct part part = {rest->p, at ? at : rest->end};

	rest->p = at ? at + strlen(mark) : rest->end;
	return part;
}

static void put(struct buf *out, struct part part)
{
	buf_put(out, part.p, (size_t)(part.end - part.p));
}

static void put_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (strchr("<>&\"'", c))
			buf_printf(out, "&#%u;", c);
		else
			buf_put_u8(out, c < 0x20 || c == 0x7f ? ' ' : c);
	}
}

static struct part document(void)
{
	return (struct part){page_document, page_document_end};
}

static void put_meta(struct buf *out, const char *name, const char *content)
{
	if (!content)
		return;
	buf_printf(out, "<meta name=\"%s\" content=\"", name);
	put_text(out, content);
	buf_printf(out, "\">\n");
}

void page_begin(struct buf *out, enum page_host host, const struct page_head *head)
{
	struct part rest = document();

	put(out, before(&rest, CONNECT));
	buf_printf(out, "%s", reachable[host]);
	put(out, before(&rest, META));
	put_meta(out, "thaw-token", head->token);
	put_meta(out, "thaw-start", head->start);
	put_meta(out, "thaw-compared", head->compared);
	put(out, before(&rest, TITLE));
	put_text(out, head->title);
	put(out, before(&rest, DATA));
}

void page_end(struct buf *out)
{
	struct part rest = document();

	before(&rest, DATA);
	put(out, rest);
}

void page_policy(struct buf *out, enum page_host host)
{
	struct part rest = document();

	before(&rest, "\"Content-Security-Policy\" content=\"");
	put(out, before(&rest, CONNECT));
	buf_printf(out, "%s", reachable[host]);
	put(out, before(&rest, "\""));
}
