// SPDX-License-Identifier: MIT
/*
 * The mappings of a process are read from /proc when an address is new, and kept for the next
 * question: of the last few processes only, and read again only when the code that the process maps
 * has changed, or when an address is in none of them and they are not fresh. A program with ten
 * thousand locks on its heap so costs one reading, and one whose heap grows a few a second.
 *
 * The data of a program and its .bss, which is anonymous memory right behind the data, are known by
 * address in the ELF file (its virtual address): .bss has no place in the file. The load bias comes
 * from the program's code, of which the mapping is known, and the file's own program headers.
 */
#include "capture/places.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "capture/procfs.h"
#include "elf/elf.h"
#include "wire/state.h"

enum { PROCS_KEPT = 16, ASKED_MAX = 1 << 18 };
/* So often in such a time are the mappings of one process read again. */
#define REREADS_MAX 8
#define REREAD_NS 100000000ull

struct area {
	uint64_t start, end, pgoff;
	uint64_t file; /* device and inode, mixed; 0: none */
	uint32_t path; /* into paths */
	bool shared;
};

struct kept {
	uint32_t pid;
	uint64_t version;
	uint64_t since; /* from here on so many readings */
	unsigned reads;
	VEC(struct area) areas;
	VEC(char) paths;
};

struct places {
	struct procs *procs;
	struct map lives; /* pid -> a number of its own as long as it runs this program */
	uint64_t next_life;
	struct map asked; /* of life and address */
	struct map bases; /* of module and place in it -> its virtual address + 1; 0: none */
	struct kept kept[PROCS_KEPT];
};

struct places *places_new(struct procs *procs)
{
	struct places *p = mem_zalloc(sizeof(*p));

	p->procs = procs;
	return p;
}

void places_free(struct places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < PROCS_KEPT; i++) {
		vec_done(&p->kept[i].areas);
		vec_done(&p->kept[i].paths);
	}
	map_done(&p->lives);
	map_done(&p->asked);
	map_done(&p->bases);
	free(p);
}

void places_forget(struct places *p, uint32_t pid)
{
	struct kept *k = &p->kept[pid % PROCS_KEPT];

	map_del(&p->lives, pid);
	if (k->pid == pid)
		k->pid = 0;
}

/* ---- a process's mappings ---- */

static void keep_area(void *ctx, const struct map_facts *m)
{
	struct kept *k = ctx;
	size_t len = strlen(m->path) + 1;
	struct area a = {.start = m->start,
			 .end = m->end,
			 .pgoff = m->pgoff,
			 .path = (uint32_t)k->paths.n,
			 .file = m->inode ? map_mix(m->dev) ^ m->inode : 0,
			 .shared = m->shared};

	vec_push(&k->areas, a);
	vec_reserve(&k->paths, k->paths.n + len);
	memcpy(k->paths.v + k->paths.n, m->path, len);
	k->paths.n += len;
}

