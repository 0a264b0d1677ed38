// SPDX-License-Identifier: MIT
/*
 * The tables of tables.def as a SQLite database. SQLite writes files, and the output may be a pipe:
 * so the database is made in a temporary file, unlinked once it is open, and copied to the output
 * when it is whole. Rows come from a walk, so memory does not grow with them; holders are known
 * only when all signs of a lock have been seen, and are added at the end. No other process has the
 * database open, so SQLite needs no locks and no journal.
 */
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "export/export.h"
#include "export/tables.h"
#include "model/charge/main_holder.h"
#include "model/summary/parts.h"
#include "store/reader.h"

enum { SHOW_EVERY = 1 << 10 };

struct writing {
	const struct export_job *job;
	sqlite3 *db;
	struct tables tables;
	sqlite3_stmt *insert[TABLES];
	sqlite3_stmt *sign; /* who was seen to hold which lock */
	struct map stacks;  /* whose frames have been written */
	uint64_t rows[TABLES], lock_waits;
	uint64_t steps, all_steps; /* of SQLite, for the indices */
};

/*
 * Each part's share of the time, measured with a capture of ten million events: rows, holders,
 * indices, and the copy.
 */
static const double parts[] = {0, 0.67, 0.70, 0.98, 1};

static void sqlite_show(const struct writing *w, unsigned part, double done)
{
	if (w->job->progress)
		w->job->progress(w->job->progress_arg,
				 parts[part] + done * (parts[part + 1] - parts[part]));
}

static void show_rows(void *arg, double done)
{
	sqlite_show(arg, 0, done);
}

static int sqlite_failed(const struct writing *w)
{
	return err_set(-EIO, "SQLite: %s", sqlite3_errmsg(w->db));
}

static int run_sql(struct writing *w, const char *sql)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) ? sqlite_failed(w) : 0;
}

static int sqlite_prepare(struct writing *w, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v2(w->db, sql, -1, ret, NULL) ? sqlite_failed(w) : 0;
}

static int sqlite_step(struct writing *w, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st) == SQLITE_DONE ? 0 : sqlite_failed(w);

	sqlite3_reset(st);
	return rc;
}

static int sqlite_insert(struct writing *w, enum table t)
{
	w->rows[t]++;
	return sqlite_step(w, w->insert[t]);
}

static void bind(sqlite3_stmt *st, unsigned column, const struct cell *c)
{
	if (c->type == CELL_INT)
		sqlite3_bind_int64(st, (int)column + 1, c->i);
	else if (c->type == CELL_TEXT)
		sqlite3_bind_text(st, (int)column + 1, c->s, -1,
				  c->brief ? SQLITE_TRANSIENT : SQLITE_STATIC);
	else
		sqlite3_bind_null(st, (int)column + 1);
}

static int create_table(struct writing *w, enum table t)
{
	struct buf b = {0};
	int rc;

	buf_printf(&b, "CREATE TABLE %s(", tables_name(t));
	tables_columns_sql(t, &b);
	buf_printf(&b, ")");
	rc = run_sql(w, buf_cstr(&b));
	buf_clear(&b);
	buf_printf(&b, "INSERT INTO %s VALUES (", tables_name(t));
	for (unsigned i = 0; i < tables_width(t); i++)
		buf_printf(&b, "%s?", i ? "," : "");
	buf_printf(&b, ")");
	rc = rc ? rc : sqlite_prepare(w, buf_cstr(&b), &w->insert[t]);
	buf_done(&b);
	return rc;
}

/* Their columns as tables.def has them. */
static int create_sums(struct writing *w)
{
	return run_sql(w, "CREATE VIEW interval_sums AS SELECT thread_id, tid, pid, kind,"
			  " count(*) AS intervals, sum(ns) AS total_ns, min(ns) AS min_ns,"
			  " max(ns) AS max_ns FROM intervals GROUP BY thread_id, kind;"
			  "CREATE VIEW wait_sums AS SELECT thread_id, tid, pid, reason,"
			  " count(*) AS waits, sum(ns) AS total_ns, min(ns) AS min_ns,"
			  " max(ns) AS max_ns FROM waits GROUP BY thread_id, reason;");
}

