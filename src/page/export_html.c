// SPDX-License-Identifier: MIT
/* A page that has all in it: the document, the engine, and the capture as plain chunks. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "page/block.h"
#include "page/embed.h"
#include "page/page.h"
#include "store/plain.h"

static int put_text(FILE *out, const struct buf *text)
{
	errno = EIO;
	return fwrite(text->p, 1, text->len, out) == text->len
		       ? 0
		       : err_set(-errno, "%s", strerror(errno));
}

static int put_engine(FILE *out)
{
	struct block b;
	int rc;

	block_begin(&b, "engine", out);
	rc = block_put(&b, page_engine, (size_t)(page_engine_end - page_engine));
	return rc ? rc : block_end(&b);
}

static int put_plain(void *arg, const void *p, size_t n)
{
	return zblock_put(arg, p, n);
}

static int put_capture(struct reader *r, FILE *out)
{
	struct zblock b;
	int rc = zblock_begin(&b, "capture", out);

	if (rc)
		return rc;
	rc = plain_copy(r, put_plain, &b);
	rc = rc ? rc : zblock_end(&b);
	zblock_done(&b);
	return rc;
}

static int run(const struct export_job *job)
{
	FILE *out = job->out;
	struct buf text = {0};
	int rc;

	page_begin(&text, PAGE_FILE, job->title, NULL);
	rc = put_text(out, &text);
	rc = rc ? rc : put_engine(out);
	rc = rc ? rc : put_capture(job->reader, out);
	buf_clear(&text);
	page_end(&text);
	rc = rc ? rc : put_text(out, &text);
	buf_done(&text);
	return rc;
}

const struct exporter export_html = {
	.name = "html",
	.words = "a page to look at in a browser, with everything in it",
	.suffix = ".html",
	.binary = true,
	.whole = true,
	.run = run,
};