static const struct area *area_at(const struct kept *k, uint64_t addr)
{
	size_t lo = 0, hi = k->areas.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (k->areas.v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < k->areas.n && k->areas.v[lo].start <= addr ? &k->areas.v[lo] : NULL;
}

/* *ret NULL: not known yet, ask again later. */
static const struct area *find(struct places *p, uint32_t pid, uint64_t addr, uint64_t now,
			       struct kept **ret)
{
	struct kept *k = &p->kept[pid % PROCS_KEPT];
	uint64_t version = procs_version(p->procs, pid);
	const struct area *a;

	*ret = k;
	if (k->pid == pid && k->version == version) {
		a = area_at(k, addr);
		if (a)
			return a;
	}
	if (k->pid != pid || now - k->since >= REREAD_NS) {
		k->since = now;
		k->reads = 0;
	}
	if (k->reads++ >= REREADS_MAX) {
		*ret = NULL;
		return NULL;
	}
	k->pid = pid;
	k->version = version;
	k->areas.n = k->paths.n = 0;
	(void)procfs_each_map(pid, keep_area, k); /* gone: nothing is there */
	return area_at(k, addr);
}

/* ---- programs and libraries ---- */

/* The address that the file's headers give to what is mapped at the range's begin. */
static bool vaddr_of(struct places *p, uint32_t pid, const struct proc_range *r, uint64_t *ret)
{
	bool fresh;
	uint64_t *slot = map_put(&p->bases, map_mix(r->module) ^ r->pgoff, &fresh), vaddr;

	if (fresh) {
		int fd = procfs_open_mapped(pid, r->start, r->end, r->path);
		struct elf *e = NULL;

		if (fd >= 0 && !elf_open_fd(fd, &e)) {
			/* The mapping begins at a page, the segment perhaps within it. */
			for (size_t i = 0; i < e->n_segments; i++) {
				const struct elf_segment *s = &e->segments[i];
				uint64_t page = s->offset & ~4095ull;

				if (s->type == PT_LOAD && (s->flags & PF_X) && r->pgoff >= page &&
				    r->pgoff < s->offset + s->filesz)
					*slot = s->vaddr - s->offset + r->pgoff + 1;
			}
		}
		elf_free(e);
		if (fd >= 0)
			close(fd);
	}
	vaddr = *slot;
	*ret = vaddr - 1;
	return vaddr;
}

struct code_of {
	const char *path;
	uint64_t addr;
	bool found;
	struct proc_range r;
};

/* A file may be mapped more than once: the code nearest below the data is its own. */
static void match_code(void *ctx, const struct proc_range *r)
{
	struct code_of *c = ctx;

	if (r->kind != MODULE_FILE || strcmp(r->path, c->path) || (c->found && r->start > c->addr))
		return;
	c->found = true;
	c->r = *r;
}

static bool in_module(struct places *p, uint32_t pid, const char *path, uint64_t addr,
		      struct ev_place *ret)
{
	struct code_of c = {.path = path, .addr = addr};
	uint64_t vaddr;

	procs_ranges(p->procs, pid, match_code, &c);
	if (!c.found || !vaddr_of(p, pid, &c.r, &vaddr))
		return false;
	ret->kind = PLACE_MODULE;
	ret->module = c.r.module;
	ret->offset = addr - (c.r.start - vaddr);
	return true;
}

/* ---- asking ---- */

static void tell(struct places *p, const struct kept *k, const struct area *a, struct ev_place *ret)
{
	const char *path = k->paths.v + a->path;
	const struct area *before = a > k->areas.v && a[-1].end == a->start ? a - 1 : NULL;

	ret->offset = ret->addr - a->start;
	if (a->shared) {
		ret->kind = PLACE_SHARED;
		ret->offset += a->pgoff;
		ret->shared = a->file;
	} else if (a->file) {
		if (!in_module(p, ret->pid, path, ret->addr, ret)) {
			ret->kind = PLACE_FILE;
			ret->offset += a->pgoff;
		}
	} else if (!strcmp(path, "[heap]")) {
		ret->kind = PLACE_HEAP;
	} else if (!strncmp(path, "[stack", 6)) {
		ret->kind = PLACE_STACK;
	} else if (!before || before->shared || !before->file ||
		   !in_module(p, ret->pid, k->paths.v + before->path, ret->addr, ret)) {
		ret->kind = PLACE_ANON;
	}
}

bool places_ask(struct places *p, uint32_t pid, uint64_t addr, uint64_t now, struct ev_place *ret)
{
	const struct area *a;
	struct kept *k;
	uint64_t *life;
	bool fresh;

	if (p->asked.n > ASKED_MAX)
		map_clear(&p->asked);
	life = map_put(&p->lives, pid, &fresh);
	if (fresh)
		*life = ++p->next_life;
	map_put(&p->asked, map_mix(*life) ^ addr, &fresh);
	if (!fresh)
		return false;
	*ret = (struct ev_place){.pid = pid, .addr = addr, .kind = PLACE_UNKNOWN};
	a = find(p, pid, addr, now, &k);
	if (!k)
		map_del(&p->asked, map_mix(*life) ^ addr);
	else if (a)
		tell(p, k, a, ret);
	return k;
}