/* No journal, no syncing: if the export fails, the database is thrown away. */
static int sqlite_begin(struct writing *w)
{
	int rc =
		run_sql(w, "PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
			   "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-16384;"
			   "PRAGMA temp_store=FILE;"
			   "CREATE TEMP TABLE signs(lock, ts, thread, next, what);");

	for (unsigned t = 0; !rc && t < TABLES; t++)
		rc = t == TABLE_INTERVAL_SUMS || t == TABLE_WAIT_SUMS ? 0 : create_table(w, t);
	rc = rc ? rc : create_sums(w);
	rc = rc ? rc : sqlite_prepare(w, "INSERT INTO signs VALUES (?,?,?,?,?)", &w->sign);
	return rc ? rc : run_sql(w, "BEGIN");
}

static int sqlite_add_stack(struct writing *w, int64_t stack)
{
	bool fresh;
	size_t n;
	int rc = 0;

	if (!stack)
		return 0;
	map_put(&w->stacks, (uint64_t)stack, &fresh);
	if (!fresh)
		return 0;
	n = tables_frames(&w->tables, stack);
	for (size_t i = 0; !rc && i < n; i++) {
		sqlite3_stmt *st = w->insert[TABLE_FRAMES];

		for (unsigned c = 0; c < tables_width(TABLE_FRAMES); c++) {
			struct cell cell;

			tables_frame(&w->tables, i, c, &cell);
			bind(st, c, &cell);
		}
		rc = sqlite_insert(w, TABLE_FRAMES);
	}
	return rc;
}

/* The columns that hold a stack. */
static int add_stacks(struct writing *w, const struct cell *c, bool is_stack)
{
	return is_stack && c->type == CELL_INT ? sqlite_add_stack(w, c->i) : 0;
}

static bool chosen_row(const struct writing *w, enum table t, size_t row)
{
	const struct timeline *line = &w->job->model->timeline;

	return t != TABLE_THREADS || export_wants(w->job, line->threads.v[row]);
}

static int add_rows(struct writing *w, enum table t)
{
	int rc = 0;

	for (size_t row = 0; !rc && row < tables_rows(&w->tables, t); row++) {
		struct cell cell, stack = {.type = CELL_NULL};

		if (!chosen_row(w, t, row))
			continue;
		for (unsigned c = 0; c < tables_width(t); c++) {
			tables_cell(&w->tables, t, row, c, &cell);
			bind(w->insert[t], c, &cell);
			if (t == TABLE_STALLS && c == COL(STALLS, stack))
				stack = cell;
		}
		rc = sqlite_insert(w, t);
		rc = rc ? rc : add_stacks(w, &stack, true);
	}
	return rc;
}

static void bind_int(sqlite3_stmt *st, unsigned column, int64_t v)
{
	sqlite3_bind_int64(st, (int)column + 1, v);
}

/* These columns are the same in intervals, waits and samples. */
static void bind_thread(sqlite3_stmt *st, const struct thread *th)
{
	bind_int(st, COL(INTERVALS, thread_id), th->index);
	bind_int(st, COL(INTERVALS, tid), th->tid);
	if (th->pid)
		bind_int(st, COL(INTERVALS, pid), th->pid);
	else
		sqlite3_bind_null(st, (int)COL(INTERVALS, pid) + 1);
}

static void bind_times(struct writing *w, sqlite3_stmt *st, const struct interval *iv)
{
	bind_int(st, COL(INTERVALS, start), tables_time(&w->tables, iv->start));
	bind_int(st, COL(INTERVALS, end), tables_time(&w->tables, iv->end));
	bind_int(st, COL(INTERVALS, ns), (int64_t)(iv->end - iv->start));
}

static void sqlite_word(sqlite3_stmt *st, unsigned column, const char *s)
{
	if (s)
		sqlite3_bind_text(st, (int)column + 1, s, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, (int)column + 1);
}

