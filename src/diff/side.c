// SPDX-License-Identifier: MIT
/*
 * One side of a comparison: what each function, wait and lock has in each block of time. A pass
 * over the capture fills rows of the tally and locks, block by block; they are named afterwards, so
 * that memory grows with distinct stacks, not with events.
 */
#include "diff/diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "diff/names.h"
#include "model/summary/parts.h"
#include "model/walk.h"
#include "wire/state.h"
#include "wire/unseen.h"

struct taking {
	struct diff_side *side;
	struct model *m;
	bool *chosen; /* by thread index */
	bool all;
	uint64_t *samples;	     /* by row and block */
	uint64_t *waits;	     /* the same */
	uint64_t *locks;	     /* by index and block */
	uint64_t *lock_counts;	     /* by index */
	uint64_t *queue, *throttled; /* by block */
	uint64_t queues, throttles;
};

static size_t block_at(const struct diff_side *s, uint64_t ts)
{
	uint64_t at = ts > s->start ? ts - s->start : 0;
	size_t i = (size_t)((double)at / (double)s->window * (double)s->blocks);

	return i < s->blocks ? i : s->blocks - 1;
}

static uint64_t block_start(const struct diff_side *s, size_t i)
{
	return s->start + (uint64_t)((double)s->window * (double)i / (double)s->blocks);
}

/* Spreads [start, end) over the blocks that it lies in. */
static void spread(const struct diff_side *s, uint64_t start, uint64_t end, uint64_t *blocks)
{
	for (size_t i = block_at(s, start); start < end; i++) {
		uint64_t next = i + 1 < s->blocks ? block_start(s, i + 1) : end;
		uint64_t until = next < end ? next : end;

		if (until > start)
			blocks[i] += until - start;
		start = until > start ? until : start;
	}
}

static int side_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			  uint32_t row)
{
	struct taking *t = arg;

	if (t->chosen[th->index])
		t->samples[row * t->side->blocks + block_at(t->side, ts)]++;
	return 0;
}

/* Counts as the sums of locks do: kernel locks when a thread gets one (on_klocked()). */
static void take_lock(struct taking *t, const struct interval *iv)
{
	if (t->m->locks.list.v[iv->lock - 1].kernel && !iv->open)
		return;
	spread(t->side, iv->start, iv->end, &t->locks[(iv->lock - 1) * t->side->blocks]);
	t->lock_counts[iv->lock - 1] += !iv->more;
}

static int side_on_interval(void *arg, const struct interval *iv)
{
	struct taking *t = arg;
	struct diff_side *s = t->side;
	uint64_t blocks[DIFF_BLOCKS_MAX] = {0};

	if (!t->chosen[iv->thread->index])
		return 0;
	if (iv->kind == INTERVAL_RUNNING) {
		spread(s, iv->start, iv->end, blocks);
		for (size_t i = 0; i < s->blocks; i++)
			s->cpu[i] += (double)blocks[i];
	} else if (iv->kind == INTERVAL_RUNNABLE) {
		bool limit = iv->state & STATE_THROTTLED;

		spread(s, iv->start, iv->end, limit ? t->throttled : t->queue);
		*(limit ? &t->throttles : &t->queues) += 1;
	} else if (iv->kind == INTERVAL_WAITING) {
		spread(s, iv->start, iv->end, &t->waits[iv->row * s->blocks]);
		diff_stuck_wait(s, iv);
		if (iv->lock)
			take_lock(t, iv);
	}
	return 0;
}

static int on_klocked(void *arg, uint32_t lock, const struct thread *th, uint64_t ts, uint64_t ns,
		      uint32_t n)
{
	struct taking *t = arg;

	if (th ? !t->chosen[th->index] : !t->all)
		return 0;
	t->locks[lock * t->side->blocks + block_at(t->side, ts)] += ns;
	t->lock_counts[lock] += n;
	return 0;
}

static struct diff_item *item_of(struct diff_side *s, enum diff_kind kind, const char *name,
				 const char *where)
{
	uint64_t key = diff_key(kind, name, where), *slot;
	struct diff_item *it;
	bool fresh;

	for (;; key++) {
		slot = map_put(&s->by_name, key, &fresh);
		if (fresh)
			break;
		it = &s->items.v[*slot - 1];
		if (it->kind == kind && !strcmp(it->name, name) && !strcmp(it->where, where))
			return it;
	}
	it = vec_add(&s->items);
	*slot = s->items.n;
	it->kind = kind;
	it->name = mem_strdup(name);
	it->where = mem_strdup(where);
	it->blocks = mem_zalloc(s->blocks * sizeof(*it->blocks));
	return it;
}

static void item_add(const struct diff_side *s, struct diff_item *it, const uint64_t *blocks,
		     uint64_t count)
{
	for (size_t i = 0; i < s->blocks; i++) {
		it->blocks[i] += blocks[i];
		it->sum += blocks[i];
	}
	it->count += count;
}

