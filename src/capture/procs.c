// SPDX-License-Identifier: MIT
#include "capture/procs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "capture/procfs.h"
#include "symbol/symbol.h"

struct range {
	uint64_t start, end, pgoff;
	uint32_t module;
	enum module_kind kind;
};

/* Shared by the processes that have the same; never changed while refs > 1. */
struct space {
	unsigned refs;
	uint64_t version;
	VEC(struct range) r; /* sorted, disjoint */
};

struct proc {
	struct space *space;
	unsigned threads;
};

struct build_id {
	uint8_t len;
	uint8_t id[BUILD_ID_MAX];
};

struct known_module {
	char *path;
	struct build_id id;
};

struct procs {
	struct writer *w;
	struct map by_pid;    /* -> struct proc * */
	struct map modules;   /* hash of kind, path, build id, pid -> index */
	struct map build_ids; /* hash of device and inode -> index into ids, plus one */
	VEC(struct build_id) ids;
	VEC(struct known_module) known; /* by index */
	uint64_t next_version;
	uint32_t kernel, unknown;
	unsigned strangers; /* read from /proc on demand, without a thread of ours */
};

#define STRANGERS_MAX 1024

static void remember(struct procs *p, uint32_t index, const struct module *m)
{
	struct known_module k = {.path = mem_strdup(m->path), .id.len = m->build_id_len};

	memcpy(k.id.id, m->build_id, sizeof(k.id.id));
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
	if (m->kind == MODULE_ANON)
		key = map_mix(key ^ (uint64_t)m->pid << 32);
	slot = map_put(&p->modules, key, &fresh);
	if (fresh) {
		*slot = writer_module(p->w, m);
		remember(p, (uint32_t)*slot, m);
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

static void space_put(struct space *s)
{
	if (!s || --s->refs)
		return;
	vec_done(&s->r);
	free(s);
}

static struct space *space_new(struct procs *p)
{
	struct space *s = mem_zalloc(sizeof(*s));

	s->refs = 1;
	s->version = ++p->next_version;
	return s;
}

/* The process's mappings, its own copy, about to change. */
static struct space *space_own(struct procs *p, struct proc *pr)
{
	struct space *old = pr->space;

	if (old && old->refs == 1) {
		old->version = ++p->next_version;
		return old;
	}
	pr->space = space_new(p);
	for (size_t i = 0; old && i < old->r.n; i++)
		vec_push(&pr->space->r, old->r.v[i]);
	space_put(old);
	return pr->space;
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
	map_done(&p->build_ids);
	for (size_t i = 0; i < p->known.n; i++)
		free(p->known.v[i].path);
	vec_done(&p->known);
	vec_done(&p->ids);
	free(p);
}

static struct proc *find(const struct procs *p, uint32_t pid)
{
	uint64_t *slot = map_get(&p->by_pid, pid);

	return slot ? (struct proc *)(uintptr_t)*slot : NULL;
}

static struct proc *get(struct procs *p, uint32_t pid)
{
	bool fresh;
	uint64_t *slot = map_put(&p->by_pid, pid, &fresh);

	if (fresh)
		*slot = (uintptr_t)mem_zalloc(sizeof(struct proc));
	return (struct proc *)(uintptr_t)*slot;
}

void procs_thread(struct procs *p, uint32_t pid)
{
	get(p, pid)->threads++;
}

void procs_thread_end(struct procs *p, uint32_t pid)
{
	struct proc *pr = find(p, pid);

	if (!pr || (pr->threads && --pr->threads))
		return;
	space_put(pr->space);
	free(pr);
	map_del(&p->by_pid, pid);
}

void procs_fork(struct procs *p, uint32_t pid, uint32_t parent)
{
	struct proc *pr, *from;

	if (pid == parent)
		return;
	(void)procs_version(p, parent);
	pr = get(p, pid);
	from = get(p, parent);
	space_put(pr->space);
	pr->space = from->space;
	if (pr->space)
		pr->space->refs++;
}

void procs_exec(struct procs *p, uint32_t pid)
{
	struct proc *pr = get(p, pid);

	space_put(pr->space);
	pr->space = space_new(p);
}

/* Cuts [start, end) out of what is mapped there. */
static void unmap(struct space *s, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < s->r.n;) {
		struct range *r = &s->r.v[i], tail = *r;

		if (r->end <= start || r->start >= end) {
			i++;
			continue;
		}
		if (tail.end > end) {
			tail.pgoff += end - tail.start;
			tail.start = end;
		} else {
			tail.start = tail.end;
		}
		if (r->start < start) {
			r->end = start;
			i++;
			if (tail.start < tail.end) {
				vec_reserve(&s->r, s->r.n + 1);
				memmove(&s->r.v[i + 1], &s->r.v[i], (s->r.n - i) * sizeof(*s->r.v));
				s->r.v[i++] = tail;
				s->r.n++;
			}
		} else if (tail.start < tail.end) {
			*r = tail;
			i++;
		} else {
			memmove(r, r + 1, (--s->r.n - i) * sizeof(*r));
		}
	}
}

static void insert(struct space *s, struct range r)
{
	size_t i = s->r.n;

	unmap(s, r.start, r.end);
	i = s->r.n;
	vec_reserve(&s->r, s->r.n + 1);
	while (i > 0 && s->r.v[i - 1].start > r.start) {
		s->r.v[i] = s->r.v[i - 1];
		i--;
	}
	s->r.v[i] = r;
	s->r.n++;
}

/* What kind of code a mapping's name stands for. */
static enum module_kind kind_of(const char *path)
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

uint32_t procs_map(struct procs *p, uint32_t pid, const struct mapping *m)
{
	struct proc *pr = get(p, pid);
	struct module mod = {.kind = kind_of(m->path), .path = m->path, .pid = pid};
	struct range r = {
		.start = m->start, .end = m->start + m->len, .pgoff = m->pgoff, .kind = mod.kind};

	if (mod.kind == MODULE_ANON)
		mod.path = "[anon]";
	if (mod.kind == MODULE_FILE && m->build_id_len <= BUILD_ID_MAX) {
		mod.build_id_len = (uint8_t)m->build_id_len;
		memcpy(mod.build_id, m->build_id, m->build_id_len);
	}
	r.module = mod.kind == MODULE_UNKNOWN ? p->unknown : module_index(p, &mod);
	if (r.end > r.start)
		insert(space_own(p, pr), r);
	return r.module;
}

struct load {
	struct procs *p;
	uint32_t pid;
	procs_map_fn *fn;
	void *ctx;
};

/* Many processes map the same few files: the build id of each is read once. */
static const struct build_id *build_id_of(struct procs *p, uint32_t pid, const struct map_facts *f)
{
	static const struct build_id none;
	uint64_t *slot;
	char path[4352];
	struct stat st;
	bool fresh;

	if (kind_of(f->path) != MODULE_FILE)
		return &none;
	slot = map_put(&p->build_ids, map_mix(f->dev) ^ f->inode, &fresh);
	if (fresh) {
		struct build_id id = {0};
		int n;

		snprintf(path, sizeof(path), "/proc/%u/root%s", pid, f->path);
		n = symbols_build_id(path, id.id, sizeof(id.id));
		/* The process has ended: its file is still there, as a rule. */
		if (n < 0 && !stat(f->path, &st) && st.st_ino == f->inode)
			n = symbols_build_id(f->path, id.id, sizeof(id.id));
		id.len = n > 0 ? (uint8_t)n : 0;
		vec_push(&p->ids, id);
		*slot = p->ids.n;
	}
	return &p->ids.v[*slot - 1];
}

void procs_map_read(struct procs *p, uint32_t pid, const struct map_facts *f, procs_map_fn *fn,
		    void *ctx)
{
	const struct build_id *id;
	struct mapping m = {
		.start = f->start, .len = f->end - f->start, .pgoff = f->pgoff, .path = f->path};
	uint32_t module;

	if (!f->exec)
		return;
	id = build_id_of(p, pid, f);
	m.build_id = id->id;
	m.build_id_len = id->len;
	module = procs_map(p, pid, &m);
	if (fn)
		fn(ctx, pid, &m, module);
}

static void load_one(void *ctx, const struct map_facts *f)
{
	struct load *l = ctx;

	procs_map_read(l->p, l->pid, f, l->fn, l->ctx);
}

void procs_load(struct procs *p, uint32_t pid, procs_map_fn *fn, void *ctx)
{
	struct load l = {.p = p, .pid = pid, .fn = fn, .ctx = ctx};

	procs_exec(p, pid);
	(void)procfs_each_map(pid, load_one, &l); /* gone, or a kernel thread: nothing mapped */
}

/* ---- again ---- */

struct again {
	struct load l;
	const struct proc *pr;
	bool same; /* the first piece of code is where it was: it is the same program */
	bool looked;
	bool fresh;
};

static const struct range *range_in(const struct space *s, uint64_t addr);

static void load_again(void *ctx, const struct map_facts *f)
{
	struct again *a = ctx;
	const struct range *r;

	if (!f->exec)
		return;
	r = range_in(a->pr->space, f->start);
	if (!a->looked) {
		a->looked = true;
		a->same = r && r->start == f->start && r->end == f->end &&
			  (r->kind != MODULE_FILE ||
			   !strcmp(a->l.p->known.v[r->module].path, f->path));
	}
	if (!a->same ||
	    (r && r->start == f->start && r->end == f->end && r->kind == kind_of(f->path)))
		return;
	procs_map_read(a->l.p, a->l.pid, f, a->l.fn, a->l.ctx);
	a->fresh = true;
}

bool procs_refresh(struct procs *p, uint32_t pid, procs_map_fn *fn, void *ctx)
{
	struct again a = {.l = {.p = p, .pid = pid, .fn = fn, .ctx = ctx}, .pr = find(p, pid)};

	if (!a.pr || !a.pr->space)
		return false;
	(void)procfs_each_map(pid, load_again, &a);
	return a.fresh;
}

/* Processes that only woke one of ours are kept as long as there are few of them. */
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

uint64_t procs_version(struct procs *p, uint32_t pid)
{
	struct proc *pr = find(p, pid);

	if (!pr && ++p->strangers > STRANGERS_MAX)
		forget_strangers(p);
	pr = get(p, pid);
	if (!pr->space)
		procs_load(p, pid, NULL, NULL);
	return pr->space->version;
}

bool procs_known(const struct procs *p, uint32_t pid)
{
	return map_get(&p->by_pid, pid);
}

static const struct range *range_in(const struct space *s, uint64_t addr)
{
	size_t lo = 0, hi = s ? s->r.n : 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->r.v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return s && lo < s->r.n && s->r.v[lo].start <= addr ? &s->r.v[lo] : NULL;
}

static const struct range *range_at(const struct procs *p, uint32_t pid, uint64_t addr)
{
	const struct proc *pr = find(p, pid);

	return range_in(pr ? pr->space : NULL, addr);
}

struct frame procs_frame(struct procs *p, uint32_t pid, uint64_t addr)
{
	const struct range *r = range_at(p, pid, addr);

	if (!r)
		return (struct frame){.module = p->unknown, .offset = addr};
	if (r->kind == MODULE_FILE)
		return (struct frame){.module = r->module, .offset = addr - r->start + r->pgoff};
	return (struct frame){.module = r->module,
			      .offset = r->kind == MODULE_VDSO ? addr - r->start : addr};
}

static struct proc_range told(const struct procs *p, const struct range *r)
{
	const struct known_module *k = &p->known.v[r->module];

	return (struct proc_range){.start = r->start,
				   .end = r->end,
				   .pgoff = r->pgoff,
				   .module = r->module,
				   .kind = r->kind,
				   .path = k->path,
				   .build_id = k->id.id,
				   .build_id_len = k->id.len};
}

size_t procs_ranges(struct procs *p, uint32_t pid, proc_range_fn *fn, void *ctx)
{
	struct proc *pr = find(p, pid);

	if (!pr || !pr->space)
		return 0;
	for (size_t i = 0; fn && i < pr->space->r.n; i++) {
		struct proc_range r = told(p, &pr->space->r.v[i]);

		fn(ctx, &r);
	}
	return pr->space->r.n;
}

bool procs_range_at(struct procs *p, uint32_t pid, uint64_t addr, struct proc_range *ret)
{
	const struct range *r = range_at(p, pid, addr);

	if (r)
		*ret = told(p, r);
	return r;
}

uint32_t procs_kernel_module(const struct procs *p)
{
	return p->kernel;
}

void procs_forget_stranger(struct procs *p, uint32_t pid)
{
	struct proc *pr = find(p, pid);

	if (pr && !pr->threads)
		procs_thread_end(p, pid);
}
