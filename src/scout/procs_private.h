/* SPDX-License-Identifier: MIT */
/*
 * The inside of the table of processes: procs.c keeps it, procs_read.c fills it with what is read.
 */
#ifndef THAW_SCOUT_PROCS_PRIVATE_H
#define THAW_SCOUT_PROCS_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "scout/procs.h"
#include "scout/space.h"

struct proc {
	struct space *space; /* NULL: no record, and nothing read */
	unsigned threads;
	bool unread;	       /* the space may lack mappings */
	bool refreshing;       /* the next answer is compared with the space */
	bool fresh;	       /* refreshing has found something new */
	bool was_silent;       /* its silence is noted */
	uint64_t not_before;   /* not read again before */
	uint64_t mapped, exec; /* when the last record reported one */
};

struct known_module {
	char *path;
	struct module m; /* without its path */
	bool silent, noted;
};

/* The build id that was asked for last. */
struct asked_id {
	uint64_t start;
	uint32_t pid;
	struct scout_file file;
};

/* A file of a recorded mapping. */
struct known_file {
	uint64_t asked_ns;
	struct scout_file facts;
};

struct procs {
	struct writer *w;
	struct scout *scout;
	struct map by_pid;   /* -> struct proc * */
	struct proc *lately; /* asked for last: one event asks several times. Or NULL */
	uint32_t lately_pid;
	struct map modules;		/* hash of kind, path, build id, pid -> index */
	VEC(struct known_module) known; /* by index */
	struct map by_file; /* hash of path, device, inode, generation -> in files, + 1 */
	VEC(struct known_file) files;
	uint64_t next_version;
	uint64_t now; /* of the stream */
	uint32_t kernel, unknown;
	unsigned strangers; /* without a thread of ours */
	procs_map_fn *tell;
	void *tell_ctx;
	struct asked_id asked;
	VEC(const char *) silent; /* the first few */
	size_t n_silent;
};

struct proc *procs_find(const struct procs *p, uint32_t pid);
struct proc *procs_get(struct procs *p, uint32_t pid);
enum module_kind procs_kind_of(const char *path);
/* The facts about a recorded mapping's file. Waits a little. */
struct scout_file procs_ask_file(struct procs *p, uint32_t pid, const struct mapping *m);
/* The process's own copy of its space, to be changed. */
struct space *procs_own_space(struct procs *p, struct proc *pr);

#endif
