// SPDX-License-Identifier: MIT
#include "scout/procs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "scout/procs_private.h"
#include "wire/unwind.h"

/* How many processes to keep that are known only because they woke a recorded thread. */
#define STRANGERS_MAX 1024

static void procs_remember(struct procs *p, uint32_t index, const struct module *m)
{
	struct known_module k = {.path = mem_strdup(m->path), .m = *m};

	k.m.path = NULL;
	while (p->known.n < index)
		vec_push(&p->known, (struct known_module){0});
	vec_push(&p->known, k);
}

static uint32_t module_index(struct procs *p, const struct module *m)
{
	uint64_t key = map_hash_bytes(m->path, strlen(m->path));
	uint64_t *slot;
	bool fresh;

	key = map_mix(key ^ (uint64_t)m->kind ^ map_hash_bytes(m->build_id, m->build_id_len));
	/* Files may have the same path in turn: without build ids, device and inode differ. */
	if (m->kind == MODULE_FILE && !m->build_id_len)
		key = map_mix(map_mix(key ^ m->dev) ^ m->inode);
	if (m->kind == MODULE_ANON)
		key = map_mix(key ^ (uint64_t)m->pid << 32);
	slot = map_put(&p->modules, key, &fresh);
	if (fresh) {
		*slot = writer_module(p->w, m);
		procs_remember(p, (uint32_t)*slot, m);
	}
	return (uint32_t)*slot;
}

struct procs *procs_new(struct writer *w)
{
	struct procs *p = mem_zalloc(sizeof(*p));

	p->w = w;
	p->kernel = module_index(p, &(struct module){.kind = MODULE_KERNEL, .path = "[kernel]"});
	p->unknown = module_index(p, &(struct module){.kind = MODULE_UNKNOWN, .path = "[unknown]"});
	return p;
}

void procs_free(struct procs *p)
{
	struct map_slot *slot;

	if (!p)
		return;
	for (size_t i = 0; map_next(&p->by_pid, &i, &slot);) {
		struct proc *pr = (struct proc *)(uintptr_t)slot->val;

		space_put(pr->space);
		free(pr);
	}
	map_done(&p->by_pid);
	map_done(&p->modules);
	map_done(&p->by_file);
	vec_done(&p->files);
	for (size_t i = 0; i < p->known.n; i++)
		free(p->known.v[i].path);
	for (size_t i = 0; i < p->silent.n; i++)
		free((char *)p->silent.v[i]);
	vec_done(&p->silent);
	vec_done(&p->known);
	free(p);
}

void procs_at(struct procs *p, uint64_t ts)
{
	p->now = ts;
}

struct proc *procs_find(const struct procs *p, uint32_t pid)
{
	uint64_t *slot;

	if (p->lately && p->lately_pid == pid)
		return p->lately;
	slot = map_get(&p->by_pid, pid);
	return slot ? (struct proc *)(uintptr_t)*slot : NULL;
}

static void forget_strangers(struct procs *p)
{
	VEC(uint32_t) pids = {0};
	struct map_slot *slot;

	for (size_t i = 0; map_next(&p->by_pid, &i, &slot);)
		if (!((struct proc *)(uintptr_t)slot->val)->threads)
			vec_push(&pids, (uint32_t)slot->key);
	for (size_t i = 0; i < pids.n; i++)
		procs_thread_end(p, pids.v[i]);
	vec_done(&pids);
	p->strangers = 0;
}

/* A new process counts as unread if there is a scout that could read it. */
struct proc *procs_get(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_find(p, pid);

	if (!pr) {
		if (++p->strangers > STRANGERS_MAX)
			forget_strangers(p);
		pr = mem_zalloc(sizeof(*pr));
		pr->unread = p->scout;
		*map_put(&p->by_pid, pid, NULL) = (uintptr_t)pr;
	}
	p->lately = pr;
	p->lately_pid = pid;
	return pr;
}

void procs_thread(struct procs *p, uint32_t pid)
{
	procs_get(p, pid)->threads++;
}

void procs_thread_end(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_find(p, pid);

	if (!pr || (pr->threads && --pr->threads))
		return;
	if (p->lately == pr)
		p->lately = NULL;
	space_put(pr->space);
	free(pr);
	map_del(&p->by_pid, pid);
}

void procs_fork(struct procs *p, uint32_t pid, uint32_t parent)
{
	struct proc *pr, *from;

	if (pid == parent)
		return;
	procs_need(p, parent);
	pr = procs_get(p, pid);
	from = procs_find(p, parent);
	if (!from)
		return;
	space_put(pr->space);
	pr->space = space_ref(from->space);
	pr->unread = from->unread;
	pr->mapped = pr->exec = p->now;
}

void procs_exec(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_get(p, pid);

	space_put(pr->space);
	pr->space = space_new(++p->next_version);
	pr->unread = false; /* records report all that it maps from now on */
	pr->exec = p->now;
}

struct space *procs_own_space(struct procs *p, struct proc *pr)
{
	pr->space = space_own(pr->space, ++p->next_version);
	return pr->space;
}

