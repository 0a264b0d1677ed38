// SPDX-License-Identifier: MIT
/*
 * What a process had mapped, read by the scout. An answer holds for the moment of reading. The
 * stream may not have come so far: then its records repeat what is known. If the answer was long on
 * its way, the stream may be past that moment: then its records are newer than the answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "scout/procfs.h"
#include "scout/procs_private.h"

#define NEED_NS (NSEC_PER_SEC / 10)   /* how long the stream waits for one process */
#define SILENT_NS (10 * NSEC_PER_SEC) /* a process that did not answer is left alone */
#define SILENT_KEPT 16
#define FILE_HOLDS_NS NSEC_PER_SEC

static void note_silent(struct procs *p, const char *path, uint32_t pid)
{
	char text[4352];

	p->n_silent++;
	if (p->silent.n >= SILENT_KEPT)
		return;
	if (path)
		snprintf(text, sizeof(text), "%s (mapped by process %u)", path, pid);
	else
		snprintf(text, sizeof(text),
			 "/proc/%u/maps (one of its threads waits, and holds it)", pid);
	vec_push(&p->silent, mem_strdup(text));
}

/* Once, however many processes map it. */
static void note_module(struct procs *p, uint32_t module, uint32_t pid)
{
	struct known_module *k = &p->known.v[module];

	if (!k->silent || k->noted)
		return;
	k->noted = true;
	note_silent(p, k->path, pid);
}

void procs_module_silent(struct procs *p, uint32_t module, uint32_t pid)
{
	if (module >= p->known.n)
		return;
	p->known.v[module].silent = true;
	note_module(p, module, pid);
}

size_t procs_silent(const struct procs *p, const char *const **ret, size_t *ret_n)
{
	*ret = p->silent.v;
	*ret_n = p->silent.n;
	return p->n_silent;
}

/* ---- telling ---- */

void procs_set_tell(struct procs *p, procs_map_fn *fn, void *ctx)
{
	p->tell = fn;
	p->tell_ctx = ctx;
}

void procs_tell(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_find(p, pid);
	struct space_pos pos = {0};
	const struct mapped_range *r;

	while (pr && p->tell && (r = space_next(pr->space, &pos))) {
		struct mapping m = {.start = r->start, .len = r->end - r->start, .pgoff = r->pgoff};

		p->tell(p->tell_ctx, pid, &m, r->module);
	}
}

/* ---- an answer ---- */

static void add_area(struct procs *p, uint32_t pid, const struct scout_answer *a,
		     const struct scout_area *area)
{
	const struct scout_file *f = &a->files[area->file];
	struct mapping m = {.start = area->start,
			    .len = area->end - area->start,
			    .pgoff = area->pgoff,
			    .path = a->text + f->path,
			    .dev = f->dev,
			    .inode = f->inode,
			    .build_id = f->build_id,
			    .build_id_len = f->build_id_len,
			    .silent = f->trouble != SCOUT_FINE};
	struct proc *pr = procs_find(p, pid);
	uint64_t mapped = pr->mapped;
	uint32_t module = procs_map(p, pid, &m);

	pr->mapped = mapped; /* no record reported it */
	note_module(p, module, pid);
	if (p->tell && pr->threads)
		p->tell(p->tell_ctx, pid, &m, module);
}

/* Is the same mapping in the same place as when the program was read before? */
static bool is_there(const struct procs *p, const struct proc *pr, const struct scout_answer *a,
		     const struct scout_area *area)
{
	const char *path = a->text + a->files[area->file].path;
	const struct mapped_range *r = space_at(pr->space, area->start);

	return r && r->start == area->start && r->end == area->end &&
	       r->kind == procs_kind_of(path) &&
	       (r->kind != MODULE_FILE || !strcmp(p->known.v[r->module].path, path));
}

static void procs_read_refresh(struct procs *p, struct proc *pr, const struct scout_answer *a)
{
	pr->refreshing = false;
	/* If the first piece of code has moved, this is another program. */
	if (!a->n_areas || !is_there(p, pr, a, &a->areas[0]))
		return;
	for (size_t i = 1; i < a->n_areas; i++) {
		if (is_there(p, pr, a, &a->areas[i]))
			continue;
		add_area(p, a->q.pid, a, &a->areas[i]);
		pr->fresh = true;
	}
}

static void procs_read_apply(struct procs *p, struct proc *pr, const struct scout_answer *a)
{
	bool newer = pr->mapped > a->at_ns;

	/* It has become another program since. */
	if (pr->exec > a->at_ns)
		return;
	if (!newer) {
		space_put(pr->space);
		pr->space = space_new(++p->next_version);
	}
	for (size_t i = 0; i < a->n_areas; i++)
		if (!newer || !space_overlaps(pr->space, a->areas[i].start, a->areas[i].end))
			add_area(p, a->q.pid, a, &a->areas[i]);
}