/* Functions of the model -> items, made once each: self and total side by side. */
struct of_function {
	size_t self, total; /* + 1 */
	size_t last;	    /* of a total: the row that it was counted for, + 1 */
};

static size_t function_item(struct taking *t, struct buf *b, enum diff_kind kind, uint32_t function)
{
	const struct function *f = names_function(&t->m->names, function);

	return (size_t)(item_of(t->side, kind, diff_function_name(b, f), f->module) -
			t->side->items.v) +
	       1;
}

static void name_samples(struct taking *t)
{
	struct names *names = &t->m->names;
	struct diff_side *s = t->side;
	VEC(struct of_function) of = {0};
	VEC(size_t) last = {0}; /* by item: the row that it was counted for */
	struct buf b = {0};

	for (size_t i = 0; i < t->m->tally.samples.n; i++) {
		const struct sample_row *r = &t->m->tally.samples.v[i];
		const uint64_t *blocks = &t->samples[i * s->blocks];
		const struct named_frame *f;
		size_t n = t->chosen[r->thread->index] && r->count
				   ? names_stack(names, r->kstack, r->ustack, &f)
				   : 0;

		while (of.n < names->functions.n)
			vec_add(&of);
		for (size_t j = 0; j < n; j++) {
			struct of_function *o = &of.v[f[j].function];

			if (!j && !o->self)
				o->self = function_item(t, &b, DIFF_SELF, f[j].function);
			if (!o->total)
				o->total = function_item(t, &b, DIFF_TOTAL, f[j].function);
			while (last.n < s->items.n)
				vec_push(&last, 0);
			if (!j)
				item_add(s, &s->items.v[o->self - 1], blocks, r->count);
			if (last.v[o->total - 1] != i + 1)
				item_add(s, &s->items.v[o->total - 1], blocks, r->count);
			last.v[o->total - 1] = i + 1;
		}
	}
	buf_done(&b);
	vec_done(&of);
	vec_done(&last);
}

static struct diff_item *wait_item(struct diff_side *s, enum reason reason, const char *place)
{
	struct diff_item *it = item_of(s, DIFF_WAIT, place, reason_name(reason));

	it->reason = reason;
	it->idle = reason_is_idle(reason);
	return it;
}

/* Very many rows share few stacks: each stack and reason is named once. */
struct named_waits {
	struct map by_stacks[REASONS]; /* -> index of the item */
	struct buf b;
};

static struct diff_item *place_item(struct taking *t, struct named_waits *w,
				    const struct wait_row *r)
{
	struct diff_side *s = t->side;
	uint64_t stacks = (uint64_t)r->kstack << 32 | r->ustack;
	bool fresh;
	uint64_t *slot = map_put(&w->by_stacks[r->verdict.reason], stacks, &fresh);

	if (fresh)
		*slot = (uint64_t)(wait_item(s, r->verdict.reason,
					     diff_place_name(&w->b, &t->m->names, r->kstack,
							     r->ustack)) -
				   s->items.v);
	return &s->items.v[*slot];
}

/* Seen on wait stacks only: the kernel keeps no record of contention. */
static void take_inferred(struct taking *t, const struct wait_row *r, const uint64_t *blocks)
{
	const char *by = lock_wanted_by(t->m, r->kstack);
	enum lock_kind kind = lock_kind_on_stack(t->m, r->kstack);
	struct buf b = {0};

	buf_printf(&b, "%s in %s", lock_kind_words(kind), by ? by : "the kernel");
	item_add(t->side, item_of(t->side, DIFF_LOCK, buf_cstr(&b), lock_kind_name(kind)), blocks,
		 r->count);
	buf_done(&b);
}

static void name_waits(struct taking *t)
{
	struct diff_side *s = t->side;
	struct named_waits w = {0};

	for (size_t i = 0; i < t->m->tally.waits.n; i++) {
		const struct wait_row *r = &t->m->tally.waits.v[i];
		const uint64_t *blocks = &t->waits[i * s->blocks];

		if (!t->chosen[r->thread->index] || !r->total)
			continue;
		item_add(s, place_item(t, &w, r), blocks, r->count);
		if (!r->lock && r->verdict.reason == REASON_KERNEL_LOCK &&
		    r->verdict.evidence == EVIDENCE_KSTACK)
			take_inferred(t, r, blocks);
	}
	if (t->queues)
		item_add(s, wait_item(s, REASON_RUN_QUEUE, ""), t->queue, t->queues);
	if (t->throttles)
		item_add(s, wait_item(s, REASON_THROTTLED, ""), t->throttled, t->throttles);
	for (size_t i = 0; i < REASONS; i++)
		map_done(&w.by_stacks[i]);
	buf_done(&w.b);
}

