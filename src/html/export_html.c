// SPDX-License-Identifier: MIT
/* A page with everything in it: the document, the engine, and the capture as plain chunks. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "html/block.h"
#include "html/embed.h"
#include "html/page.h"
#include "store/inspect.h"
#include "store/plain.h"

static int export_html_put_text(FILE *out, const struct buf *text)
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

struct packing {
	struct zblock block;
	const struct export_job *job;
	size_t parts, of; /* a chunk is put as two: its header, its payload */
};

static int put_plain(void *arg, const void *p, size_t n)
{
	struct packing *k = arg;
	double done = (double)++k->parts / (double)k->of;

	if (k->job->progress)
		k->job->progress(k->job->progress_arg, done < 1 ? done : 1);
	return zblock_put(&k->block, p, n);
}

static int put_capture(const struct export_job *job)
{
	struct packing k = {.job = job};
	int rc = zblock_begin(&k.block, "capture", job->out);

	if (rc)
		return rc;
	while (reader_chunk(job->reader, k.of / 2))
		k.of += 2;
	rc = plain_copy(job->reader, put_plain, &k);
	rc = rc ? rc : zblock_end(&k.block);
	zblock_done(&k.block);
	return rc;
}

static int html_export_run(const struct export_job *job)
{
	struct page_head head = {
		.title = job->title, .start = job->start, .compared = job->compared};
	FILE *out = job->out;
	struct buf text = {0};
	int rc;

	page_begin(&text, PAGE_FILE, &head);
	rc = export_html_put_text(out, &text);
	rc = rc ? rc : put_engine(out);
	rc = rc ? rc : put_capture(job);
	buf_clear(&text);
	page_end(&text);
	rc = rc ? rc : export_html_put_text(out, &text);
	buf_done(&text);
	return rc;
}

const struct exporter export_html = {
	.name = "html",
	.words = "a page to look at in a browser, with everything in it",
	.suffix = ".html",
	.binary = true,
	.whole = true,
	.run = html_export_run,
};
