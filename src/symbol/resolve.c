// SPDX-License-Identifier: MIT
/*
 * The privileged half: opens the files, starts a child that reads them, and takes its answer. If
 * the child dies over the debug information, a second one reads the symbol tables alone, with the
 * bounded parser of elf/; if that dies too, the addresses have no names.
 */
#include "symbol/symbol.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/answer.h"
#include "symbol/files.h"
#include "symbol/names.h"
#include "symbol/perfmap.h"
#include "symbol/worker.h"

#define PATIENCE_NS (20 * NSEC_PER_SEC)
#define RESERVE 4 /* a quarter of the time is kept for a second try */
#define MEMORY_MAX (2ull << 30)
#define ANSWER_MAX (512u << 20)

static uint64_t until(const struct symbols_query *q)
{
	uint64_t mine = clock_mono_ns() + PATIENCE_NS;

	return q->until_ns && q->until_ns < mine ? q->until_ns : mine;
}

/* Who is to hear the answer: one of the two. */
struct asker {
	symbols_fn *fn;
	symbols_data_fn *data_fn;
	void *ctx;
};

static int ask(const struct symbols_query *q, worker_fn *work, void *job, const int *files,
	       size_t n_files, const struct asker *by)
{
	struct worker w = {.kind = WORKER_PARSER,
			   .fn = work,
			   .ctx = job,
			   .files = files,
			   .n_files = n_files,
			   .until_ns = until(q),
			   .answer_max = ANSWER_MAX,
			   .memory = MEMORY_MAX};
	struct buf answer = {0};
	int rc;

	rc = worker_run(&w, &answer);
	if (!rc && by->data_fn)
		rc = answer_parse_data(&answer, q->offsets, q->n, by->data_fn, by->ctx);
	else if (!rc)
		rc = answer_parse(&answer, q->n, by->fn, by->ctx);
	buf_done(&answer);
	return rc;
}

/* The child finds its files at fixed places, in the order of the array. */
static int ask_names(const struct symbols_query *q, const struct files *f, bool dwarf,
		     const struct asker *by)
{
	struct names_job job = {.main = SANDBOX_FILES,
				.debug = -1,
				.alt = -1,
				.dwarf = dwarf,
				.offsets = q->offsets,
				.n = q->n};
	int fds[3] = {f->main.fd};
	size_t n = 1;

	if (f->debug.fd >= 0) {
		job.debug = SANDBOX_FILES + (int)n;
		fds[n++] = f->debug.fd;
	}
	if (f->alt.fd >= 0) {
		job.alt = SANDBOX_FILES + (int)n;
		fds[n++] = f->alt.fd;
	}
	return ask(q, by->data_fn ? names_work_data : names_work, &job, fds, n, by);
}

static int resolve(const struct symbols_query *q, const struct asker *by)
{
	uint64_t now = clock_mono_ns(), end = until(q);
	struct symbols_query first = *q;
	struct files f;
	int rc = files_find(q, &f);

	if (rc) {
		files_close(&f);
		return rc;
	}
	if (f.has_dwarf && end > now)
		first.until_ns = end - (end - now) / RESERVE;
	rc = ask_names(&first, &f, f.has_dwarf, by);
	if (rc && f.has_dwarf) {
		char why[512];

		err_add(rc, "%s: its debug information could not be read", q->path);
		snprintf(why, sizeof(why), "%s", err_msg());
		rc = ask_names(q, &f, false, by) ? rc : SYMBOLS_PARTLY;
		err_put(why);
	} else if (rc) {
		err_add(rc, "%s: its symbols could not be read", q->path);
	}
	files_close(&f);
	return rc;
}

int symbols_resolve(const struct symbols_query *q, symbols_fn *fn, void *ctx)
{
	return resolve(q, &(struct asker){.fn = fn, .ctx = ctx});
}

int symbols_resolve_data(const struct symbols_query *q, symbols_data_fn *fn, void *ctx)
{
	return resolve(q, &(struct asker){.data_fn = fn, .ctx = ctx});
}

int symbols_resolve_jit(const struct symbols_query *q, symbols_fn *fn, void *ctx)
{
	struct perfmap_job job = {.addresses = q->offsets, .n = q->n};
	int fd, rc = perfmap_open(q->pid, &fd);

	if (rc)
		return rc;
	rc = ask(q, perfmap_work, &job, &fd, 1, &(struct asker){.fn = fn, .ctx = ctx});
	close(fd);
	return rc ? err_add(rc, "the perf map of process %u could not be read", q->pid) : 0;
}
