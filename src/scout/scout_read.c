// SPDX-License-Identifier: MIT
/* What the scout reads; each function may block. Without state, so any thread may call them. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "elf/elf.h"
#include "scout/procfs.h"
#include "scout/scout_private.h"
#include "symbol/opener.h"
#include "wire/probe.h"
#include "wire/state.h"

#define AREAS_MAX (1u << 20) /* of one process: vm.max_map_count may be anything */

void scout_findings_done(struct scout_findings *f)
{
	vec_done(&f->areas);
	vec_done(&f->files);
	vec_done(&f->calls);
	vec_done(&f->text);
}

/* ---- mappings ---- */

struct maps_reading {
	struct scout_findings *to;
	bool all;
	struct map files;     /* device, inode and path -> index + 1 */
	struct map last_code; /* file -> its area with code that was met last, + 1 */
};

static uint32_t file_index(struct maps_reading *r, const struct map_facts *m)
{
	size_t len = strlen(m->path) + 1;
	uint64_t key = map_mix(m->dev ^ map_mix(m->inode)) ^ map_hash_bytes(m->path, len), *slot;
	struct scout_findings *f = r->to;
	struct scout_file file = {.dev = m->dev,
				  .inode = m->inode,
				  .path = (uint32_t)f->text.n,
				  .area = (uint32_t)f->areas.n};
	bool fresh;

	slot = map_put(&r->files, key, &fresh);
	if (fresh) {
		vec_push(&f->files, file);
		vec_reserve(&f->text, f->text.n + len);
		memcpy(f->text.v + f->text.n, m->path, len);
		f->text.n += len;
		*slot = f->files.n;
	}
	return (uint32_t)*slot - 1;
}

static void take_map(void *ctx, const struct map_facts *m)
{
	struct maps_reading *r = ctx;
	struct scout_area a = {.start = m->start,
			       .end = m->end,
			       .pgoff = m->pgoff,
			       .code = SCOUT_NONE,
			       .exec = m->exec,
			       .shared = m->shared};

	if ((!r->all && !m->exec) || r->to->areas.n >= AREAS_MAX)
		return;
	a.file = file_index(r, m);
	vec_push(&r->to->areas, a);
}

/* If a file is mapped more than once, its data belongs to the nearest code below; else to any. */
static void find_code(struct maps_reading *r)
{
	struct scout_findings *f = r->to;

	for (size_t k = f->areas.n; k-- > 0;)
		if (f->areas.v[k].exec)
			*map_put(&r->last_code, f->areas.v[k].file, NULL) = k + 1;
	for (size_t k = 0; k < f->areas.n; k++) {
		struct scout_area *a = &f->areas.v[k];
		uint64_t *code;

		if (!f->files.v[a->file].inode)
			continue;
		code = map_get(&r->last_code, a->file);
		if (code && a->exec)
			*code = k + 1;
		if (code)
			a->code = (uint32_t)*code - 1;
	}
}

int scout_read_maps(uint32_t pid, bool all, struct scout_findings *ret)
{
	struct maps_reading r = {.to = ret, .all = all};
	int rc = procfs_each_map(pid, take_map, &r);

	if (!rc && all)
		find_code(&r);
	map_done(&r.files);
	map_done(&r.last_code);
	return rc;
}

/* ---- calls ---- */

int scout_read_threads(uint32_t pid, struct scout_findings *ret)
{
	struct dirent *ent;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while ((ent = readdir(d))) {
		uint32_t tid = (uint32_t)strtoul(ent->d_name, NULL, 10);

		if (tid)
			vec_push(&ret->calls, (struct scout_call){.tid = tid});
	}
	closedir(d);
	return 0;
}

/*
 * What a descriptor is, by the text of its link, which the kernel itself writes. Only a path needs
 * a question to the file system, and only for the type of an open file, which network file systems
 * and FUSE remember.
 */
static enum call_file file_of(uint32_t pid, unsigned long long fd)
{
	char path[64], link[16] = "";
	struct statx st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%llu", pid, fd);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		return FILE_UNKNOWN;
	if (!strncmp(link, "pipe:", 5))
		return FILE_PIPE;
	if (!strncmp(link, "socket:", 7))
		return FILE_SOCKET;
	if (link[0] != '/')
		return FILE_ANON;
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st))
		return FILE_UNKNOWN;
	switch (st.stx_mode & S_IFMT) {
	case S_IFIFO:
		return FILE_PIPE;
	case S_IFSOCK:
		return FILE_SOCKET;
	case S_IFREG:
	case S_IFDIR:
		return FILE_REGULAR;
	case S_IFCHR:
		return FILE_CHAR;
	case S_IFBLK:
		return FILE_BLOCK;
	default:
		return FILE_ANON;
	}
}

/*
 * "202 0x55d2.. 0x189 ...": the call in which a thread sleeps, and its arguments; "running"; or -1
 * if it sleeps outside of a call. Needs the right to trace the process, as recording it does. Waits
 * while the process is in the middle of an exec().
 */
uint32_t scout_read_call(uint32_t pid, uint32_t tid)
{
	unsigned long long first = 0;
	char path[64];
	long nr = 0;
	int got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	got = fscanf(f, "%ld %llx", &nr, &first);
	fclose(f);
	if (got < 1 || nr >= (long)CALL_NR)
		return 0;
	if (nr < 0)
		return CALL_FAULT;
	/* If this is no descriptor, the file is unknown, or the call's rules ignore it. */
	return ((uint32_t)nr + 1) | (uint32_t)file_of(pid, first) << CALL_FILE_SHIFT;
}

/* ---- files ---- */

static struct opener_want want_of(const struct scout_mapped *m)
{
	return (struct opener_want){.pid = m->pid,
				    .path = m->path,
				    .start = m->start,
				    .end = m->end,
				    .dev = m->dev,
				    .inode = m->inode};
}

void scout_read_build_id(struct build_ids *ids, const struct scout_mapped *m,
			 struct scout_file *ret)
{
	struct opener_want w = want_of(m);
	struct build_id id = build_ids_ask(ids, &w);

	ret->build_id_len = id.len;
	memcpy(ret->build_id, id.id, id.len);
}

void scout_read_segments(const struct scout_mapped *m, struct scout_findings *ret)
{
	struct opener_want w = want_of(m);
	struct elf *e = NULL;
	int fd;

	if (opener_mapped(&w, &fd))
		return;
	if (!elf_open_fd(fd, &e)) {
		for (size_t i = 0; i < e->n_segments; i++) {
			const struct elf_segment *s = &e->segments[i];
			struct scout_area a = {.start = s->vaddr,
					       .end = s->vaddr + s->filesz,
					       .pgoff = s->offset,
					       .code = SCOUT_NONE,
					       .exec = true};

			if (s->type == PT_LOAD && (s->flags & PF_X))
				vec_push(&ret->areas, a);
		}
	}
	elf_free(e);
	close(fd);
}
