// SPDX-License-Identifier: MIT
#include "collect/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct generation {
	struct map by_id;    /* id -> position in words: count and stop, then the addresses */
	struct map resolved; /* id and version -> the file's index */
	struct map written;  /* hash of frames and stop -> the file's index */
	VEC(uint64_t) words;
};

/* What was asked for lately, found without a search: mostly it is asked for again. */
struct lately {
	uint64_t id, version; /* 0: none */
	uint32_t index;
};
enum { LATELY = 512 };

struct stacks {
	struct writer *w;
	struct procs *procs;
	struct engine *engine;
	struct generation now, before;
	size_t budget_words;
	uint64_t gone, unread;
	struct lately lately[LATELY];
};

struct stacks *stacks_new(struct writer *w, struct procs *p, struct engine *e, size_t budget_bytes)
{
	struct stacks *s = mem_zalloc(sizeof(*s));

	s->w = w;
	s->procs = p;
	s->engine = e;
	s->budget_words = budget_bytes / sizeof(uint64_t);
	return s;
}

static void generation_done(struct generation *g)
{
	map_done(&g->by_id);
	map_done(&g->resolved);
	map_done(&g->written);
	vec_done(&g->words);
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	generation_done(&s->now);
	generation_done(&s->before);
	free(s);
}

void stacks_add(struct stacks *s, uint64_t id, const uint64_t *ips, size_t n, enum unwind_stop stop)
{
	uint64_t *slot;
	bool fresh;

	size_t in_maps = s->now.by_id.n + s->now.resolved.n + s->now.written.n;

	if (s->now.words.n + 4 * in_maps > s->budget_words) {
		generation_done(&s->before);
		s->before = s->now;
		s->now = (struct generation){0};
		memset(s->lately, 0, sizeof(s->lately));
		if (s->engine->ops->forget_stacks)
			s->engine->ops->forget_stacks(s->engine);
	}
	slot = map_put(&s->now.by_id, id, &fresh);
	if (!fresh)
		return;
	*slot = s->now.words.n;
	vec_push(&s->now.words, n | (uint64_t)stop << 32);
	for (size_t i = 0; i < n; i++)
		vec_push(&s->now.words, ips[i]);
}

static const uint64_t *stacks_find(struct stacks *s, uint64_t id)
{
	uint64_t *pos = map_get(&s->now.by_id, id);

	if (pos)
		return &s->now.words.v[*pos];
	pos = map_get(&s->before.by_id, id);
	return pos ? &s->before.words.v[*pos] : NULL;
}

/* The frame between the one at `words` and its caller, if that was guessed. */
static bool guessed(const uint64_t *ip, bool last)
{
	return *ip & UNWIND_GUESSED && !last;
}

/*
 * One stack comes under many ids: each copy has its own, and a process that maps or unmaps code has
 * a new version. The file gets it once.
 */
static uint32_t write_once(struct stacks *s, const struct frame *frames, size_t n, uint32_t stop)
{
	uint64_t key = map_mix(stop + n), *slot;
	bool fresh;

	for (size_t i = 0; i < n; i++)
		key = map_mix(map_mix(key ^ frames[i].module) ^ frames[i].offset);
	slot = map_put(&s->now.written, key, &fresh);
	if (fresh) {
		uint64_t *before = map_get(&s->before.written, key);

		*slot = before ? *before : writer_stack(s->w, frames, n, stop);
	}
	return (uint32_t)*slot;
}

static uint32_t stacks_search(struct stacks *s, uint64_t id, uint64_t version, uint32_t pid,
			      bool kernel)
{
	struct frame frames[STACK_FRAMES_MAX];
	const uint64_t *words;
	uint64_t *slot, n, out = 0;
	bool fresh;

	slot = map_get(&s->now.resolved, id ^ map_mix(version));
	if (slot)
		return (uint32_t)*slot;
	words = stacks_find(s, id);
	if (!words) {
		s->gone++;
		return 0;
	}
	n = (uint32_t)words[0];
	for (uint64_t i = 0; i < n && out < STACK_FRAMES_MAX; i++) {
		bool guess = !kernel && guessed(&words[1 + i], i + 1 == n);
		uint64_t addr = (words[1 + i] & (guess ? ~UNWIND_GUESSED : ~0ull)) - (i > 0);

		frames[out++] = kernel ? (struct frame){procs_kernel_module(s->procs), addr}
				       : procs_frame(s->procs, pid, addr);
		if (guess && out < STACK_FRAMES_MAX)
			frames[out++] = (struct frame){procs_guess_module(s->procs), 0};
	}
	slot = map_put(&s->now.resolved, id ^ map_mix(version), &fresh);
	*slot = write_once(s, frames, out, words[0] >> 32);
	return (uint32_t)*slot;
}

static uint32_t stacks_resolve(struct stacks *s, uint64_t id, uint64_t version, uint32_t pid,
			       bool kernel)
{
	struct lately *l = &s->lately[(id ^ version) % LATELY];
	uint32_t index;

	if (!id)
		return 0;
	if (l->id == id && l->version == version)
		return l->index;
	index = stacks_search(s, id, version, pid, kernel);
	if (index)
		*l = (struct lately){.id = id, .version = version, .index = index};
	return index;
}

uint32_t stacks_kernel(struct stacks *s, uint64_t id)
{
	return stacks_resolve(s, id, 0, 0, true);
}

uint32_t stacks_user(struct stacks *s, uint64_t id, uint32_t pid)
{
	uint64_t version;
	bool unread;

	if (!id)
		return 0;
	version = procs_look(s->procs, pid, &unread);
	s->unread += unread;
	return stacks_resolve(s, id, version, pid, false);
}

uint64_t stacks_unread(const struct stacks *s)
{
	return s->unread;
}

uint64_t stacks_gone(const struct stacks *s)
{
	return s->gone;
}
