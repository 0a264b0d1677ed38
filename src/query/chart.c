// SPDX-License-Identifier: MIT
/*
 * chart?thread&from&to[&max]   the stacks of one thread over time
 *
 * A sample stands for half of the sampling period before and after it, as far as the thread ran
 * without another sample; a wait for its own time, with its reason after its leaf. A frame on
 * adjacent stacks is one piece, even across a gap too short to be seen. Pieces that are too short
 * themselves are left out (but not their callers), and the answer counts them.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "query/ask.h"
#include "query/tree.h"

#define PIECES_MAX 50000
#define PIECES 20000
#define DEPTH_MAX 512
#define PIXELS 4000 /* a piece is to be seen on the widest screen */

struct piece_of {
	uint64_t start, end;
	uint32_t what;
	uint16_t depth;
	int16_t class;
};

struct chart {
	const struct query *q;
	const struct calls *calls;
	uint64_t from, to, least;
	size_t max;
	struct piece_of open[DEPTH_MAX];
	size_t deep;
	VEC(struct piece_of) done;
	uint64_t left_out;
};

/* false: there is no room for more. */
static bool close_from(struct chart *c, size_t depth)
{
	while (c->deep > depth) {
		const struct piece_of *p = &c->open[--c->deep];

		if (p->end - p->start < c->least)
			c->left_out++;
		else if (c->done.n >= c->max)
			return false;
		else
			vec_push(&c->done, *p);
	}
	return true;
}

static bool chart_add_stack(struct chart *c, uint32_t call, int class, uint64_t start, uint64_t end)
{
	uint32_t path[DEPTH_MAX];
	size_t n = calls_path(c->calls, call, path, DEPTH_MAX), same = 0;

	start = start > c->from ? start : c->from;
	end = end < c->to ? end : c->to;
	if (start >= end)
		return true;
	while (same < n && same < c->deep &&
	       c->open[same].what == c->calls->list.v[path[same]].what &&
	       start - c->open[same].end <= c->least) {
		struct piece_of *p = &c->open[same++];

		p->end = end;
		p->class = p->class == class ? p->class : TREE_CLASS_SEVERAL;
	}
	if (!close_from(c, same))
		return false;
	for (size_t i = same; i < n; i++)
		c->open[c->deep++] = (struct piece_of){start, end, c->calls->list.v[path[i]].what,
						       (uint16_t)i, (int16_t) class};
	return true;
}

static bool add_samples(struct chart *c, uint32_t thread, uint64_t start, uint64_t end)
{
	uint64_t period = asked_sample_ns(c->q);
	/* Without switches a sample is at the end of the time that it stands for. */
	bool ends = !c->q->model->facts.has_switches;
	uint64_t before = ends ? period : period / 2, behind = ends ? 0 : period - before;
	uint64_t last = start;
	size_t n;
	const struct sample *s =
		columns_samples(&c->q->columns, thread, start + ends, end + ends, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t from = s[i].ts > before ? s[i].ts - before : 0, to = s[i].ts + behind;
		uint64_t next = i + 1 < n ? s[i].ts + (s[i + 1].ts - s[i].ts) / 2 : end;

		from = from > last ? from : last;
		to = to < next || ends ? to : next;
		to = to < end ? to : end;
		if (!chart_add_stack(c, c->calls->of_sample[s[i].row], CLASS_RUNNING, from, to))
			return false;
		last = to;
	}
	return true;
}

static bool add_stretch(struct chart *c, uint32_t thread, const struct lane *l, size_t i)
{
	unsigned class = lane_class(l, i);
	uint64_t start = lane_start(l, i), end = lane_end(l, i);

	if (class == CLASS_RUNNING)
		return add_samples(c, thread, start, end);
	if (class_is_wait(class))
		return chart_add_stack(c, c->calls->of_wait[lane_at(l, i)->row], (int)class, start,
				       end);
	return true;
}

static bool chart_walk(struct chart *c, uint32_t thread)
{
	const struct lane *l = &c->q->columns.threads.v[thread];
	size_t i = l->n ? lane_find(l, c->from) : 0;

	c->done.n = c->deep = 0;
	c->left_out = 0;
	if (i == SIZE_MAX)
		i = c->from < lane_start(l, 0) ? 0 : l->n;
	for (; i < l->n && lane_start(l, i) < c->to; i++)
		if (!add_stretch(c, thread, l, i))
			return false;
	return close_from(c, 0);
}

static int by_place(const void *pa, const void *pb)
{
	const struct piece_of *a = pa, *b = pb;

	if (a->depth != b->depth)
		return a->depth - b->depth;
	return (a->start > b->start) - (a->start < b->start);
}

static void put_pieces(struct chart *c, struct json *j)
{
	enum { START, END, DEPTH, NAME, MODULE, CLASS, INLINED, KERNEL, COLUMNS };
	static const char *const keys[] = {"start",  "end",   "depth",	 "name",
					   "module", "class", "inlined", "kernel"};
	const struct model *m = c->q->model;
	VEC(int64_t) column[COLUMNS] = {{0}};
	struct what_names names = {0};

	for (size_t i = 0; i < c->done.n; i++) {
		const struct piece_of *p = &c->done.v[i];
		bool frame = what_is_frame(p->what);

		vec_push(&column[START], (int64_t)p->start);
		vec_push(&column[END], (int64_t)p->end);
		vec_push(&column[DEPTH], p->depth);
		vec_push(&column[NAME], (int64_t)what_name(&names, m, p->what));
		vec_push(&column[MODULE], (int64_t)what_module(&names, m, p->what));
		vec_push(&column[CLASS], p->class);
		vec_push(&column[INLINED], frame && (p->what & 1));
		vec_push(&column[KERNEL],
			 frame && names_function(&m->names, what_function(p->what))->kernel);
	}
	what_names_put(&names, j);
	json_obj(j, "piece");
	for (unsigned i = 0; i < COLUMNS; i++) {
		json_i64s(j, keys[i], column[i].v, column[i].n);
		vec_done(&column[i]);
	}
	json_obj_end(j);
	what_names_done(&names);
}

int answer_chart(struct query *q, const struct request *rq, struct buf *ret)
{
	struct chart *c;
	uint64_t thread, from, to, max;
	struct json j;
	int rc = request_need(rq, "thread", UINT32_MAX, &thread);

	if (!rc && thread >= q->columns.threads.n)
		rc = err_set(-ENOENT, "there is no such thread");
	rc = rc ? rc : query_range(q, rq, &from, &to);
	rc = rc ? rc : request_u64(rq, "max", PIECES_MAX, PIECES, &max);
	if (rc)
		return rc;
	c = mem_zalloc(sizeof(*c));
	*c = (struct chart){.q = q, .calls = asked_calls(q, false), .max = max ? max : 1};
	c->from = from < q->duration ? from : q->duration;
	c->to = to < q->duration ? to : q->duration;
	for (c->least = (c->to - c->from) / PIXELS; !chart_walk(c, (uint32_t)thread);)
		c->least = c->least * 2 + 1;
	sort_by(c->done.v, c->done.n, sizeof(*c->done.v), by_place);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_u64(&j, "thread", thread);
	json_u64(&j, "from", from);
	json_u64(&j, "to", to);
	json_u64(&j, "shortest_ns", c->least);
	json_u64(&j, "left_out", c->left_out);
	put_pieces(c, &j);
	json_obj_end(&j);
	vec_done(&c->done);
	free(c);
	return 0;
}
