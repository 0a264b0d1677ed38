// SPDX-License-Identifier: MIT
/*
 * heat?kind=samples|wait|reason:NAME[&threads][&cols=240][&rows=50]   binary
 *
 * The recording folded like text: a column is a second (shorter in short recordings, longer in long
 * ones, then a round number of them), a row a part of it, and a cell how many samples, or how much
 * waiting, there was. Cells are in the order of time, one column after the other, so a wait that
 * covers many of them is three numbers: its ends, and a difference for what lies between.
 *
 *   u32 cols, rows, ns_per_col (low, high), ns_per_row (low, high), cells[cols * rows]
 *
 * A cell is a count of samples, or microseconds, rounded so that the cells add up to the rounded
 * total.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/ask.h"

#define COLS_MAX 10000
#define ROWS_MAX 1000
#define COLS_FEW 20    /* recordings of fewer seconds get shorter columns, */
#define COLS_SHORT 120 /* at most this many */

struct heat {
	uint64_t cols, rows, col_ns, row_ns;
	uint64_t *part; /* by cell: of those that a wait covers in part */
	int64_t *whole; /* the same, as differences: of those that it covers whole */
};

static uint64_t cells_of(const struct heat *h)
{
	return h->cols * h->rows;
}

static uint64_t columns_for(uint64_t duration, uint64_t col_ns)
{
	return duration / col_ns + 1;
}

/* 1, 2, 5, 10, ...; from seconds on, the steps of a clock. */
static uint64_t fitting(uint64_t duration, uint64_t most, uint64_t first)
{
	static const uint64_t steps[] = {1000000,
					 2000000,
					 5000000,
					 10000000,
					 20000000,
					 50000000,
					 100000000,
					 200000000,
					 500000000,
					 NSEC_PER_SEC,
					 2 * NSEC_PER_SEC,
					 5 * NSEC_PER_SEC,
					 10 * NSEC_PER_SEC,
					 30 * NSEC_PER_SEC,
					 60 * NSEC_PER_SEC,
					 300 * NSEC_PER_SEC,
					 600 * NSEC_PER_SEC,
					 3600 * NSEC_PER_SEC};
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i] >= first && columns_for(duration, steps[i]) <= most)
			return steps[i];
	for (ns = 24 * 3600 * NSEC_PER_SEC; columns_for(duration, ns) > most; ns *= 2)
		;
	return ns;
}

static void lay_out(struct heat *h, uint64_t duration, uint64_t cols, uint64_t rows)
{
	uint64_t few = cols < COLS_SHORT ? cols : COLS_SHORT;

	if (duration / NSEC_PER_SEC < COLS_FEW)
		h->col_ns = fitting(duration, few, 0);
	else
		h->col_ns = fitting(duration, cols, NSEC_PER_SEC);
	h->rows = rows;
	h->row_ns = (h->col_ns + rows - 1) / rows;
	h->cols = columns_for(duration, h->col_ns);
}

/* Rows are rounded up, so the last one of a column may be shorter than the others. */
static uint64_t cell_at(const struct heat *h, uint64_t ts)
{
	uint64_t col = ts / h->col_ns, row = ts % h->col_ns / h->row_ns;

	return col < h->cols ? col * h->rows + row : cells_of(h) - 1;
}

static uint64_t cell_start(const struct heat *h, uint64_t cell)
{
	uint64_t in = cell % h->rows * h->row_ns;

	return cell / h->rows * h->col_ns + (in < h->col_ns ? in : h->col_ns);
}

static void heat_add_wait(struct heat *h, uint64_t start, uint64_t end)
{
	uint64_t first = cell_at(h, start), last = cell_at(h, end - 1);

	if (first == last) {
		h->part[first] += end - start;
		return;
	}
	h->part[first] += cell_start(h, first + 1) - start;
	h->part[last] += end - cell_start(h, last);
	h->whole[first + 1]++;
	h->whole[last]--;
}

/*
 * The cell in which the last wait ended: most waits are shorter than a cell, and the next is in it
 * too.
 */
struct last_cell {
	uint64_t from, to, *part;
};

static inline void add_one(struct heat *h, struct last_cell *last, uint64_t start, uint64_t end)
{
	uint64_t cell;

	if (start >= last->from && end <= last->to) {
		*last->part += end - start;
		return;
	}
	heat_add_wait(h, start, end);
	cell = cell_at(h, end - 1);
	*last = (struct last_cell){cell_start(h, cell), cell_start(h, cell + 1), &h->part[cell]};
}

