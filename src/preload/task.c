// SPDX-License-Identifier: MIT
/* Reports threads, programs, and the code that is mapped. Nothing here allocates. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/host.h"
#include "preload/preload.h"
#include "wire/probe.h"

void tell_task(uint32_t kind, uint32_t tid, uint32_t other, uint32_t code)
{
	char comm[PR_COMM] = "";
	struct pr_task *rec;
	struct tick_emit e;

	/* Not while a record is open: others would wait behind it. */
	syscall(SYS_prctl, PR_GET_NAME, comm, 0, 0, 0);
	rec = emit_reserve(&e, emit_ring(), kind, sizeof(*rec));
	if (!rec)
		return;
	rec->h.ts = now_ns();
	rec->tid = tid;
	rec->pid = preload.pid;
	rec->other = other;
	rec->code = code;
	arch_copy_words(rec->comm, comm, PR_COMM / 8);
	rec->vtid = 0;
	rec->pad = 0;
	emit_commit(&e, kind, sizeof(*rec));
}

void tell_run(uint32_t pid, uint64_t ts, const char *path)
{
	struct pr_run *rec;
	struct tick_emit e;
	size_t n = 0;

	rec = emit_reserve(&e, emit_ring(), PR_RUN, sizeof(*rec));
	if (!rec)
		return;
	rec->h.ts = ts;
	rec->pid = pid;
	rec->pad = 0;
	for (; path && path[n] && n < PR_RUN_PATH - 1; n++)
		rec->path[n] = path[n];
	for (; n < PR_RUN_PATH; n++)
		rec->path[n] = '\0';
	emit_commit(&e, PR_RUN, sizeof(*rec));
}

/* ---- /proc/self/maps ---- */

static const char *task_number(const char *s, unsigned base, uint64_t *ret)
{
	*ret = 0;
	for (;; s++) {
		unsigned digit = *s >= '0' && *s <= '9'	  ? (unsigned)(*s - '0')
				 : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a' + 10)
							  : 99;

		if (digit >= base)
			return *s ? s + 1 : s;
		*ret = *ret * base + digit;
	}
}

/* "7f1c-7f2d r-xp 00026000 fe:00 1234    /usr/lib/libc.so.6" */
static void tell_line(const char *line, bool *first)
{
	uint64_t start, end, pgoff, major, minor, inode;
	const char *perms = task_number(task_number(line, 16, &start), 16, &end), *path = perms;
	struct pr_map *rec;
	struct tick_emit e;
	uint32_t len;
	size_t n;

	if (strlen(perms) < 5 || perms[2] != 'x')
		return;
	path = task_number(perms + 5, 16, &pgoff);
	path = task_number(task_number(path, 16, &major), 16, &minor);
	path = task_number(path, 10, &inode);
	while (*path == ' ')
		path++;
	n = strlen(path);
	if (n >= PR_PATH_MAX)
		return;
	len = (uint32_t)(PR_MAP_HEAD + n + 8) & ~7u;
	rec = emit_reserve(&e, emit_ring(), PR_MAP, len);
	if (!rec)
		return;
	rec->h.ts = now_ns();
	rec->pid = preload.pid;
	rec->first = *first;
	*first = false;
	rec->start = start;
	rec->end = end;
	rec->pgoff = pgoff;
	rec->dev = major << 32 | minor;
	rec->inode = inode;
	memset(rec->path, 0, len - PR_MAP_HEAD);
	memcpy(rec->path, path, n);
	emit_commit(&e, PR_MAP, len);
}

void tell_maps(void)
{
	char text[2 * PR_PATH_MAX];
	size_t have = 0;
	bool first = true;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text, *end;

		have += (size_t)n;
		text[have] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			tell_line(line, &first);
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == sizeof(text) - 1)
			break;
	}
	close(fd);
}
