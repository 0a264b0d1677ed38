// SPDX-License-Identifier: MIT
/* The tables' descriptions (tables.def), and what all rows share. tables_rows.c has the rows. */
#include "export/tables.h"

#include <string.h>

#include "base/text.h"

static const struct {
	const char *name, *words;
	unsigned first;
} names[TABLES] = {
#define TABLE(UPPER, name, words) [TABLE_##UPPER] = {#name, words, COL_##UPPER##_first},
#include "export/tables.def"
};

enum type { INT, TEXT };

static const struct {
	const char *name, *words;
	enum table table;
	enum type type;
} columns[TABLE_COLUMNS] = {
#define COLUMN(UPPER, name, type, words)                                                           \
	[COL_##UPPER##_##name] = {#name, words, TABLE_##UPPER, type},
#include "export/tables.def"
};

const char *tables_name(enum table t)
{
	return names[t].name;
}

const char *tables_words(enum table t)
{
	return names[t].words;
}

unsigned tables_width(enum table t)
{
	return (t + 1 < TABLES ? names[t + 1].first : (unsigned)TABLE_COLUMNS) - names[t].first;
}

const char *tables_column(enum table t, unsigned column)
{
	return columns[names[t].first + column].name;
}

const char *tables_column_words(enum table t, unsigned column)
{
	return columns[names[t].first + column].words;
}

bool tables_column_is_text(enum table t, unsigned column)
{
	return columns[names[t].first + column].type == TEXT;
}

void tables_columns_sql(enum table t, struct buf *b)
{
	for (unsigned i = 0; i < tables_width(t); i++)
		buf_printf(b, "%s\"%s\" %s", i ? ", " : "", tables_column(t, i),
			   tables_column_is_text(t, i) ? "TEXT" : "INTEGER");
}

const char *interval_kind_name(enum interval_kind k)
{
	static const char *const kinds[INTERVAL_KINDS] = {
		[INTERVAL_RUNNING] = "running",
		[INTERVAL_RUNNABLE] = "runnable",
		[INTERVAL_WAITING] = "waiting",
		[INTERVAL_LOST] = "lost",
	};

	return k < INTERVAL_KINDS ? kinds[k] : "lost";
}

/* The main thread of each process: the latest one with that tid. */
static void find_mains(struct tables *t)
{
	const struct timeline *line = &t->m->timeline;

	for (uint32_t i = 0; i < line->threads.n; i++) {
		const struct thread *th = line->threads.v[i];

		if (th->pid && th->tid == th->pid)
			*map_put(&t->mains, th->pid, NULL) = i + 1;
	}
}

static void find_same_tids(struct tables *t)
{
	const struct timeline *line = &t->m->timeline;
	struct map last = {0};

	for (uint32_t i = 0; i < line->threads.n; i++) {
		uint64_t *slot = map_put(&last, line->threads.v[i]->tid, NULL);

		vec_push(&t->same_tid, (uint32_t)*slot);
		*slot = i + 1;
	}
	map_done(&last);
}

void tables_init(struct tables *t, struct model *m, const struct summary *s, uint32_t n_stacks)
{
	*t = (struct tables){.m = m, .s = s, .stacks = (uint64_t)n_stacks + 1};
	find_mains(t);
	find_same_tids(t);
}

void tables_done(struct tables *t)
{
	map_done(&t->mains);
	vec_done(&t->same_tid);
	vec_done(&t->frames.v);
	buf_done(&t->text);
	*t = (struct tables){0};
}

/* Numbers beyond the capture's stacks mean no stack. */
int64_t tables_stack(const struct tables *t, uint32_t kstack, uint32_t ustack, bool probed)
{
	uint64_t k = kstack < t->stacks ? kstack : 0, u = ustack < t->stacks ? ustack : 0;

	if ((!k && !u) || t->stacks > INT32_MAX)
		return 0;
	return (int64_t)((k * t->stacks + u) * 2 + probed);
}

size_t tables_frames(struct tables *t, int64_t stack)
{
	uint64_t pair = (uint64_t)stack / 2, k = pair / t->stacks, u = pair % t->stacks;
	const struct named_frame *f;
	size_t n;

	if (stack <= 0 || k >= t->stacks)
		return 0;
	if (t->frames.stack == stack)
		return t->frames.v.n;
	n = (stack & 1 ? names_probed_stack : names_stack)(&t->m->names, (uint32_t)k, (uint32_t)u,
							   &f);
	t->frames.v.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&t->frames.v, f[i]);
	t->frames.stack = stack;
	return n;
}

const struct thread *tables_thread_at(const struct tables *t, uint32_t tid, uint64_t ts)
{
	const struct timeline *line = &t->m->timeline;
	const struct thread *th = tid ? timeline_thread(line, tid) : NULL;

	while (th && th->start > ts && t->same_tid.v[th->index])
		th = line->threads.v[t->same_tid.v[th->index] - 1];
	return th;
}
