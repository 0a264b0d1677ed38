// SPDX-License-Identifier: MIT
/*
 * The scout reads the mappings of a process when an address is new, and they are kept for the next
 * question. They are read again only when the process has mapped other code, or when an address is
 * in none of them. So a program with ten thousand locks on its heap costs one reading, and one
 * whose heap grows costs a few a second. What a reading costs decides how soon the next may come: a
 * process that changes its mappings all the time gets fewer answers, not more of our time.
 *
 * The data of a program, and its .bss, which is anonymous memory right after the data, are named
 * by their virtual address in the ELF file, because .bss has no offset there. The load bias comes
 * from the mapping of the program's code and the file's program headers.
 */
#include "scout/places.h"

#include <stdlib.h>
#include <string.h>

#include "arch/host.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/units.h"
#include "base/vec.h"
#include "wire/state.h"

enum { ASKED_MAX = 1 << 18, KEPT_MAX = 256 };
#define KEPT_BYTES_MAX (64u << 20)
#define WAIT_NS (NSEC_PER_SEC / 10)

struct area {
	uint64_t start, end, pgoff;
	uint64_t dev, inode; /* of its file; inode 0: none */
	uint32_t path;	     /* into paths */
	uint32_t code;	     /* the area of the same file's code, or SCOUT_NONE */
	bool shared;
};

/* What one process maps. */
struct kept_place {
	uint32_t pid;
	uint64_t version;
	uint64_t used; /* number of the last question that used it */
	size_t bytes;
	struct area *areas;
	size_t n;
	char *paths;
};

struct places {
	struct procs *procs;
	struct scout *scout;
	struct map lives; /* pid -> a number that changes with each program it runs */
	uint64_t next_life;
	struct map asked;  /* of life and address */
	struct map bases;  /* of module and place in it -> its virtual address + 1; 0: none */
	struct map by_pid; /* -> struct kept_place * */
	size_t kept_bytes;
	uint64_t questions, untold;
};

enum found { FOUND_NOT, FOUND, FOUND_LATER };

/* ---- a process's mappings ---- */

static struct kept_place *kept_of(const struct places *p, uint32_t pid)
{
	uint64_t *slot = map_get(&p->by_pid, pid);

	return slot ? (struct kept_place *)(uintptr_t)*slot : NULL;
}

static void kept_drop(struct places *p, struct kept_place *k)
{
	if (!k)
		return;
	map_del(&p->by_pid, k->pid);
	p->kept_bytes -= k->bytes;
	free(k->areas);
	free(k->paths);
	free(k);
}

static void places_make_room(struct places *p)
{
	while (p->by_pid.n && (p->by_pid.n >= KEPT_MAX || p->kept_bytes > KEPT_BYTES_MAX)) {
		struct kept_place *oldest = NULL;
		struct map_slot *slot;

		for (size_t i = 0; map_next(&p->by_pid, &i, &slot);) {
			struct kept_place *k = (struct kept_place *)(uintptr_t)slot->val;

			if (!oldest || k->used < oldest->used)
				oldest = k;
		}
		kept_drop(p, oldest);
	}
}

static void take_areas(void *ctx, const struct scout_answer *a)
{
	struct places *p = ctx;
	struct kept_place *k;
	size_t text = 0;

	/* A process that does not answer, or is gone, gets an empty list. */
	kept_drop(p, kept_of(p, a->q.pid));
	places_make_room(p);
	for (size_t i = 0; i < a->n_files; i++)
		text = a->files[i].path + strlen(a->text + a->files[i].path) + 1;
	k = mem_zalloc(sizeof(*k));
	*k = (struct kept_place){.pid = a->q.pid,
				 .version = procs_version(p->procs, a->q.pid),
				 .used = p->questions,
				 .n = a->n_areas,
				 .areas = mem_alloc((a->n_areas + 1) * sizeof(*k->areas)),
				 .paths = mem_alloc(text + 1),
				 .bytes = a->n_areas * sizeof(*k->areas) + text};
	if (text)
		memcpy(k->paths, a->text, text);
	for (size_t i = 0; i < a->n_areas; i++) {
		const struct scout_area *from = &a->areas[i];
		const struct scout_file *f = &a->files[from->file];

		k->areas[i] = (struct area){.start = from->start,
					    .end = from->end,
					    .pgoff = from->pgoff,
					    .dev = f->dev,
					    .inode = f->inode,
					    .path = f->path,
					    .code = from->code,
					    .shared = from->shared};
	}
	p->kept_bytes += k->bytes;
	*map_put(&p->by_pid, k->pid, NULL) = (uintptr_t)k;
}

