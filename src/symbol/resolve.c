// SPDX-License-Identifier: MIT
/*
 * Starts a child that opens the files with our rights, gives up these rights, reads the files and
 * answers. Only the child waits for a file system that does not answer. If it dies over the debug
 * information, a second child reads the symbol tables alone, with the bounded parser of elf/. If
 * that dies too, the addresses have no names.
 */
#include "symbol/symbol.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/answer.h"
#include "symbol/files.h"
#include "symbol/names.h"
#include "symbol/perfmap.h"
#include "symbol/worker.h"

#define PATIENCE_NS (20 * NSEC_PER_SEC)
#define STILL_NS (2 * NSEC_PER_SEC)
#define RESERVE 4 /* a quarter of the time is kept for a second try */
#define MEMORY_MAX (2ull << 30)
#define ANSWER_MAX (512u << 20)

static uint64_t until(const struct symbols_query *q)
{
	uint64_t mine = clock_mono_ns() + PATIENCE_NS;

	return q->until_ns && q->until_ns < mine ? q->until_ns : mine;
}

/* The one of two callbacks that gets the answer. */
struct asker {
	symbols_fn *fn;
	symbols_data_fn *data_fn;
	void *ctx;
};

static int resolve_ask(const struct symbols_query *q, worker_open_fn *open, worker_fn *work,
		       void *job, const struct asker *by)
{
	struct worker w = {.kind = WORKER_PARSER,
			   .open = open,
			   .fn = work,
			   .ctx = job,
			   .until_ns = until(q),
			   .still_ns = q->still_ns ? q->still_ns : STILL_NS,
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

/* ---- in the child, before the walls are up ---- */

struct opening {
	const struct symbols_query *q;
	struct names_job job;
	bool *has_dwarf; /* both can see it */
};

/* The parser finds its files at fixed places, in the order of the array. */
static int open_names(void *ctx, int *fds, size_t *ret_n)
{
	struct opening *o = ctx;
	struct files f;
	size_t n = 1;
	int rc = files_find(o->q, &f);

	if (rc)
		return rc;
	*o->has_dwarf = f.has_dwarf;
	o->job.dwarf &= f.has_dwarf;
	fds[0] = f.main.fd;
	if (f.debug.fd >= 0) {
		o->job.debug = SANDBOX_FILES + (int)n;
		fds[n++] = f.debug.fd;
	}
	if (f.alt.fd >= 0) {
		o->job.alt = SANDBOX_FILES + (int)n;
		fds[n++] = f.alt.fd;
	}
	*ret_n = n;
	return 0;
}

static int work_names(void *ctx)
{
	return names_work(&((struct opening *)ctx)->job);
}

static int work_data(void *ctx)
{
	return names_work_data(&((struct opening *)ctx)->job);
}

/* ---- in the parent ---- */

static int ask_names(const struct symbols_query *q, bool dwarf, bool *has_dwarf,
		     const struct asker *by)
{
	struct opening o = {.q = q,
			    .has_dwarf = has_dwarf,
			    .job = {.main = SANDBOX_FILES,
				    .debug = -1,
				    .alt = -1,
				    .dwarf = dwarf,
				    .offsets = q->offsets,
				    .n = q->n}};

	return resolve_ask(q, open_names, by->data_fn ? work_data : work_names, &o, by);
}

/* Did it fail while reading? A file that could not be opened has its own message. */
static bool was_read(int rc)
{
	return rc == -ETIMEDOUT || rc == -ECHILD || rc == -EMSGSIZE || rc == -EBADMSG;
}

static int resolve_resolve(const struct symbols_query *q, const struct asker *by)
{
	uint64_t now = clock_mono_ns(), end = until(q);
	bool *has_dwarf = mmap(NULL, sizeof(*has_dwarf), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct symbols_query first = *q;
	char why[512];
	int rc;

	if (has_dwarf == MAP_FAILED)
		return err_set(-errno, "no memory: %s", strerror(errno));
	if (end > now)
		first.until_ns = end - (end - now) / RESERVE;
	rc = ask_names(&first, true, has_dwarf, by);
	if (rc && was_read(rc) && *has_dwarf) {
		err_add(rc, "%s: its debug information could not be read", q->path);
		snprintf(why, sizeof(why), "%s", err_msg());
		rc = ask_names(q, false, has_dwarf, by) ? rc : SYMBOLS_PARTLY;
		err_put(why);
	} else if (rc && (was_read(rc) || rc == -EHOSTDOWN)) {
		err_add(rc, "%s: its symbols could not be read", q->path);
	}
	munmap(has_dwarf, sizeof(*has_dwarf));
	return rc;
}

int symbols_resolve(const struct symbols_query *q, symbols_fn *fn, void *ctx)
{
	return resolve_resolve(q, &(struct asker){.fn = fn, .ctx = ctx});
}

int symbols_resolve_data(const struct symbols_query *q, symbols_data_fn *fn, void *ctx)
{
	return resolve_resolve(q, &(struct asker){.data_fn = fn, .ctx = ctx});
}

struct jit_opening {
	struct perfmap_job job;
	uint32_t pid;
};

static int open_jit(void *ctx, int *fds, size_t *ret_n)
{
	const struct jit_opening *o = ctx;

	*ret_n = 1;
	return perfmap_open(o->pid, &fds[0]);
}

static int work_jit(void *ctx)
{
	return perfmap_work(&((struct jit_opening *)ctx)->job);
}

int symbols_resolve_jit(const struct symbols_query *q, symbols_fn *fn, void *ctx)
{
	struct jit_opening o = {.job = {.addresses = q->offsets, .n = q->n}, .pid = q->pid};
	int rc = resolve_ask(q, open_jit, work_jit, &o, &(struct asker){.fn = fn, .ctx = ctx});

	return was_read(rc) || rc == -EHOSTDOWN
		       ? err_add(rc, "the perf map of process %u could not be read", q->pid)
		       : rc;
}
