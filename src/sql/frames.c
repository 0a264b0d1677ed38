// SPDX-License-Identifier: MIT
#include "sql/private.h"

static void frames_add(struct frame_list *l, struct map *seen, int64_t stack)
{
	bool fresh;

	if (!stack)
		return;
	map_put(seen, (uint64_t)stack, &fresh);
	if (fresh)
		vec_push(&l->stacks, stack);
}

/* Those that other tables refer to. */
static void all_stacks(struct frame_list *l)
{
	struct sql *s = l->sql;
	const struct tally *t = &s->model->tally;
	struct map seen = {0};
	struct cell c;

	for (size_t i = 0; i < t->samples.n; i++)
		frames_add(l, &seen,
			   tables_stack(&s->tables, t->samples.v[i].kstack, t->samples.v[i].ustack,
					false));
	for (size_t i = 0; i < t->waits.n; i++)
		frames_add(
			l, &seen,
			tables_stack(&s->tables, t->waits.v[i].kstack, t->waits.v[i].ustack, true));
	for (size_t i = 0; i < s->wakes.n; i++)
		frames_add(l, &seen,
			   tables_stack(&s->tables, s->wakes.v[i].waking.kstack,
					s->wakes.v[i].waking.ustack, true));
	for (size_t i = 0; i < tables_rows(&s->tables, TABLE_STALLS); i++) {
		tables_cell(&s->tables, TABLE_STALLS, i, COL(STALLS, stack), &c);
		frames_add(l, &seen, c.type == CELL_INT ? c.i : 0);
	}
	map_done(&seen);
}

static void frames_find(struct frame_list *l)
{
	while (l->stack < l->stacks.n && l->depth == l->n) {
		l->stack++;
		l->depth = 0;
		l->n = l->stack < l->stacks.n
			       ? tables_frames(&l->sql->tables, l->stacks.v[l->stack])
			       : 0;
	}
	l->sql->work.rows += l->stack < l->stacks.n;
}

void frames_begin(struct frame_list *l, struct sql *sql, const struct row_filter *f)
{
	frames_done(l);
	*l = (struct frame_list){.sql = sql};
	for (size_t i = 0; i < f->n && !l->stacks.n; i++)
		if (f->terms[i].column == COL(FRAMES, stack))
			vec_push(&l->stacks, f->terms[i].value);
	if (!l->stacks.n)
		all_stacks(l);
	l->n = l->stacks.n ? tables_frames(&sql->tables, l->stacks.v[0]) : 0;
	frames_find(l);
}

void frames_next(struct frame_list *l)
{
	l->depth++;
	frames_find(l);
}

void frames_done(struct frame_list *l)
{
	vec_done(&l->stacks);
}