static const char *reason_of(const struct writing *w, const struct interval *iv)
{
	if (iv->kind == INTERVAL_WAITING)
		return reason_name(w->job->model->tally.waits.v[iv->row].verdict.reason);
	if (iv->kind == INTERVAL_RUNNABLE)
		return reason_name(iv->state & STATE_THROTTLED ? REASON_THROTTLED
							       : REASON_RUN_QUEUE);
	return NULL;
}

static int add_interval(struct writing *w, const struct interval *iv)
{
	sqlite3_stmt *st = w->insert[TABLE_INTERVALS];

	bind_thread(st, iv->thread);
	bind_times(w, st, iv);
	sqlite_word(st, COL(INTERVALS, kind), interval_kind_name(iv->kind));
	sqlite_word(st, COL(INTERVALS, reason), reason_of(w, iv));
	if (iv->kind == INTERVAL_RUNNING)
		bind_int(st, COL(INTERVALS, cpu), iv->cpu);
	else
		sqlite3_bind_null(st, (int)COL(INTERVALS, cpu) + 1);
	return sqlite_insert(w, TABLE_INTERVALS);
}

static int sqlite_add_wait(struct writing *w, const struct interval *iv)
{
	const struct table_wait wait = {.thread = iv->thread,
					.row = &w->job->model->tally.waits.v[iv->row],
					.woken = iv->waker.known,
					.ctx = iv->waker.ctx,
					.waker = iv->waker.thread,
					.waker_tid = iv->waker.tid,
					.waker_kstack = iv->waker.kstack,
					.waker_ustack = iv->waker.ustack};
	sqlite3_stmt *st = w->insert[TABLE_WAITS];
	struct cell cell;
	int rc = 0;

	bind_thread(st, iv->thread);
	bind_times(w, st, iv);
	for (unsigned c = COL(WAITS, ns) + 1; !rc && c < tables_width(TABLE_WAITS); c++) {
		tables_wait(&w->tables, &wait, c, &cell);
		bind(st, c, &cell);
		rc = add_stacks(w, &cell, c == COL(WAITS, stack) || c == COL(WAITS, waker_stack));
	}
	w->lock_waits += wait.row->lock != 0;
	return rc ? rc : sqlite_insert(w, TABLE_WAITS);
}

static int sqlite_on_interval(void *arg, const struct interval *iv)
{
	struct writing *w = arg;
	unsigned kinds = w->job->kinds;
	bool lock = iv->kind == INTERVAL_WAITING &&
		    reason_has(w->job->model->tally.waits.v[iv->row].verdict.reason, TRAIT_LOCK);
	int rc = 0;

	if (!export_wants(w->job, iv->thread) || !w->job->model->facts.has_switches)
		return 0;
	if (EXPORT_HAS(kinds, iv->kind == INTERVAL_RUNNING ? EXPORT_CPU : EXPORT_WAIT))
		rc = add_interval(w, iv);
	if (!rc && iv->kind == INTERVAL_WAITING &&
	    (EXPORT_HAS(kinds, EXPORT_WAIT) || (lock && EXPORT_HAS(kinds, EXPORT_LOCK))))
		rc = sqlite_add_wait(w, iv);
	return rc;
}

static int sqlite_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			    uint32_t row)
{
	struct writing *w = arg;
	const struct sample_row *r = &w->job->model->tally.samples.v[row];
	int64_t stack = tables_stack(&w->tables, r->kstack, r->ustack, false);
	sqlite3_stmt *st = w->insert[TABLE_SAMPLES];
	struct cell c;
	int rc;

	if (!export_wants(w->job, th) || !EXPORT_HAS(w->job->kinds, EXPORT_CPU))
		return 0;
	rc = sqlite_add_stack(w, stack);
	bind_thread(st, th);
	if (!model_timeless(w->tables.m))
		bind_int(st, COL(SAMPLES, ts), tables_time(&w->tables, ts));
	if (!(w->tables.m->facts.unseen & UNSEEN_CPUS))
		bind_int(st, COL(SAMPLES, cpu), cpu);
	cell_id(&c, (uint64_t)stack);
	bind(st, COL(SAMPLES, stack), &c);
	return rc ? rc : sqlite_insert(w, TABLE_SAMPLES);
}

