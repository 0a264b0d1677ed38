// SPDX-License-Identifier: MIT
#include "scout/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOUNTS_MAX = 100000 };

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

/* A word up to the next space; "\040" and the like stand for white space and backslashes in it. */
static uint32_t put_word(struct mounts *m, const char **at)
{
	uint32_t where = (uint32_t)m->text.n;
	const char *s = *at;

	while (*s && *s != ' ' && *s != '\n') {
		char c = *s++;

		if (c == '\\' && is_octal(s)) {
			c = (char)((s[0] - '0') << 6 | (s[1] - '0') << 3 | (s[2] - '0'));
			s += 3;
		}
		vec_push(&m->text, c);
	}
	vec_push(&m->text, '\0');
	*at = s + (*s == ' ');
	return where;
}

/* "36 35 0:52 / /mnt rw,nosuid shared:1 - nfs4 server:/export rw,hard" */
bool mounts_add_line(struct mounts *m, const char *line)
{
	struct mounted new = {0};
	unsigned major, minor;
	const char *rest;
	int at = 0;

	if (sscanf(line, "%d %*d %u:%u %*s %n", &new.id, &major, &minor, &at) < 3 || !at)
		return false;
	rest = strstr(line + at, " - ");
	if (!rest || m->list.n >= MOUNTS_MAX)
		return false;
	line += at;
	rest += 3;
	new.device = major != 0;
	new.point = put_word(m, &line);
	new.point_len = (uint32_t)strlen(mounts_text(m, new.point));
	new.type = put_word(m, &rest);
	new.source = put_word(m, &rest);
	vec_push(&m->list, new);
	return true;
}

int mounts_read(struct mounts *m, uint32_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &room, f) > 0)
		(void)mounts_add_line(m, line);
	free(line);
	fclose(f);
	return 0;
}

void mounts_done(struct mounts *m)
{
	vec_done(&m->list);
	vec_done(&m->text);
}

const struct mounted *mounts_by_id(const struct mounts *m, int id)
{
	for (size_t i = 0; i < m->list.n; i++)
		if (m->list.v[i].id == id)
			return &m->list.v[i];
	return NULL;
}

const struct mounted *mounts_at(const struct mounts *m, const char *path)
{
	for (size_t i = m->list.n; i-- > 0;)
		if (!strcmp(mounts_text(m, m->list.v[i].point), path))
			return &m->list.v[i];
	return NULL;
}

static bool covers(const struct mounts *m, const struct mounted *at, const char *path)
{
	const char *point = mounts_text(m, at->point);
	size_t n = at->point_len;

	return n == 1 || (!strncmp(point, path, n) && (!path[n] || path[n] == '/'));
}

const struct mounted *mounts_over(const struct mounts *m, const char *path)
{
	const struct mounted *best = NULL;

	for (size_t i = 0; i < m->list.n; i++) {
		const struct mounted *at = &m->list.v[i];

		if (covers(m, at, path) && (!best || at->point_len >= best->point_len))
			best = at;
	}
	return best;
}

bool mounts_is_local(const struct mounts *m, const struct mounted *at)
{
	static const char *const local[] = {"tmpfs", "overlay",	 "btrfs", "zfs",
					    "proc",  "devtmpfs", "sysfs", "ramfs"};
	const char *type = mounts_text(m, at->type);

	if (at->device)
		return strncmp(type, "fuse", 4) != 0; /* fuseblk is a disk served by a process */
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (!strcmp(type, local[i]))
			return true;
	return false;
}