static const struct area *area_at(const struct kept_place *k, uint64_t addr)
{
	size_t at = SEARCH(0, k->n, i, k->areas[i].end <= addr);

	return at < k->n && k->areas[at].start <= addr ? &k->areas[at] : NULL;
}

/* *ret NULL: not known yet, ask again later. */
static const struct area *places_find(struct places *p, uint32_t pid, uint64_t addr,
				      struct kept_place **ret)
{
	struct scout_question q = {.kind = SCOUT_AREAS, .pid = pid};
	const struct area *a;

	procs_need(p->procs, pid);
	*ret = kept_of(p, pid);
	if (*ret && (*ret)->version == procs_version(p->procs, pid)) {
		(*ret)->used = ++p->questions;
		a = area_at(*ret, addr);
		if (a)
			return a;
	}
	if (!scout_wait(p->scout, scout_ask(p->scout, &q, false), WAIT_NS, false)) {
		*ret = NULL;
		return NULL;
	}
	*ret = kept_of(p, pid);
	return *ret ? area_at(*ret, addr) : NULL;
}

/* ---- programs and libraries ---- */

static uint64_t base_key(uint32_t module, uint64_t pgoff)
{
	return map_mix(module) ^ pgoff;
}

/* Keeps the virtual address that the file's headers give to the beginning of the range. */
static void take_segments(void *ctx, const struct scout_answer *a)
{
	struct places *p = ctx;
	struct proc_range r;
	uint64_t *slot;

	if (!procs_range_at(p->procs, a->q.pid, a->q.start, &r))
		return;
	slot = map_put(&p->bases, base_key(r.module, r.pgoff), NULL);
	*slot = 0;
	/* The mapping begins at a page, the segment perhaps within it. */
	for (size_t i = 0; i < a->n_areas; i++) {
		const struct scout_area *s = &a->areas[i];
		uint64_t page = s->pgoff & -(uint64_t)ARCH_PAGE;

		if (r.pgoff >= page && r.pgoff < s->pgoff + (s->end - s->start))
			*slot = s->start - s->pgoff + r.pgoff + 1;
	}
}

static enum found vaddr_of(struct places *p, uint32_t pid, const struct proc_range *r,
			   const struct area *code, uint64_t *ret)
{
	uint64_t key = base_key(r->module, r->pgoff), *slot = map_get(&p->bases, key);
	struct scout_question q = {.kind = SCOUT_SEGMENTS,
				   .pid = pid,
				   .start = r->start,
				   .end = r->end,
				   .dev = code->dev,
				   .inode = code->inode,
				   .path = r->path};

	if (r->silent)
		return FOUND_NOT;
	if (!slot) {
		(void)scout_wait(p->scout, scout_ask(p->scout, &q, false), WAIT_NS, false);
		slot = map_get(&p->bases, key);
	}
	if (!slot)
		return FOUND_LATER;
	*ret = *slot - 1;
	return *slot ? FOUND : FOUND_NOT;
}

static enum found in_module(struct places *p, const struct kept_place *k, const struct area *a,
			    struct ev_place *ret)
{
	const struct area *code = a->code < k->n ? &k->areas[a->code] : NULL;
	struct proc_range r;
	uint64_t vaddr = 0;
	enum found found;

