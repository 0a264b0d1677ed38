// SPDX-License-Identifier: MIT
/*
 * Modules and stacks get new numbers, names are taken along, times of the second are moved. Between
 * the two nothing is looked at: threads of the first that live on are left (LEAVE), so that a tid
 * which both have is two threads.
 */
#include "diff/join.h"

#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/reader.h"
#include "store/writer.h"

/* Without events in between. */
#define GAP_NS (NSEC_PER_SEC / 10)

struct joining {
	struct writer *w;
	struct symtab *st;
	struct map alive; /* tids */
	uint64_t last;	  /* time of any event */
};

/* One of the two. */
struct source {
	struct reader *r;
	uint32_t *modules, *stacks; /* by their old number */
	uint64_t begin, to;	    /* its first moment, and when that is to be */
	bool first;
};

static void take_modules(struct joining *j, struct source *s)
{
	uint32_t n = reader_modules(s->r);

	s->modules = mem_zalloc((n + 1) * sizeof(*s->modules));
	for (uint32_t i = 1; i <= n; i++) {
		const struct module *m = reader_module(s->r, i);

		if (m)
			s->modules[i] = writer_module(j->w, m);
	}
}

static void take_stacks(struct joining *j, struct source *s)
{
	uint32_t n = reader_stacks(s->r), modules = reader_modules(s->r);
	VEC(struct frame) moved = {0};

	s->stacks = mem_zalloc((n + 1) * sizeof(*s->stacks));
	for (uint32_t i = 1; i <= n; i++) {
		const struct frame *f;
		size_t frames = reader_stack(s->r, i, &f);

		moved.n = 0;
		for (size_t k = 0; k < frames; k++) {
			uint32_t module = f[k].module <= modules ? s->modules[f[k].module] : 0;
			const struct symbol *syms;
			size_t names = reader_symbol(s->r, f[k].module, f[k].offset, &syms);

			if (names)
				symtab_add(j->st, module, f[k].offset, syms, names);
			vec_push(&moved, (struct frame){module, f[k].offset});
		}
		if (frames)
			s->stacks[i] =
				writer_stack(j->w, moved.v, frames, reader_stack_stop(s->r, i));
	}
	vec_done(&moved);
}

static void move_stack(const struct source *s, uint32_t *stack)
{
	*stack = *stack <= reader_stacks(s->r) ? s->stacks[*stack] : 0;
}

static void take_data(struct joining *j, const struct source *s, uint32_t module, uint64_t address)
{
	const struct data_symbol *d = reader_data(s->r, module, address);

	if (d && module <= reader_modules(s->r))
		symtab_add_data(j->st, s->modules[module], d);
}

/* A global lock of the kernel is called by its symbol. */
static void take_kernel_data(struct joining *j, const struct source *s, const struct ev_klocked *e)
{
	const struct frame *f;

	if (e->what == KLOCK_GLOBAL && reader_stack(s->r, e->kstack, &f))
		take_data(j, s, f[0].module, e->of);
}

static void move_module(const struct source *s, uint32_t *module)
{
	*module = *module <= reader_modules(s->r) ? s->modules[*module] : 0;
}

static void alive(struct joining *j, uint32_t tid, bool is)
{
	if (is)
		map_put(&j->alive, tid, NULL);
	else
		map_del(&j->alive, tid);
}