static void add_waits(struct heat *h, const struct lane *l, uint64_t reasons)
{
	struct last_cell last = {0};

	for (size_t i = 0; i < l->n; i += LANE_BLOCK) {
		const struct stretch *block = l->blocks[i / LANE_BLOCK];
		size_t n = l->n - i < LANE_BLOCK ? l->n - i : LANE_BLOCK;

		for (size_t k = 0; k < n; k++) {
			unsigned class = block[k].at & 0xff;

			if (class < CLASS_REASONS && (reasons >> class & 1))
				add_one(h, &last, block[k].at >> 8,
					k + 1 < n ? block[k + 1].at >> 8 : lane_end(l, i + k));
		}
	}
}

static void add_samples(struct heat *h, const struct columns *c, uint32_t thread)
{
	size_t n;
	const struct sample *s = columns_samples(c, thread, 0, UINT64_MAX, &n);

	for (size_t i = 0; i < n; i++)
		h->part[cell_at(h, s[i].ts)]++;
}

/* Carries the rounding error of each cell to the next. */
static void put_cells(struct buf *ret, const struct heat *h, bool samples)
{
	uint64_t unit = samples ? 1 : 1000, rest = 0;
	int64_t whole = 0;

	for (uint64_t i = 0; i < cells_of(h); i++) {
		uint64_t value = h->part[i] + rest;
		uint32_t cell;

		whole += h->whole[i];
		value += (uint64_t)whole * (cell_start(h, i + 1) - cell_start(h, i));
		cell = value / unit < UINT32_MAX ? (uint32_t)(value / unit) : UINT32_MAX;
		rest = value - cell * unit < unit ? value % unit : 0;
		buf_put(ret, &cell, sizeof(cell));
	}
}

static void put_heat(const struct query *q, struct heat *h, const bool *threads, uint64_t reasons,
		     struct buf *ret)
{
	uint32_t head[] = {(uint32_t)h->cols,	(uint32_t)h->rows,
			   (uint32_t)h->col_ns, (uint32_t)(h->col_ns >> 32),
			   (uint32_t)h->row_ns, (uint32_t)(h->row_ns >> 32)};

	h->part = mem_zalloc((cells_of(h) + 1) * sizeof(*h->part));
	h->whole = mem_zalloc((cells_of(h) + 1) * sizeof(*h->whole));
	for (uint32_t i = 0; i < q->columns.threads.n; i++) {
		if (threads && !threads[i])
			continue;
		if (reasons)
			add_waits(h, &q->columns.threads.v[i], reasons);
		else
			add_samples(h, &q->columns, i);
	}
	buf_put(ret, head, sizeof(head));
	put_cells(ret, h, !reasons);
	free(h->part);
	free(h->whole);
}

/* 0: samples. */
static int take_kind(const struct query *q, const struct request *rq, uint64_t *ret)
{
	const char *kind = request_str(rq, "kind");

	*ret = 0;
	if (!kind || !strcmp(kind, "samples"))
		return 0;
	if (!strcmp(kind, "wait")) {
		*ret = ~(1ull << REASON_RUN_QUEUE | 1ull << REASON_THROTTLED);
		return asked_sees_waits(q);
	}
	for (unsigned r = 0; !strncmp(kind, "reason:", 7) && r < REASONS; r++) {
		if (!reason_name(r) || strcmp(reason_name(r), kind + 7))
			continue;
		*ret = 1ull << r;
		return asked_sees_waits(q);
	}
	return err_set(-EINVAL, "kind must be samples, wait, or reason: and the name of one");
}

int answer_heat(struct query *q, const struct request *rq, struct buf *ret)
{
	struct heat h = {0};
	uint64_t cols, rows;
	bool *threads = NULL;
	uint64_t reasons;
	int rc = take_kind(q, rq, &reasons);

	rc = rc ? rc : request_u64(rq, "cols", COLS_MAX, 240, &cols);
	rc = rc ? rc : request_u64(rq, "rows", ROWS_MAX, 50, &rows);
	rc = rc ? rc : asked_threads(q, rq, &threads);
	if (!rc && (!cols || !rows))
		rc = err_set(-EINVAL, "cols and rows must not be 0");
	if (!rc) {
		lay_out(&h, q->duration, cols, rows);
		put_heat(q, &h, threads, reasons, ret);
	}
	free(threads);
	return rc;
}
