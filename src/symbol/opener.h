/* SPDX-License-Identifier: MIT */
/*
 * Opens files that somebody else names: a process that is recorded, one of its files, a capture.
 * Thaw often runs as root, and an enemy may have chosen the path; so nothing else in thaw opens
 * one.
 *
 * It promises, whatever a path leads to:
 *
 *   - Only regular files are opened. A path is first taken as a handle (O_PATH), which does nothing
 *     to what it names; the handle is looked at, and only then opened for reading, through
 *     /proc/self/fd: nobody can put another thing in between. FIFOs and devices are not touched,
 *     nor the "files" of /proc, /sys and their like, some of which act when opened or read.
 *   - Opening does not wait for a lease (O_NONBLOCK), and does not take a terminal (O_NOCTTY). It
 *     may wait for a file system that does not answer: call it where that does no harm.
 *   - A path of a process is looked up below the root of that process, and links in it lead nowhere
 *     else (RESOLVE_IN_ROOT). Links of /proc (/proc/self/fd/3) are never followed from a path.
 *   - Our own file of the same path stands in only for a process whose root cannot be reached (it
 *     has ended), and only if it is the file that was mapped: see struct opener_want.
 *
 * Without openat2() (before 5.6, or where a filter forbids it) a path with a link in it is not
 * followed at all, and the error says so.
 *
 * The files stay somebody else's: they may change or shrink while they are read. Read them by
 * pread(), as elf/ does: a mapping would raise SIGBUS. (Reading DWARF needs a mapping; a child
 * makes it, and may die of it.)
 *
 * Functions have no state, print nothing and can be called from any thread.
 */
#ifndef THAW_SYMBOL_OPENER_H
#define THAW_SYMBOL_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file at a path below the root of process `pid` (0: below ours). -ESRCH: no such root. */
int opener_open(uint32_t pid, const char *path, int *ret_fd);
/* The same; but if the path's last part is a link, it is not followed (-ENOEXEC). */
int opener_open_nofollow(uint32_t pid, const char *path, int *ret_fd);

/* Can paths of the process be looked up: does it live, and may we? */
bool opener_has_root(uint32_t pid);

/* A file that a process has mapped, and what is known of it. */
struct opener_want {
	uint32_t pid;	     /* not 0 */
	const char *path;    /* as the process sees it */
	uint64_t start, end; /* the mapping; 0, 0: not known */
	uint64_t dev,
		inode; /* as /proc/PID/maps or a record of perf has them; inode 0: not known */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: not known, or none */
};

/*
 * Opens that very file: the one that the kernel has mapped there (/proc/PID/map_files), if we may
 * ask. Else the one at the path, as the process sees it, if device and inode match; where a build
 * id is known, the caller compares that instead. If the process is gone, the one at our own path,
 * if device, inode and build id match, as far as they are known; if none is known, nothing says
 * that it is the same file (-ESRCH). -ESTALE: another file has the path now.
 */
int opener_mapped(const struct opener_want *w, int *ret_fd);

/* In two steps, for callers that may not need to read it: a handle to be closed, ... */
int opener_find(const struct opener_want *w, int *ret_handle);
/* ... and the file for reading. The handle stays the caller's. */
int opener_read(int handle, int *ret_fd);

/* Which file it is, and in which state. */
struct opener_facts {
	uint64_t dev, inode, size;
	uint64_t changed_ns; /* last change of its inode, a time that nobody can set */
	uint64_t seen_ns;    /* when this was so, by the same clock */
	bool served;	     /* by a process (FUSE), which may lie */
};
/* -ENOEXEC: not a regular file. */
int opener_look(int fd, struct opener_facts *ret);

/* By the kernel's own links: a process's mapping, and its program. */
int opener_mapping(uint32_t pid, uint64_t start, uint64_t end, int *ret_fd);
int opener_program(uint32_t pid, int *ret_fd);

#endif