static int sqlite_on_seen(void *arg, const struct seen *seen)
{
	struct writing *w = arg;

	if (!EXPORT_HAS(w->job->kinds, EXPORT_LOCK) && !EXPORT_HAS(w->job->kinds, EXPORT_WAIT))
		return 0;
	bind_int(w->sign, 0, seen->lock);
	bind_int(w->sign, 1, tables_time(&w->tables, seen->ts));
	bind_int(w->sign, 2, seen->thread);
	bind_int(w->sign, 3, seen->next);
	bind_int(w->sign, 4, seen->what);
	return sqlite_step(w, w->sign);
}

static int add_wake(struct writing *w, const struct event *ev)
{
	sqlite3_stmt *st = w->insert[TABLE_WAKES];
	const struct thread *wakee = tables_thread_at(&w->tables, ev->waking.wakee, ev->ts);
	struct cell cell;
	int rc = 0;

	if (w->job->thread && (!wakee || !export_wants(w->job, wakee)))
		return 0;
	for (unsigned c = 0; !rc && c < tables_width(TABLE_WAKES); c++) {
		tables_wake(&w->tables, ev, c, &cell);
		bind(st, c, &cell);
		rc = add_stacks(w, &cell, c == COL(WAKES, stack));
	}
	return rc ? rc : sqlite_insert(w, TABLE_WAKES);
}

static int add_loss(struct writing *w, const struct event *ev)
{
	sqlite3_stmt *st = w->insert[TABLE_LOSSES];

	for (unsigned c = 0; c < tables_width(TABLE_LOSSES); c++) {
		struct cell cell;

		tables_loss(&w->tables, ev, c, &cell);
		bind(st, c, &cell);
	}
	return sqlite_insert(w, TABLE_LOSSES);
}

static int sqlite_on_event(void *arg, const struct event *ev, bool inside)
{
	struct writing *w = arg;

	if (ev->kind == EV_LOST) {
		const struct timeline *t = &w->job->model->timeline;
		uint64_t span = ev->lost.span_ns < ev->ts ? ev->lost.span_ns : ev->ts;

		return ev->ts >= t->from && ev->ts - span < t->to ? add_loss(w, ev) : 0;
	}
	if (ev->kind != EV_WAKING || !inside || !EXPORT_HAS(w->job->kinds, EXPORT_WAIT))
		return 0;
	return add_wake(w, ev);
}

/* ---- who held the locks ---- */

/* The signs of one lock at a time: waits come sorted by lock, since each may look at many signs. */
struct signs {
	int64_t lock; /* -1: none yet */
	VEC(struct seen) list;
	struct main_holders holders;
};

static void signs_done(struct signs *s)
{
	main_holders_done(&s->holders);
	vec_done(&s->list);
}

static int read_signs(struct writing *w, sqlite3_stmt *st, int64_t lock, struct signs *s)
{
	int rc;

	signs_done(s);
	*s = (struct signs){.lock = lock};
	bind_int(st, 0, lock);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		vec_push(&s->list, (struct seen){.ts = (uint64_t)sqlite3_column_int64(st, 0),
						 .thread = (uint32_t)sqlite3_column_int(st, 1),
						 .next = (uint32_t)sqlite3_column_int(st, 2),
						 .what = (uint8_t)sqlite3_column_int(st, 3)});
	sqlite3_reset(st);
	s->holders.seen = s->list.v;
	s->holders.n = s->list.n;
	return rc == SQLITE_DONE ? 0 : sqlite_failed(w);
}

static int add_holder(struct writing *w, sqlite3_stmt *wait, sqlite3_stmt *signs_of,
		      sqlite3_stmt *set, struct signs *signs)
{
	int64_t lock = sqlite3_column_int64(wait, 1), start = sqlite3_column_int64(wait, 2);
	int64_t end = sqlite3_column_int64(wait, 3), thread = sqlite3_column_int64(wait, 4);
	uint32_t holder;
	int rc = 0;

	if (!lock_has_holders(&w->job->model->locks.list.v[lock]))
		return 0;
	if (lock != signs->lock)
		rc = read_signs(w, signs_of, lock, signs);
	if (rc)
		return rc;
	holder = main_holder(&signs->holders, (uint64_t)start, (uint64_t)end, (uint32_t)thread + 1);
	if (!holder)
		return 0;
	bind_int(set, 0, (int64_t)holder - 1);
	bind_int(set, 1, sqlite3_column_int64(wait, 0));
	return sqlite_step(w, set);
}