static void take_code(void *ctx, const struct scout_answer *a)
{
	struct procs *p = ctx;
	struct proc *pr = procs_find(p, a->q.pid);

	if (!pr)
		return;
	if (a->status == -ETIMEDOUT) {
		if (!pr->was_silent)
			note_silent(p, NULL, a->q.pid);
		pr->was_silent = true;
		pr->not_before = clock_mono_ns() + SILENT_NS;
		return;
	}
	if (pr->refreshing)
		procs_read_refresh(p, pr, a);
	else if (!a->status)
		procs_read_apply(p, pr, a);
	pr->unread = false; /* gone, or a kernel thread: nothing is mapped */
}

static void take_build_id(void *ctx, const struct scout_answer *a)
{
	struct procs *p = ctx;

	if (a->q.start != p->asked.start || a->q.pid != p->asked.pid || !a->n_files)
		return;
	p->asked.file = a->files[0];
}

void procs_set_scout(struct procs *p, struct scout *s)
{
	p->scout = s;
	scout_on(s, SCOUT_CODE, take_code, p);
	scout_on(s, SCOUT_BUILD_ID, take_build_id, p);
}

/* ---- asking ---- */

static uint64_t procs_read_ask(struct procs *p, uint32_t pid, bool due)
{
	struct scout_question q = {.kind = SCOUT_CODE, .pid = pid};

	return scout_ask(p->scout, &q, due);
}

void procs_load(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_get(p, pid);

	if (pr->not_before && clock_mono_ns() < pr->not_before)
		return;
	pr->unread = p->scout;
	(void)procs_read_ask(p, pid, true);
}

void procs_need(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_get(p, pid);

	if (!pr->unread || (pr->not_before && clock_mono_ns() < pr->not_before))
		return;
	(void)scout_wait(p->scout, procs_read_ask(p, pid, false), NEED_NS, false);
}

bool procs_refresh(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_find(p, pid);

	if (!pr || !pr->space || !space_count(pr->space))
		return false;
	pr->refreshing = true;
	pr->fresh = false;
	(void)scout_wait(p->scout, procs_read_ask(p, pid, false), NEED_NS, false);
	pr = procs_find(p, pid);
	return pr && pr->fresh;
}

void procs_map_read(struct procs *p, uint32_t pid, const struct map_facts *f)
{
	struct mapping m = {.start = f->start,
			    .len = f->end - f->start,
			    .pgoff = f->pgoff,
			    .path = f->path,
			    .dev = f->dev,
			    .inode = f->inode};
	struct scout_question q = {.kind = SCOUT_BUILD_ID,
				   .pid = pid,
				   .start = f->start,
				   .end = f->end,
				   .dev = f->dev,
				   .inode = f->inode,
				   .path = f->path};
	uint32_t module;

	if (!f->exec)
		return;
	p->asked = (struct asked_id){.start = f->start, .pid = pid};
	if (procs_kind_of(f->path) == MODULE_FILE)
		(void)scout_wait(p->scout, scout_ask(p->scout, &q, false), NEED_NS, false);
	m.build_id = p->asked.file.build_id;
	m.build_id_len = p->asked.file.build_id_len;
	m.silent = p->asked.file.trouble != SCOUT_FINE;
	module = procs_map(p, pid, &m);
	note_module(p, module, pid);
	if (p->tell)
		p->tell(p->tell_ctx, pid, &m, module);
}

/* ---- the file of a record ---- */

static uint64_t file_key(const struct mapping *m)
{
	uint64_t key = map_hash_bytes(m->path, strlen(m->path));

	return map_mix(map_mix(map_mix(key ^ m->dev) ^ m->inode) ^ m->generation);
}

/*
 * A file may be overwritten and keep its numbers, so a file that is mapped again and again is read
 * once in a while, but not each time. If no answer comes, the last one holds.
 */
struct scout_file procs_ask_file(struct procs *p, uint32_t pid, const struct mapping *m)
{
	struct scout_question q = {.kind = SCOUT_BUILD_ID,
				   .pid = pid,
				   .start = m->start,
				   .end = m->start + m->len,
				   .dev = m->dev,
				   .inode = m->inode,
				   .path = m->path};
	uint64_t *slot, now = clock_mono_ns();
	struct known_file *known;
	bool fresh;

	if (!p->scout)
		return (struct scout_file){0};
	slot = map_put(&p->by_file, file_key(m), &fresh);
	if (fresh) {
		(void)vec_add(&p->files);
		*slot = p->files.n;
	}
	known = &p->files.v[*slot - 1];
	if (!fresh && now - known->asked_ns < FILE_HOLDS_NS)
		return known->facts;
	known->asked_ns = now;
	p->asked = (struct asked_id){.start = m->start, .pid = pid};
	/* Waiting drains the rings but handles no record: `known` stays where it is. */
	if (!scout_wait(p->scout, scout_ask(p->scout, &q, false), NEED_NS, false))
		return known->facts;
	if (p->asked.file.build_id_len || !known->facts.build_id_len)
		known->facts = p->asked.file;
	else
		known->facts.trouble = p->asked.file.trouble;
	return known->facts;
}

bool procs_unread(const struct procs *p, uint32_t pid)
{
	const struct proc *pr = procs_find(p, pid);

	return pr && pr->unread;
}
