// SPDX-License-Identifier: MIT
/*
 * Threads that did not go on. A deadlock comes before everything else. Where nothing ran and no
 * lock is to blame, the lead tells what the threads were in; it calls a wait idle only where that
 * is known.
 */
#include "report/lead.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/units.h"
#include "model/summary/parts.h"
#include "report/words.h"

enum { TEXT = 128, FILE_TEXT = 240, PATH_MOST = 100, CIRCLE_MOST = 4, NAMES_MOST = 3 };
/* A thread that still waits for a file after this long is stuck: no disk takes that long. */
#define STUCK_NS NSEC_PER_SEC

static const char *name_of(char *out, size_t room, const struct thread *t)
{
	return words_safe(out, room, t->name, 15);
}

/* ---- a deadlock ---- */

static void say_members(struct buf *b, const struct stuck_wait *w, size_t n)
{
	char name[TEXT];

	for (size_t i = 0; i < n && i < CIRCLE_MOST; i++)
		buf_printf(b, "%s%s",
			   !i		? ""
			   : i + 1 == n ? " and "
					: ", ",
			   name_of(name, sizeof(name), w[i].thread));
	if (n > CIRCLE_MOST)
		buf_printf(b, " and %zu more threads", n - CIRCLE_MOST);
}

/* " in load_block (store.c:12)", as far as it is known. */
static void say_where(struct buf *b, const struct summary *s, const struct stuck_wait *w)
{
	if (w->kstack || w->ustack)
		lead_in(b, s, where_function(&s->model->names, w->kstack, w->ustack), w->kstack,
			w->ustack);
}

/* A function in which all members of a circle wait is a wrapper around locks, and does not tell
 * them apart; UINT32_MAX: there is none. */
static uint32_t wrapper_of(const struct summary *s, const struct stuck_wait *w, size_t n)
{
	struct names *names = &s->model->names;
	uint32_t all = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		uint32_t one = where_function(names, w[i].kstack, w[i].ustack);

		if ((i && one != all) ||
		    where_caller(names, w[i].kstack, w[i].ustack, one) == UINT32_MAX)
			return UINT32_MAX;
		all = one;
	}
	return all;
}

/* The same as say_where(), in the wrapper's caller if there is a wrapper. */
static void say_where_of(struct buf *b, const struct summary *s, const struct stuck_wait *w,
			 uint32_t wrapper)
{
	uint32_t caller = wrapper == UINT32_MAX
				  ? UINT32_MAX
				  : where_caller(&s->model->names, w->kstack, w->ustack, wrapper);

	if (caller == UINT32_MAX)
		say_where(b, s, w);
	else
		lead_in(b, s, caller, w->kstack, w->ustack);
}

/* A lock that none of the chosen threads waited for has a name, too. */
static void say_lock(struct buf *b, const struct summary *s, const struct stuck_wait *w)
{
	struct lock_sum one = {.name = NULL};
	const struct lock *l;
	char text[TEXT];

	if (w->lock < s->locks.n) {
		buf_printf(b, "%s", words_lock(text, sizeof(text), &s->locks.v[w->lock], 60));
		return;
	}
	if (!w->of) {
		buf_printf(b, "a lock");
		return;
	}
	l = &s->model->locks.list.v[w->of - 1];
	one.kind = l->kind;
	one.name = lock_name(s->model, l, &one.named);
	buf_printf(b, "%s", words_lock(text, sizeof(text), &one, 60));
	free(one.name);
}

static void say_member(struct buf *b, const struct summary *s, const struct stuck_wait *w,
		       uint32_t wrapper)
{
	char name[TEXT], other[TEXT];

	buf_printf(b, "%s waits for ", name_of(name, sizeof(name), w->thread));
	name_of(other, sizeof(other), w->for_);
	if (w->reason == REASON_JOIN) {
		buf_printf(b, "%s to end", other);
		say_where_of(b, s, w, wrapper);
		return;
	}
	say_lock(b, s, w);
	say_where_of(b, s, w, wrapper);
	buf_printf(b, ", held by %s", other);
}

static void say_since(struct buf *b, const struct summary *s, const struct stuck_wait *w, size_t n)
{
	uint64_t last = 0, end = w[0].end;
	bool before = true;
	char time[TEXT];

	for (size_t i = 0; i < n; i++) {
		before &= w[i].before;
		last = w[i].start > last ? w[i].start : last;
		end = w[i].end < end ? w[i].end : end;
	}
	units_duration(time, sizeof(time), end > last ? end - last : 0);
	if (before)
		buf_printf(b, ", since before the recording began");
	else if (w[0].with_life)
		buf_printf(b, ", for %s", time);
	else
		buf_printf(b, ", for the last %s of the recording", time);
	if (w[0].with_life)
		buf_printf(b, ", until the process %s",
			   thread_was_killed(w[0].thread) ? "was killed" : "ended");
}