static int add_holders(struct writing *w)
{
	static const char *const texts[] = {
		"SELECT rowid, lock_id, start, end, thread_id FROM waits "
		"WHERE lock_id IS NOT NULL ORDER BY lock_id, rowid",
		"SELECT ts, thread, next, what FROM signs WHERE lock = ? ORDER BY ts, rowid",
		"UPDATE waits SET holder_id = ? WHERE rowid = ?"};
	sqlite3_stmt *st[ARRAY_LEN(texts)] = {NULL};
	struct signs signs = {.lock = -1};
	uint64_t n = 0;
	int rc = run_sql(w, "CREATE INDEX temp.signs_of ON signs(lock, ts)"), got = SQLITE_DONE;

	for (size_t i = 0; !rc && i < ARRAY_LEN(texts); i++)
		rc = sqlite_prepare(w, texts[i], &st[i]);
	while (!rc && (got = sqlite3_step(st[0])) == SQLITE_ROW) {
		rc = add_holder(w, st[0], st[1], st[2], &signs);
		if (!(++n % SHOW_EVERY))
			sqlite_show(w, 1, (double)n / (double)w->lock_waits);
	}
	if (!rc && got != SQLITE_DONE)
		rc = sqlite_failed(w);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		sqlite3_finalize(st[i]);
	signs_done(&signs);
	return rc ? rc : run_sql(w, "DROP TABLE temp.signs");
}

/* ---- indices ---- */

static const struct {
	enum table table;
	const char *sql;
} indices[] = {
	{TABLE_THREADS, "CREATE INDEX threads_id ON threads(id)"},
	{TABLE_LOCKS, "CREATE INDEX locks_id ON locks(id)"},
	{TABLE_FRAMES, "CREATE INDEX frames_stack ON frames(stack, depth)"},
	{TABLE_INTERVALS, "CREATE INDEX intervals_thread ON intervals(thread_id, start)"},
	{TABLE_WAITS, "CREATE INDEX waits_thread ON waits(thread_id, start)"},
	{TABLE_WAITS, "CREATE INDEX waits_lock ON waits(lock_id) WHERE lock_id IS NOT NULL"},
	{TABLE_SAMPLES, "CREATE INDEX samples_thread ON samples(thread_id, ts)"},
	{TABLE_WAKES, "CREATE INDEX wakes_ts ON wakes(ts)"},
};

/* SQLite's steps for a row of an index: six to read it, four to insert it. */
enum { STEPS_A_ROW = 10, STEPS_SHOWN = 20000 };

static int show_steps(void *arg)
{
	struct writing *w = arg;

	w->steps += STEPS_SHOWN;
	sqlite_show(w, 2, w->steps < w->all_steps ? (double)w->steps / (double)w->all_steps : 1);
	return 0;
}

static int add_indices(struct writing *w)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(indices); i++)
		w->all_steps += STEPS_A_ROW * w->rows[indices[i].table];
	sqlite3_progress_handler(w->db, STEPS_SHOWN, show_steps, w);
	for (size_t i = 0; !rc && i < ARRAY_LEN(indices); i++)
		rc = run_sql(w, indices[i].sql);
	sqlite3_progress_handler(w->db, 0, NULL, NULL);
	return rc;
}

/* ---- all of it ---- */

