// SPDX-License-Identifier: MIT
/*
 * Modules and stacks get new numbers, names are copied, and times of the second are moved. Between
 * the two nothing is observed: threads of the first that are still alive get a LEAVE, so that a tid
 * in both is two threads.
 */
#include "diff/join.h"

#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/fields.h"
#include "store/reader.h"
#include "store/writer.h"
#include "wire/meta.h"

/* Without events in between. */
#define GAP_NS (NSEC_PER_SEC / 10)

struct joining {
	struct writer *w;
	struct symtab *st;
	struct map alive; /* tids */
	uint64_t last;	  /* time of any event */
	uint32_t kernel;  /* its first module of a kernel, by which readers name locks; 0: none */
};

/* One of the two. */
struct join_source {
	struct reader *r;
	uint32_t *modules, *stacks; /* by their old number */
	uint32_t kernel;	    /* its module, by its old number */
	uint64_t begin, to;	    /* its first moment, and the new time for it */
	bool first;
};

static void take_modules(struct joining *j, struct join_source *s)
{
	uint32_t n = reader_modules(s->r);

	s->kernel = reader_kernel_module(s->r);
	s->modules = mem_zalloc((n + 1) * sizeof(*s->modules));
	for (uint32_t i = 1; i <= n; i++) {
		const struct module *m = reader_module(s->r, i);

		if (m)
			s->modules[i] = writer_module(j->w, m);
	}
	if (!j->kernel)
		j->kernel = s->modules[s->kernel];
}

static void take_stacks(struct joining *j, struct join_source *s)
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

static void move_stack(const struct join_source *s, uint32_t *stack)
{
	*stack = *stack <= reader_stacks(s->r) ? s->stacks[*stack] : 0;
}

static void take_data(struct joining *j, const struct join_source *s, uint32_t module,
		      uint64_t address)
{
	const struct data_symbol *d = reader_data(s->r, module, address);

	if (d && module <= reader_modules(s->r))
		symtab_add_data(j->st, s->modules[module], d);
}

/* A global lock of the kernel is called by its symbol; both captures' are looked for in one place.
 */
static void take_kernel_data(struct joining *j, const struct join_source *s, uint32_t what,
			     uint64_t of)
{
	const struct data_symbol *d =
		what == KLOCK_GLOBAL ? reader_data(s->r, s->kernel, of) : NULL;

	if (d && j->kernel)
		symtab_add_data(j->st, j->kernel, d);
}

static void move_module(const struct join_source *s, uint32_t *module)
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

/* Translates the event's references to the new capture's numbers. */
static void move_fields(const struct join_source *s, struct event *ev)
{
	struct event_field f;

	for (unsigned i = 0; event_field(ev->kind, i, &f); i++) {
		uint32_t v = event_field_get(ev, &f);

		if (f.role == ROLE_STACK)
			move_stack(s, &v);
		else if (f.role == ROLE_MODULE)
			move_module(s, &v);
		else
			continue;
		event_field_set(ev, &f, v);
	}
}

/* False: leave the event out. */
static bool join_move(struct joining *j, const struct join_source *s, struct event *ev)
{
	switch (ev->kind) {
	case EV_MARK:
		return ev->mark.what != (s->first ? MARK_END : MARK_BEGIN);
	case EV_KLOCK:
		take_kernel_data(j, s, ev->klock.what, ev->klock.of);
		break;
	case EV_KLOCKED:
		take_kernel_data(j, s, ev->klocked.what, ev->klocked.of);
		break;
	case EV_PLACE:
		take_data(j, s, ev->place.module, ev->place.offset);
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
	move_fields(s, ev);
	return true;
}

static int take_events(struct joining *j, struct join_source *s)
{
	struct event ev;
	int rc;

	reader_rewind(s->r);
	while ((rc = reader_next(s->r, &ev)) > 0) {
		ev.ts = s->to + (ev.ts > s->begin ? ev.ts - s->begin : 0);
		j->last = ev.ts > j->last ? ev.ts : j->last;
		if (join_move(j, s, &ev))
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

/* What either engine did not see is unseen in the result. */
static void take_facts(struct joining *j, const struct reader *a, const struct reader *b)
{
	bool locks = has_meta(a, META_KERNEL_LOCKS, "yes") && has_meta(b, META_KERNEL_LOCKS, "yes");
	const char *key, *val;

	for (size_t i = 0; reader_meta_at(a, i, &key, &val); i++)
		if (strcmp(key, META_KERNEL_LOCKS))
			writer_meta(j->w, key, val);
	for (size_t i = 0; (val = reader_meta(b, META_UNSEEN, i)); i++)
		if (!has_meta(a, META_UNSEEN, val))
			writer_meta(j->w, META_UNSEEN, val);
	writer_meta(j->w, META_KERNEL_LOCKS, locks ? "yes" : "no");
}

static int join_take(struct joining *j, struct join_source *s)
{
	int rc;

	take_modules(j, s);
	take_stacks(j, s);
	rc = take_events(j, s);
	free(s->modules);
	free(s->stacks);
	return rc;
}

int diff_join(struct reader *a, struct reader *b, int fd, uint64_t *ret_moved)
{
	const struct reader_info *info = reader_info(a);
	struct writer_clock clock = {info->start_unix_ns, info->start_mono_ns};
	struct writer_opts opts = {.no_sync = true, .clock = &clock};
	struct joining j = {0};
	struct join_source first = {
		.r = a, .begin = info->first_ts, .to = info->first_ts, .first = true};
	struct join_source second = {.r = b, .begin = reader_info(b)->first_ts};
	int rc = writer_open_fd(fd, "the temporary file", &opts, &j.w), end;

	if (rc)
		return rc;
	j.st = symtab_new();
	take_facts(&j, a, b);
	rc = join_take(&j, &first);
	leave_all(&j);
	second.to = j.last + GAP_NS;
	rc = rc ? rc : join_take(&j, &second);
	writer_symbols(j.w, j.st);
	symtab_free(j.st);
	map_done(&j.alive);
	end = writer_close(j.w, END_DONE);
	*ret_moved = second.to - second.begin;
	return rc ? rc : end;
}