static void say_behind(struct buf *b, const struct stuck *st, uint32_t circle, const char *before)
{
	size_t behind = 0;

	for (size_t i = 0; i < st->waits.n; i++)
		behind += st->waits.v[i].behind == circle;
	if (behind)
		buf_printf(b, "%s%zu more thread%s behind them", before, behind,
			   behind == 1 ? " stands" : "s stand");
}

void lead_circle(const struct summary *s, uint32_t circle, struct buf *b)
{
	const struct stuck *st = &s->stuck;
	size_t first = 0, n = 0;

	while (first < st->waits.n && st->waits.v[first].circle != circle)
		first++;
	while (first + n < st->waits.n && st->waits.v[first + n].circle == circle)
		n++;
	buf_printf(b, "Deadlock of ");
	say_members(b, &st->waits.v[first], n);
	say_behind(b, st, circle, "; ");
}

bool lead_deadlock(const struct summary *s, struct buf *b)
{
	const struct stuck *st = &s->stuck;
	uint32_t wrapper;
	size_t n = 0;

	while (n < st->waits.n && st->waits.v[n].circle == 1)
		n++;
	if (!n)
		return false;
	wrapper = wrapper_of(s, st->waits.v, n);
	say_members(b, st->waits.v, n);
	buf_printf(b, " are deadlocked");
	for (size_t i = 0; i < n && i < CIRCLE_MOST; i++) {
		buf_printf(b, i ? "; " : ": ");
		say_member(b, s, &st->waits.v[i], wrapper);
	}
	say_since(b, s, st->waits.v, n);
	say_behind(b, st, 1, ". ");
	buf_printf(b, ".");
	if (st->circles > 1)
		buf_printf(b, " There %s %" PRIu32 " more deadlock%s.",
			   st->circles == 2 ? "is" : "are", st->circles - 1,
			   st->circles == 2 ? "" : "s");
	return true;
}

/* ---- a row of threads behind one that waits for who knows whom ---- */

static bool is_root(const struct stuck_wait *w)
{
	return w->root == w->thread && w->of && !w->for_ && reason_has(w->reason, TRAIT_HELD) &&
	       thread_is_subject(w->thread) && (w->before || w->end - w->start >= STUCK_NS);
}

/* By thread: how many stand behind it. By lock: how many wait for it. */
static void count_behind(const struct stuck *st, struct map *behind, struct map *beside)
{
	for (size_t i = 0; i < st->waits.n; i++) {
		const struct stuck_wait *w = &st->waits.v[i];

		if (w->root && w->root != w->thread)
			++*map_put(behind, w->root->index, NULL);
		if (w->of)
			++*map_put(beside, w->of, NULL);
	}
}

/* Those that wait for the same lock count only if others stand behind one of them. */
static const struct stuck_wait *find_root(const struct stuck *st, uint64_t *ret_behind)
{
	const struct stuck_wait *root = NULL;
	struct map behind = {0}, beside = {0};

	*ret_behind = 0;
	count_behind(st, &behind, &beside);
	for (size_t i = 0; i < st->waits.n; i++) {
		const struct stuck_wait *w = &st->waits.v[i];
		const uint64_t *n = is_root(w) ? map_get(&behind, w->thread->index) : NULL;

		if (!n || *n + *map_get(&beside, w->of) - 1 <= *ret_behind)
			continue;
		*ret_behind = *n + *map_get(&beside, w->of) - 1;
		root = w;
	}
	map_done(&behind);
	map_done(&beside);
	return root;
}

bool lead_standstill(const struct summary *s, struct buf *b, size_t *ret_lock)
{
	uint64_t behind;
	const struct stuck_wait *root = find_root(&s->stuck, &behind);
	char name[TEXT];

	if (!root)
		return false;
	*ret_lock = root->lock;
	if (!b)
		return true;
	buf_printf(b, "%s is stuck: it waits for ", name_of(name, sizeof(name), root->thread));
	say_lock(b, s, root);
	say_where(b, s, root);
	buf_printf(b, ", and who holds that is not known");
	say_since(b, s, root, 1);
	buf_printf(b, ". %" PRIu64 " more thread%s stuck behind it.", behind,
		   behind == 1 ? " is" : "s are");
	if (root->reason != REASON_RWLOCK)
		return true;
	buf_printf(b, " If one of them has ");
	say_lock(b, s, root);
	buf_printf(b, " for reading, that is a deadlock.");
	return true;
}

/* ---- nothing ran ---- */

bool lead_is_open(const struct stuck_wait *w)
{
	/* A thread may wait for the end of one that has nothing to do. */
	bool for_idle = w->reason == REASON_JOIN && w->for_stuck &&
			reason_has(w->for_reason, TRAIT_OUTSIDE);

	return !reason_has(w->reason, TRAIT_OUTSIDE) && !for_idle && thread_is_subject(w->thread);
}