static int sqlite_fill(struct writing *w)
{
	const struct export_job *job = w->job;
	const struct walk walk = {.event = sqlite_on_event,
				  .interval = sqlite_on_interval,
				  .sample = sqlite_on_sample,
				  .seen = sqlite_on_seen,
				  .arg = w,
				  .progress = show_rows,
				  .progress_arg = w};
	int rc = sqlite_begin(w);

	rc = rc ? rc : add_rows(w, TABLE_CAPTURE);
	rc = rc ? rc : add_rows(w, TABLE_THREADS);
	rc = rc ? rc : add_rows(w, TABLE_LOCKS);
	rc = rc ? rc : add_rows(w, TABLE_STALLS);
	rc = rc ? rc : model_walk(job->model, job->reader, &walk);
	rc = rc ? rc : add_holders(w);
	sqlite3_finalize(w->sign);
	for (unsigned t = 0; t < TABLES; t++)
		sqlite3_finalize(w->insert[t]);
	rc = rc ? rc : add_indices(w);
	return rc ? rc : run_sql(w, "COMMIT");
}

static int copy_out(const struct writing *w, int fd)
{
	FILE *out = w->job->out;
	char *part = mem_alloc(1 << 16);
	uint64_t done = 0;
	struct stat st;
	ssize_t n;
	int rc = 0;

	if (lseek(fd, 0, SEEK_SET) < 0 || fstat(fd, &st))
		rc = err_set(-errno, "cannot read the database: %s", strerror(errno));
	while (!rc && (n = read(fd, part, 1 << 16))) {
		if (n < 0)
			rc = err_set(-errno, "cannot read the database: %s", strerror(errno));
		else if (fwrite(part, 1, (size_t)n, out) != (size_t)n)
			rc = err_set(-EIO, "it cannot be written");
		else
			sqlite_show(w, 3, (double)done / (double)st.st_size);
		done += n > 0 ? (uint64_t)n : 0;
	}
	free(part);
	return rc;
}

/* Beside the output, if that is a file; else where large temporary files belong. */
static char *sqlite_place(FILE *out)
{
	const char *tmp = getenv("TMPDIR");
	char link[64], target[PATH_MAX];
	struct buf b = {0};
	struct stat st;
	ssize_t n = -1;
	char *path, *slash;

	if (!fstat(fileno(out), &st) && S_ISREG(st.st_mode)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(out));
		n = readlink(link, target, sizeof(target) - 1);
	}
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	if (slash)
		*slash = '\0';
	buf_printf(&b, "%s/thaw-XXXXXX", slash ? target : tmp && *tmp ? tmp : "/var/tmp");
	path = mem_strdup(buf_cstr(&b));
	buf_done(&b);
	return path;
}

static int open_database(struct writing *w, FILE *out, int *ret_fd)
{
	char *path = sqlite_place(out);
	int fd = mkostemp(path, O_CLOEXEC), rc = 0;
	struct stat mine, now;

	if (fd < 0)
		rc = err_set(-errno, "cannot make a temporary file (%s): %s", path,
			     strerror(errno));
	else if (sqlite3_open_v2(path, &w->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
				 NULL) ||
		 sqlite3_exec(w->db, "PRAGMA user_version=1", NULL, NULL, NULL))
		rc = sqlite_failed(w);
	/* The folder's owner could have replaced the file before SQLite opened it. */
	else if (fstat(fd, &mine) || lstat(path, &now) || mine.st_ino != now.st_ino ||
		 mine.st_dev != now.st_dev)
		rc = err_set(-ESTALE, "%s: somebody else has replaced it", path);
	/* Both descriptors are open: without its name, the file vanishes when they close. */
	if (fd >= 0)
		unlink(path);
	free(path);
	*ret_fd = fd;
	return rc;
}

static int sqlite_run(const struct export_job *job)
{
	struct writing w = {.job = job};
	int fd, rc = open_database(&w, job->out, &fd);

	tables_init(&w.tables, job->model, job->summary, reader_stacks(job->reader));
	rc = rc ? rc : sqlite_fill(&w);
	if (sqlite3_close(w.db) && !rc)
		rc = err_set(-EIO, "SQLite does not end");
	rc = rc ? rc : copy_out(&w, fd);
	if (fd >= 0)
		close(fd);
	tables_done(&w.tables);
	map_done(&w.stacks);
	return rc;
}

const struct exporter export_sqlite = {
	.name = "sqlite",
	.words = "a SQLite database with the tables of thaw sql",
	.suffix = ".db",
	.binary = true,
	.kinds = EXPORT_ALL,
	.loading = 0.05,
	.run = sqlite_run,
};
