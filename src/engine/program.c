// SPDX-License-Identifier: MIT
#include "engine/program.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf/elf.h"
#include "symbol/opener.h"

#define SCRIPTS_MAX 5 /* as the kernel: a script whose interpreter is a script ... */

/* As execvp(): a name with a slash is a path, any other is searched for in PATH. */
static bool program_find(const char *name, char *path)
{
	const char *dirs = getenv("PATH");
	struct stat st;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && !access(path, X_OK);
	for (dirs = dirs ? dirs : "/bin:/usr/bin"; dirs; dirs = strchr(dirs, ':')) {
		int n;

		dirs += *dirs == ':';
		n = (int)strcspn(dirs, ":");
		if (snprintf(path, PATH_MAX, "%.*s%s%s", n, dirs, n ? "/" : "", name) < PATH_MAX &&
		    !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
			return true;
	}
	return false;
}

/* "#!/usr/bin/env python3" */
static bool script_of(const char *head, size_t len, char *ret)
{
	size_t n;

	if (len < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head += 2;
	head += strspn(head, " \t");
	n = strcspn(head, " \t\n");
	return n && snprintf(ret, PATH_MAX, "%.*s", (int)n, head) < PATH_MAX;
}

static enum program_kind elf_kind(int fd)
{
	enum program_kind kind = PROGRAM_STATIC;
	struct elf *e;

	if (elf_open_fd(fd, &e))
		return PROGRAM_FOREIGN;
	for (size_t i = 0; i < e->n_segments; i++)
		if (e->segments[i].type == PT_INTERP)
			kind = PROGRAM_DYNAMIC;
	elf_free(e);
	return kind;
}

/* Does the program gain rights by set-uid, set-gid or file capabilities? */
static bool secure(int fd, const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return true;
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getegid())
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

enum program_kind program_kind(const char *name, char *ret_path, unsigned room)
{
	char path[PATH_MAX], next[PATH_MAX], head[256];
	enum program_kind kind = PROGRAM_UNKNOWN;

	snprintf(ret_path, room, "%s", name);
	if (!program_find(name, path))
		return PROGRAM_UNKNOWN;
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		ssize_t len = -1;
		struct stat st;
		int fd;

		if (opener_open(0, path, &fd))
			fd = -1;
		else
			len = pread(fd, head, sizeof(head) - 1, 0);
		snprintf(ret_path, room, "%s", path);
		head[len < 0 ? 0 : len] = '\0';
		if (len >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG) && !fstat(fd, &st))
			kind = secure(fd, &st) ? PROGRAM_SECURE : elf_kind(fd);
		if (fd >= 0)
			close(fd);
		if (kind != PROGRAM_UNKNOWN || len < 0 || !script_of(head, (size_t)len, next))
			return kind;
		memcpy(path, next, sizeof(path));
	}
	return kind;
}