/* A signal that wakes no thread leaves no event: only those that woke one are known. */
static void say_signaller(struct buf *b, const struct summary *s, const struct stuck_wait *w)
{
	const char *did = stuck_in(w) == REASON_CONDVAR ? "signalled" : "posted";
	char name[TEXT], time[TEXT];

	if (!w->signaller) {
		buf_printf(b, ", and nobody %s it while it was recorded", did);
		return;
	}
	name_of(name, sizeof(name), w->signaller);
	if (w->signalled <= w->start)
		buf_printf(b, ", and nobody %s it since: %s did last, %s before", did, name,
			   units_duration(time, sizeof(time), w->start - w->signalled));
	else
		buf_printf(b, "; %s %s it last, %s before the end, and woke another", name, did,
			   units_duration(time, sizeof(time), w->end - w->signalled));
}

/* ", in read of /mnt/data/log (nfs4, server:/export)" */
static void say_file(struct buf *b, const struct stuck_wait *w)
{
	char text[FILE_TEXT];

	if (w->file)
		buf_printf(b, ", in %s of %s", w->call ? w->call : "a call",
			   words_file(text, sizeof(text), w->file, PATH_MOST));
}

void lead_file_of(const struct summary *s, const struct finding *f, struct buf *b)
{
	struct map places = {0};
	const uint64_t *place = NULL;

	for (size_t i = 0; i < s->stuck.waits.n; i++) {
		const struct stuck_wait *w = &s->stuck.waits.v[i];

		if (w->reason == f->reason && w->file)
			*map_put(&places, w->thread->index, NULL) = i;
	}
	for (size_t i = 0; i < f->victims.n && !place; i++)
		place = map_get(&places, f->victims.v[i]->index);
	if (place)
		say_file(b, &s->stuck.waits.v[*place]);
	map_done(&places);
}

void lead_say_wait(const struct summary *s, const struct stuck_wait *w, struct buf *b)
{
	enum reason in = stuck_in(w);
	char text[TEXT];

	buf_printf(b, "%s", words_doing(text, sizeof(text), INTERVAL_WAITING, in));
	if (w->state & STATE_UNINTERRUPTIBLE && w->file)
		buf_printf(b, ", in D state,");
	if (w->lock < s->locks.n && s->locks.v[w->lock].named)
		buf_printf(b, " (%s)",
			   words_safe(text, sizeof(text), s->locks.v[w->lock].name, 60));
	say_where(b, s, w);
	say_file(b, w);
	say_since(b, s, w, 1);
	if (in == REASON_CONDVAR || in == REASON_SEMAPHORE)
		say_signaller(b, s, w);
}

static void say_one(struct buf *b, const struct summary *s, const struct stuck_wait *w)
{
	char name[TEXT];

	buf_printf(b, "%s has been ", name_of(name, sizeof(name), w->thread));
	lead_say_wait(s, w, b);
}

bool lead_open_question(const struct summary *s, struct buf *b)
{
	const struct stuck *st = &s->stuck;
	const struct stuck_wait *first = NULL;
	size_t open = 0, threads = 0;

	for (size_t i = 0; i < s->threads.n; i++)
		threads += thread_is_subject(s->threads.v[i]);
	for (size_t i = 0; i < st->waits.n; i++) {
		const struct stuck_wait *w = &st->waits.v[i];

		if (!lead_is_open(w))
			continue;
		open++;
		/* A thread that waits for another stuck one is not where to look first. */
		if (!first && !(w->for_stuck && !reason_has(w->for_reason, TRAIT_OUTSIDE)))
			first = w;
	}
	if (!first || open * 2 < threads)
		return false;
	say_one(b, s, first);
	buf_printf(b, ".");
	if (open > 1)
		buf_printf(b, " %zu more thread%s not go on either.", open - 1,
			   open == 2 ? " did" : "s did");
	if (first->reason == REASON_CONDVAR || first->reason == REASON_SEMAPHORE ||
	    first->reason == REASON_FUTEX)
		buf_printf(b, " Whether it waits for work, thaw cannot tell.");
	return true;
}

static bool is_stuck_on_file(const struct summary *s, const struct stuck_wait *w)
{
	uint64_t end = s->model->timeline.end;

	return w->file && thread_is_subject(w->thread) && !w->circle && !w->behind &&
	       (w->reason == REASON_FILE_SERVER || w->state & STATE_UNINTERRUPTIBLE) &&
	       (w->before || (end > w->start && end - w->start >= STUCK_NS));
}

bool lead_stuck_file(const struct summary *s, struct buf *b)
{
	const struct stuck *st = &s->stuck;
	const struct stuck_wait *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < st->waits.n; i++)
		if (is_stuck_on_file(s, &st->waits.v[i])) {
			first = first ? first : &st->waits.v[i];
			n++;
		}
	if (!first || !b)
		return first;
	buf_printf(b, "%s", b->len ? " " : "");
	say_one(b, s, first);
	buf_printf(b, ".");
	if (n > 1)
		buf_printf(b, " %zu more thread%s for files, too.", n - 1,
			   n == 2 ? " waits" : "s wait");
	return true;
}