/* What kind of code a mapping's name stands for. */
enum module_kind procs_kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return MODULE_VDSO;
	if (!strcmp(path, "[vsyscall]") || !strcmp(path, "[uprobes]"))
		return MODULE_UNKNOWN;
	if (path[0] != '/' || !strncmp(path, "//anon", 6) || !strncmp(path, "/dev/zero", 9) ||
	    !strncmp(path, "/anon_hugepage", 14) || !strncmp(path, "/SYSV", 5))
		return MODULE_ANON;
	return MODULE_FILE;
}

static void set_file(struct module *mod, const struct mapping *m, const uint8_t *id, size_t len)
{
	mod->dev = m->dev;
	mod->inode = m->inode;
	mod->build_id_len = len <= BUILD_ID_MAX ? (uint8_t)len : 0;
	memcpy(mod->build_id, id, mod->build_id_len);
}

uint32_t procs_map(struct procs *p, uint32_t pid, const struct mapping *m)
{
	struct proc *pr;
	struct module mod = {.kind = procs_kind_of(m->path), .path = m->path, .pid = pid};
	struct mapped_range r = {
		.start = m->start, .end = m->start + m->len, .pgoff = m->pgoff, .kind = mod.kind};
	bool silent = m->silent;

	if (mod.kind == MODULE_ANON)
		mod.path = "[anon]";
	if (mod.kind == MODULE_FILE && m->recorded) {
		struct scout_file file = procs_ask_file(p, pid, m);

		set_file(&mod, m, file.build_id, file.build_id_len);
		silent = file.trouble != SCOUT_FINE;
	} else if (mod.kind == MODULE_FILE) {
		set_file(&mod, m, m->build_id, m->build_id_len);
	}
	r.module = mod.kind == MODULE_UNKNOWN ? p->unknown : module_index(p, &mod);
	p->known.v[r.module].silent |= silent;
	pr = procs_get(p, pid);
	if (r.end > r.start)
		space_insert(procs_own_space(p, pr), r);
	pr->mapped = p->now;
	return r.module;
}

uint64_t procs_version(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_get(p, pid);

	if (!pr->space)
		pr->space = space_new(++p->next_version);
	return space_version(pr->space);
}

uint64_t procs_look(struct procs *p, uint32_t pid, bool *ret_unread)
{
	struct proc *pr = procs_get(p, pid);

	if (pr->unread || !pr->space) {
		procs_need(p, pid);
		*ret_unread = procs_unread(p, pid);
		return procs_version(p, pid);
	}
	*ret_unread = false;
	return space_version(pr->space);
}

bool procs_known(const struct procs *p, uint32_t pid)
{
	return procs_find(p, pid);
}

static const struct mapped_range *range_at(const struct procs *p, uint32_t pid, uint64_t addr)
{
	const struct proc *pr = procs_find(p, pid);

	return pr ? space_at(pr->space, addr) : NULL;
}

struct frame procs_frame(struct procs *p, uint32_t pid, uint64_t addr)
{
	const struct mapped_range *r = range_at(p, pid, addr);

	if (!r)
		return (struct frame){.module = p->unknown, .offset = addr};
	if (r->kind == MODULE_FILE)
		return (struct frame){.module = r->module, .offset = addr - r->start + r->pgoff};
	return (struct frame){.module = r->module,
			      .offset = r->kind == MODULE_VDSO ? addr - r->start : addr};
}

static struct proc_range procs_told(const struct procs *p, const struct mapped_range *r)
{
	const struct known_module *k = &p->known.v[r->module];

	return (struct proc_range){.start = r->start,
				   .end = r->end,
				   .pgoff = r->pgoff,
				   .module = r->module,
				   .kind = r->kind,
				   .path = k->path,
				   .dev = k->m.dev,
				   .inode = k->m.inode,
				   .build_id = k->m.build_id,
				   .build_id_len = k->m.build_id_len,
				   .silent = k->silent};
}

struct opener_want procs_want(uint32_t pid, const struct proc_range *r)
{
	return (struct opener_want){.pid = pid,
				    .path = r->path,
				    .start = r->start,
				    .end = r->end,
				    .dev = r->dev,
				    .inode = r->inode,
				    .build_id = r->build_id,
				    .build_id_len = r->build_id_len};
}

size_t procs_ranges(struct procs *p, uint32_t pid, proc_range_fn *fn, void *ctx)
{
	struct proc *pr = procs_find(p, pid);
	struct space_pos pos = {0};
	const struct mapped_range *r;

	if (!pr)
		return 0;
	while (fn && (r = space_next(pr->space, &pos))) {
		struct proc_range t = procs_told(p, r);

		fn(ctx, &t);
	}
	return space_count(pr->space);
}

bool procs_range_at(struct procs *p, uint32_t pid, uint64_t addr, struct proc_range *ret)
{
	const struct mapped_range *r = range_at(p, pid, addr);

	if (r)
		*ret = procs_told(p, r);
	return r;
}

uint32_t procs_kernel_module(const struct procs *p)
{
	return p->kernel;
}

uint32_t procs_guess_module(struct procs *p)
{
	return module_index(p, &(struct module){.kind = MODULE_GUESS, .path = UNWIND_GUESS_NAME});
}

void procs_forget_stranger(struct procs *p, uint32_t pid)
{
	struct proc *pr = procs_find(p, pid);

	if (pr && !pr->threads)
		procs_thread_end(p, pid);
}
