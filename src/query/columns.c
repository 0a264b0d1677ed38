// SPDX-License-Identifier: MIT
/* The model's sinks, which fill the columns. seal.c does the rest. */
#include "query/columns.h"

#include "base/search.h"
#include "wire/event.h"
#include "wire/state.h"

void columns_init(struct columns *c, uint64_t base)
{
	*c = (struct columns){.base = base};
}

void columns_done(struct columns *c)
{
	for (size_t i = 0; i < c->threads.n; i++)
		lane_done(&c->threads.v[i]);
	for (size_t i = 0; i < c->cpus.n; i++)
		lane_done(&c->cpus.v[i]);
	for (size_t i = 0; i < c->samples.n; i++)
		free(c->samples.v[i].v);
	vec_done(&c->threads);
	vec_done(&c->cpus);
	vec_done(&c->samples);
	vec_done(&c->wakers);
	map_done(&c->by_waker);
	vec_done(&c->seen);
	free(c->seen_of);
	arena_done(&c->arena);
	*c = (struct columns){0};
}

static uint64_t columns_since(const struct columns *c, uint64_t ts)
{
	return ts > c->base ? ts - c->base : 0;
}

static bool same_waker(const struct waker_row_at *a, const struct waker_row_at *b)
{
	return a->thread == b->thread && a->tid == b->tid && a->kstack == b->kstack &&
	       a->ustack == b->ustack && a->ctx == b->ctx && a->release == b->release;
}

static uint32_t find_waker(struct columns *c, const struct waker_row_at *w, uint64_t key)
{
	uint64_t *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&c->by_waker, key, &fresh);
		if (fresh) {
			vec_push(&c->wakers, *w);
			*slot = c->wakers.n;
		}
		if (fresh || same_waker(&c->wakers.v[*slot - 1], w))
			return (uint32_t)*slot;
	}
}

/* Place + 1 of a waker. Most are among the recent ones. */
static uint32_t waker_of(struct columns *c, const struct waker *from)
{
	const struct waker_row_at w = {.thread = from->thread ? from->thread->index + 1 : 0,
				       .tid = from->tid,
				       .kstack = from->kstack,
				       .ustack = from->ustack,
				       .ctx = from->ctx,
				       .release = from->release};
	uint64_t key = map_mix((uint64_t)w.kstack << 32 | w.ustack) + w.tid * 8ull + w.ctx;
	uint32_t *recent = &c->recent[map_mix(key) % COLUMNS_RECENT];

	if (!*recent || !same_waker(&c->wakers.v[*recent - 1], &w))
		*recent = find_waker(c, &w, key);
	return *recent;
}

static struct lane *thread_lane(struct columns *c, uint32_t index)
{
	while (c->threads.n <= index)
		vec_add(&c->threads);
	return &c->threads.v[index];
}

static struct lane *cpu_lane(struct columns *c, uint32_t cpu)
{
	while (c->cpus.n <= cpu)
		vec_add(&c->cpus);
	return &c->cpus.v[cpu];
}

static void columns_on_interval(void *arg, const struct interval *iv)
{
	struct columns *c = arg;
	struct lane *l = thread_lane(c, iv->thread->index);
	uint64_t start = columns_since(c, iv->start), end = columns_since(c, iv->end);

	switch (iv->kind) {
	case INTERVAL_RUNNING:
		lane_push(l, &c->arena, start, end, CLASS_RUNNING, iv->cpu, 0);
		l = cpu_lane(c, iv->cpu);
		if (!l->n)
			lane_push(l, &c->arena, 0, start, CLASS_GONE, 0, 0);
		lane_push(l, &c->arena, start, end, CLASS_RUNNING, iv->thread->index, 0);
		break;
	case INTERVAL_RUNNABLE:
		lane_push(l, &c->arena, start, end,
			  iv->state & STATE_THROTTLED ? REASON_THROTTLED : REASON_RUN_QUEUE, 0, 0);
		break;
	case INTERVAL_WAITING:
		lane_push(l, &c->arena, start, end, CLASS_WAIT, iv->row,
			  iv->waker.known ? waker_of(c, &iv->waker) : 0);
		break;
	default:
		lane_push(l, &c->arena, start, end, CLASS_LOST, 0, 0);
	}
}

static void columns_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			      uint32_t row)
{
	struct columns *c = arg;

	while (c->samples.n <= th->index)
		vec_add(&c->samples);
	vec_push(&c->samples.v[th->index],
		 (struct sample){.ts = columns_since(c, ts), .row = row, .cpu = cpu});
}

static void columns_on_seen(void *arg, const struct seen *seen)
{
	struct columns *c = arg;

	vec_push(&c->seen, *seen);
	c->seen.v[c->seen.n - 1].ts = columns_since(c, seen->ts);
}

static void on_restart(void *arg)
{
	struct columns *c = arg;
	uint64_t base = c->base;

	columns_done(c);
	columns_init(c, base);
}

void columns_attach(struct columns *c, struct model_opts *opts)
{
	opts->sink = columns_on_interval;
	opts->sample_sink = columns_on_sample;
	opts->seen_sink = columns_on_seen;
	opts->restart = on_restart;
	opts->sink_arg = c;
}

const struct seen *columns_seen(const struct columns *c, uint32_t lock, size_t *ret_n)
{
	if (lock >= c->locks) {
		*ret_n = 0;
		return NULL;
	}
	*ret_n = c->seen_of[lock + 1] - c->seen_of[lock];
	return c->seen.v + c->seen_of[lock];
}

static size_t first_from(const struct sample_list *l, uint64_t ts)
{
	return SEARCH(0, l->n, mid, l->v[mid].ts < ts);
}

const struct sample *columns_samples(const struct columns *c, uint32_t thread, uint64_t from,
				     uint64_t to, size_t *ret_n)
{
	const struct sample_list *l = thread < c->samples.n ? &c->samples.v[thread] : NULL;
	size_t first = l ? first_from(l, from) : 0;

	*ret_n = l && to > from ? first_from(l, to) - first : 0;
	return *ret_n ? l->v + first : NULL;
}