/* With numbers of the new capture; false: it is not to be there. */
static bool move(struct joining *j, const struct source *s, struct event *ev)
{
	switch (ev->kind) {
	case EV_MARK:
		return ev->mark.what != (s->first ? MARK_END : MARK_BEGIN);
	case EV_WAKING:
		move_stack(s, &ev->waking.kstack);
		move_stack(s, &ev->waking.ustack);
		break;
	case EV_SAMPLE:
		move_stack(s, &ev->sample.kstack);
		move_stack(s, &ev->sample.ustack);
		break;
	case EV_WAIT:
		move_stack(s, &ev->wait.kstack);
		move_stack(s, &ev->wait.ustack);
		break;
	case EV_KLOCKED:
		take_kernel_data(j, s, &ev->klocked);
		move_stack(s, &ev->klocked.kstack);
		break;
	case EV_PLACE:
		take_data(j, s, ev->place.module, ev->place.offset);
		move_module(s, &ev->place.module);
		break;
	case EV_MAP:
		move_module(s, &ev->map.module);
		break;
	case EV_THREAD:
		alive(j, ev->thread.tid, true);
		break;
	case EV_FORK:
		alive(j, ev->fork.tid, true);
		break;
	case EV_LEAVE:
		alive(j, ev->leave.tid, false);
		break;
	case EV_EXIT:
		alive(j, ev->exit.tid, false);
		break;
	}
	return true;
}

static int take_events(struct joining *j, struct source *s)
{
	struct event ev;
	int rc;

	reader_rewind(s->r);
	while ((rc = reader_next(s->r, &ev)) > 0) {
		ev.ts = s->to + (ev.ts > s->begin ? ev.ts - s->begin : 0);
		j->last = ev.ts > j->last ? ev.ts : j->last;
		if (move(j, s, &ev))
			writer_event(j->w, &ev);
	}
	return rc;
}

static void leave_all(struct joining *j)
{
	struct map_slot *slot;

	for (size_t i = 0; map_next(&j->alive, &i, &slot);) {
		struct event ev = {
			.ts = j->last, .kind = EV_LEAVE, .leave = {.tid = (uint32_t)slot->key}};

		writer_event(j->w, &ev);
	}
	map_clear(&j->alive);
}

static bool has_meta(const struct reader *r, const char *key, const char *want)
{
	const char *val;

	for (size_t i = 0; (val = reader_meta(r, key, i)); i++)
		if (!strcmp(val, want))
			return true;
	return false;
}

/* What one of them did not see, nobody did. */
static void take_facts(struct joining *j, const struct reader *a, const struct reader *b)
{
	bool locks = has_meta(a, "kernel_locks", "yes") && has_meta(b, "kernel_locks", "yes");
	const char *key, *val;

	for (size_t i = 0; reader_meta_at(a, i, &key, &val); i++)
		if (strcmp(key, "kernel_locks"))
			writer_meta(j->w, key, val);
	for (size_t i = 0; (val = reader_meta(b, "unseen", i)); i++)
		if (!has_meta(a, "unseen", val))
			writer_meta(j->w, "unseen", val);
	writer_meta(j->w, "kernel_locks", locks ? "yes" : "no");
}

static int take(struct joining *j, struct source *s)
{
	int rc;

	take_modules(j, s);
	take_stacks(j, s);
	rc = take_events(j, s);
	free(s->modules);
	free(s->stacks);
	return rc;
}

int diff_join(struct reader *a, struct reader *b, const char *path, uint64_t *ret_moved)
{
	const struct reader_info *info = reader_info(a);
	struct writer_clock clock = {info->start_unix_ns, info->start_mono_ns};
	struct writer_opts opts = {.no_sync = true, .clock = &clock};
	struct joining j = {0};
	struct source first = {
		.r = a, .begin = info->first_ts, .to = info->first_ts, .first = true};
	struct source second = {.r = b, .begin = reader_info(b)->first_ts};
	int rc = writer_open(path, &opts, &j.w), end;

	if (rc)
		return rc;
	j.st = symtab_new();
	take_facts(&j, a, b);
	rc = take(&j, &first);
	leave_all(&j);
	second.to = j.last + GAP_NS;
	rc = rc ? rc : take(&j, &second);
	writer_symbols(j.w, j.st);
	symtab_free(j.st);
	map_done(&j.alive);
	end = writer_close(j.w, END_DONE);
	*ret_moved = second.to - second.begin;
	return rc ? rc : end;
}
