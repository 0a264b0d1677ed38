// SPDX-License-Identifier: MIT
#include "query/calls.h"

#include <stdlib.h>

struct calls_making {
	struct model *m;
	struct calls *c;
	struct map by_caller; /* caller and what -> call */
	struct map samples;   /* stacks -> the last call of them */
	struct map waits;     /* the same, for stacks taken by a probe, and the reason */
	bool upside_down;
};

static bool is_again(const struct calls *c, uint32_t caller, uint32_t what)
{
	if (!what_is_frame(what))
		return false;
	for (uint32_t i = caller; i; i = c->list.v[i].caller)
		if (what_is_frame(c->list.v[i].what) &&
		    what_function(c->list.v[i].what) == what_function(what))
			return true;
	return false;
}

static uint32_t call_from(struct calls_making *k, uint32_t caller, uint32_t what)
{
	bool fresh;
	uint64_t *slot = map_put(&k->by_caller, (uint64_t)caller << 32 | what, &fresh);

	if (fresh) {
		struct call new = {caller, what, is_again(k->c, caller, what)};

		*slot = k->c->list.n;
		vec_push(&k->c->list, new);
	}
	return (uint32_t)*slot;
}

static uint32_t add_frames(struct calls_making *k, uint32_t at, const struct named_frame *f,
			   size_t n)
{
	if (!n)
		return call_from(k, at, WHAT_NO_STACK);
	for (size_t i = 0; i < n; i++) {
		const struct named_frame *one = &f[k->upside_down ? i : n - 1 - i];

		at = call_from(k, at, WHAT_FRAME | one->function << 1 | one->inlined);
	}
	return at;
}

static uint32_t sample_call(struct calls_making *k, const struct sample_row *r)
{
	const struct named_frame *f;
	bool fresh;
	uint64_t *slot = map_put(&k->samples, (uint64_t)r->kstack << 32 | r->ustack, &fresh);
	size_t n;

	if (fresh) {
		n = names_stack(&k->m->names, r->kstack, r->ustack, &f);
		*slot = add_frames(k, 0, f, n);
	}
	return (uint32_t)*slot;
}

/* Right way up, a stack's path is the same for every reason, so it is kept by stack. */
static uint32_t wait_call(struct calls_making *k, const struct wait_row *r)
{
	uint32_t reason = WHAT_REASON | r->verdict.reason;
	uint64_t key = (uint64_t)r->kstack << 32 | r->ustack, *slot;
	const struct named_frame *f;
	bool fresh;
	size_t n;

	if (k->upside_down) {
		n = names_probed_stack(&k->m->names, r->kstack, r->ustack, &f);
		return add_frames(k, call_from(k, 0, reason), f, n);
	}
	slot = map_put(&k->waits, key, &fresh);
	if (fresh) {
		n = names_probed_stack(&k->m->names, r->kstack, r->ustack, &f);
		*slot = add_frames(k, 0, f, n);
	}
	return call_from(k, (uint32_t)*slot, reason);
}

struct calls *calls_new(struct model *m, bool upside_down)
{
	const struct tally *t = &m->tally;
	struct calls *c = mem_zalloc(sizeof(*c));
	struct calls_making k = {.m = m, .c = c, .upside_down = upside_down};
	struct call root = {0, WHAT_ROOT, false};

	vec_push(&c->list, root);
	c->of_sample = mem_alloc((t->samples.n + 1) * sizeof(*c->of_sample));
	c->of_wait = mem_alloc((t->waits.n + 1) * sizeof(*c->of_wait));
	for (size_t i = 0; i < t->samples.n; i++)
		c->of_sample[i] = sample_call(&k, &t->samples.v[i]);
	for (size_t i = 0; i < t->waits.n; i++)
		c->of_wait[i] = wait_call(&k, &t->waits.v[i]);
	map_done(&k.by_caller);
	map_done(&k.samples);
	map_done(&k.waits);
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	vec_done(&c->list);
	free(c->of_sample);
	free(c->of_wait);
	free(c);
}

size_t calls_path(const struct calls *c, uint32_t call, uint32_t *ret, size_t room)
{
	size_t n = 0, at;

	for (uint32_t i = call; i; i = c->list.v[i].caller)
		n++;
	at = n;
	for (uint32_t i = call; i; i = c->list.v[i].caller)
		if (--at < room)
			ret[at] = i;
	return n < room ? n : room;
}