static void name_locks(struct taking *t)
{
	const struct summary *sum = t->side->s;
	struct buf b = {0};

	for (size_t i = 0; i < sum->contended; i++) {
		const struct lock_sum *l = &sum->locks.v[i];

		if (l->inferred)
			continue;
		item_add(t->side,
			 item_of(t->side, DIFF_LOCK, diff_lock_name(&b, &t->m->names, l),
				 lock_kind_name(l->kind)),
			 &t->locks[l->index * t->side->blocks], t->lock_counts[l->index]);
	}
	buf_done(&b);
}

/* Without switches, CPU time comes from samples. */
static void count_samples(struct taking *t)
{
	struct diff_side *s = t->side;

	for (size_t i = 0; i < t->m->tally.samples.n * s->blocks; i++)
		s->samples[i % s->blocks] += (double)t->samples[i];
	for (size_t i = 0; i < s->blocks && t->m->facts.unseen & UNSEEN_SWITCHES; i++)
		s->cpu[i] = s->samples[i] * s->period;
}

/*
 * The sampling clock may skip, because of thaw or of a hypervisor; the time that threads ran is
 * more exact. All samples together stand for that time, if they were taken wherever threads ran.
 * They were not if a sample would stand for twice its period, or for half of it.
 */
static void set_period(struct diff_side *s)
{
	const struct facts *f = &s->s->model->facts;
	bool counted = model_timeless(s->s->model); /* only their number is known */
	double nominal = f->freq_hz ? (double)NSEC_PER_SEC / (double)f->freq_hz : counted;
	double real = s->s->samples ? s->cpu_sum / (double)s->s->samples : 0;
	bool all = !(f->unseen & (UNSEEN_SWITCHES | UNSEEN_KERNEL_MODE));

	s->period = all && real > nominal / 2 && real < nominal * 2 ? real : nominal;
}

static uint64_t *side_table(size_t rows, size_t blocks)
{
	return mem_zalloc((rows + 1) * blocks * sizeof(uint64_t));
}

static void side_done(struct taking *t)
{
	free(t->chosen);
	free(t->samples);
	free(t->waits);
	free(t->locks);
	free(t->lock_counts);
	free(t->queue);
	free(t->throttled);
}

static void side_begin(struct taking *t, struct diff_side *s)
{
	struct model *m = t->m;

	t->chosen = mem_zalloc(m->timeline.threads.n + 1);
	for (size_t i = 0; i < m->timeline.threads.n; i++) {
		const struct thread *th = m->timeline.threads.v[i];

		t->chosen[i] = !s->thread || thread_matches(th, s->thread);
	}
	t->all = !s->thread;
	t->samples = side_table(m->tally.samples.n, s->blocks);
	t->waits = side_table(m->tally.waits.n, s->blocks);
	t->locks = side_table(m->locks.list.n, s->blocks);
	t->lock_counts = side_table(m->locks.list.n, 1);
	t->queue = side_table(1, s->blocks);
	t->throttled = side_table(1, s->blocks);
}

static size_t blocks_of(uint64_t window)
{
	uint64_t n = window / DIFF_BLOCK_NS;

	return n < DIFF_BLOCKS_MIN   ? DIFF_BLOCKS_MIN
	       : n > DIFF_BLOCKS_MAX ? DIFF_BLOCKS_MAX
				     : (size_t)n;
}

int diff_side_take(struct diff_side *s, const struct summary *sum, struct reader *r,
		   void (*progress)(void *arg, double done), void *progress_arg)
{
	struct taking t = {.side = s, .m = sum->model};
	struct walk w = {.interval = side_on_interval,
			 .sample = side_on_sample,
			 .klocked = on_klocked,
			 .arg = &t,
			 .progress = progress,
			 .progress_arg = progress_arg};
	int rc;

	s->s = sum;
	s->start = model_window_start(t.m);
	s->window = model_window_ns(t.m);
	if (!s->window)
		return err_set(-ENODATA, "%s: nothing was recorded in this time", s->path);
	s->blocks = blocks_of(s->window);
	set_period(s);
	s->cpu = mem_zalloc(s->blocks * sizeof(*s->cpu));
	s->samples = mem_zalloc(s->blocks * sizeof(*s->samples));
	side_begin(&t, s);
	rc = model_walk(t.m, r, &w);
	if (!rc) {
		count_samples(&t);
		for (size_t i = 0; i < s->blocks; i++)
			s->cpu_sum += s->cpu[i];
		set_period(s);
		name_samples(&t);
		name_waits(&t);
		name_locks(&t);
		diff_stuck_settle(s);
	}
	side_done(&t);
	if (rc)
		diff_side_done(s);
	return rc ? err_add(rc, "%s", s->path) : 0;
}

void diff_side_done(struct diff_side *s)
{
	for (size_t i = 0; i < s->items.n; i++) {
		free(s->items.v[i].name);
		free(s->items.v[i].where);
		free(s->items.v[i].blocks);
	}
	vec_done(&s->items);
	vec_done(&s->stuck);
	map_done(&s->by_name);
	free(s->cpu);
	free(s->samples);
	s->cpu = s->samples = NULL;
}