	/* Nothing is known of a process that is not read yet. */
	if (procs_unread(p->procs, ret->pid))
		return FOUND_LATER;
	if (!code || !procs_range_at(p->procs, ret->pid, code->start, &r) ||
	    r.kind != MODULE_FILE || strcmp(r.path, k->paths + code->path))
		return FOUND_NOT;
	found = vaddr_of(p, ret->pid, &r, code, &vaddr);
	if (found == FOUND) {
		ret->kind = PLACE_MODULE;
		ret->module = r.module;
		ret->offset = ret->addr - (r.start - vaddr);
	}
	return found;
}

/* ---- asking ---- */

/* Copies areas, because waiting for one answer may bring another, which replaces what is kept. */
static enum found places_tell(struct places *p, struct kept_place *k, const struct area *at,
			      struct ev_place *ret)
{
	struct area a = *at, before = {0};
	const char *path = k->paths + a.path;
	bool heap = !strcmp(path, "[heap]"), stack = !strncmp(path, "[stack", 6);
	enum found found = FOUND_NOT;

	if (at > k->areas && at[-1].end == at->start)
		before = at[-1];
	ret->offset = ret->addr - a.start;
	if (a.shared) {
		ret->kind = PLACE_SHARED;
		ret->offset += a.pgoff;
		ret->shared = a.inode ? map_mix(a.dev) ^ a.inode : 0;
	} else if (a.inode) {
		found = in_module(p, k, &a, ret);
		if (found == FOUND_NOT) {
			ret->kind = PLACE_FILE;
			ret->offset += a.pgoff;
		}
	} else if (heap || stack) {
		ret->kind = heap ? PLACE_HEAP : PLACE_STACK;
	} else {
		if (!before.shared && before.inode)
			found = in_module(p, k, &before, ret);
		if (found == FOUND_NOT)
			ret->kind = PLACE_ANON;
	}
	return found == FOUND_LATER ? FOUND_LATER : FOUND;
}

bool places_ask(struct places *p, uint32_t pid, uint64_t addr, struct ev_place *ret)
{
	const struct area *a;
	struct kept_place *k;
	uint64_t *life, key;
	bool fresh;

	if (p->asked.n > ASKED_MAX)
		map_clear(&p->asked);
	life = map_put(&p->lives, pid, &fresh);
	if (fresh)
		*life = ++p->next_life;
	key = map_mix(*life) ^ addr;
	map_put(&p->asked, key, &fresh);
	if (!fresh)
		return false;
	*ret = (struct ev_place){.pid = pid, .addr = addr, .kind = PLACE_UNKNOWN};
	a = places_find(p, pid, addr, &k);
	if (k && (!a || places_tell(p, k, a, ret) == FOUND))
		return true;
	map_del(&p->asked, key);
	p->untold++;
	return false;
}

void places_forget(struct places *p, uint32_t pid)
{
	map_del(&p->lives, pid);
	kept_drop(p, kept_of(p, pid));
}

uint64_t places_untold(const struct places *p)
{
	return p->untold;
}

struct places *places_new(struct procs *procs, struct scout *scout)
{
	struct places *p = mem_zalloc(sizeof(*p));

	p->procs = procs;
	p->scout = scout;
	scout_on(scout, SCOUT_AREAS, take_areas, p);
	scout_on(scout, SCOUT_SEGMENTS, take_segments, p);
	return p;
}

void places_free(struct places *p)
{
	struct map_slot *slot;

	if (!p)
		return;
	for (size_t i = 0; map_next(&p->by_pid, &i, &slot);) {
		struct kept_place *k = (struct kept_place *)(uintptr_t)slot->val;

		free(k->areas);
		free(k->paths);
		free(k);
	}
	map_done(&p->by_pid);
	map_done(&p->lives);
	map_done(&p->asked);
	map_done(&p->bases);
	free(p);
}
