// SPDX-License-Identifier: MIT
/*
 * Which file a thread waits for in a system call, and on which file system that is. The scout asks
 * only the kernel, never the file system, which may be the one that does not answer: the kernel
 * itself writes the links of /proc, and looks up only names that it remembers (RESOLVE_CACHED). The
 * path of a call lies in the memory of its process: see scout_memory.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/host.h"
#include "scout/mounts.h"
#include "scout/scout_private.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

enum { LINKS_MAX = 40, PATHS_MAX = 2 * SCOUT_PATH_MAX };

/* ---- text ---- */

/* False: there is no such link, or it is no path ("socket:[12]", "anon_inode:[eventfd]"). */
static bool read_link(uint32_t pid, const char *what, char *out)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	n = readlink(path, out, SCOUT_PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
	return out[0] == '/';
}

static bool read_descriptor(uint32_t pid, int fd, char *out)
{
	char what[32];

	snprintf(what, sizeof(what), "fd/%d", fd);
	return read_link(pid, what, out);
}

/* Reads a string of another process page by page: the page after its end may be missing. */
static bool read_string(uint32_t pid, uint64_t at, char *out)
{
	size_t n = 0;

	while (n < SCOUT_PATH_MAX - 1) {
		size_t want = ARCH_PAGE - (at + n) % ARCH_PAGE;
		struct iovec here = {out + n, want}, there = {(void *)(uintptr_t)(at + n), want};

		if (want > SCOUT_PATH_MAX - 1 - n)
			here.iov_len = there.iov_len = want = SCOUT_PATH_MAX - 1 - n;
		if (process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)want)
			return false;
		if (memchr(out + n, '\0', want))
			return true;
		n += want;
	}
	out[n] = '\0';
	return true;
}

/* A path from a folder, as the process sees it: links of /proc are seen from our own root. */
static bool join_path(const struct scout_asked *q, const char *name, char *out)
{
	char folder[SCOUT_PATH_MAX], root[SCOUT_PATH_MAX];
	const char *from = folder;
	size_t n;

	if (name[0] == '/') {
		snprintf(out, PATHS_MAX, "%s", name);
		return true;
	}
	if (!(q->fd == AT_FDCWD ? read_link(q->pid, "cwd", folder)
				: read_descriptor(q->pid, q->fd, folder)))
		return false;
	n = read_link(q->pid, "root", root) ? strlen(root) : 0;
	if (n > 1 && !strncmp(folder, root, n) && (!folder[n] || folder[n] == '/'))
		from += n;
	snprintf(out, PATHS_MAX, "%s%s%s", from, from[0] && !from[1] ? "" : "/", name);
	return true;
}

/* ---- which file system ---- */

/* The kernel knows the mount of an open file. */
static const struct mounted *mount_of_descriptor(const struct mounts *m, uint32_t pid, int fd)
{
	const struct mounted *found = NULL;
	char path[64], line[256];
	int id;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %d", &id) == 1)
			found = mounts_by_id(m, id);
	fclose(f);
	return found;
}

struct path_walk {
	const struct mounts *mounts;
	int root;
	char done[PATHS_MAX]; /* without links and dots; "" is the root */
	char left[PATHS_MAX];
	unsigned links;
};

/* Puts a link's target in front of what is left. */
static bool put_link(struct path_walk *w, const char *link)
{
	char left[PATHS_MAX];

	if (++w->links > LINKS_MAX ||
	    snprintf(left, sizeof(left), "%s/%s", link, w->left) >= (int)sizeof(left))
		return false;
	memcpy(w->left, left, sizeof(left));
	if (link[0] == '/')
		w->done[0] = '\0';
	return true;
}

/* The next name of the path into `out`; false: there is none. */
static bool take_name(struct path_walk *w, char *out)
{
	size_t skip = strspn(w->left, "/"), n = strcspn(w->left + skip, "/");

	if (!n || n > NAME_MAX)
		return false;
	memcpy(out, w->left + skip, n);
	out[n] = '\0';
	memmove(w->left, w->left + skip + n, strlen(w->left + skip + n) + 1);
	return true;
}

enum looked { LOOKED_ON, LOOKED_LAST, LOOKED_FAIL };

/* Looks up a name on a local file system, in the kernel's cache only. */
static enum looked scout_look_at(struct path_walk *w, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_CACHED | RESOLVE_IN_ROOT};
	int fd = (int)syscall(SYS_openat2, w->root, path, &how, sizeof(how));
	char link[SCOUT_PATH_MAX];
	ssize_t n;

	/* The thread waits, or would have to, for a name that the kernel does not remember. */
	if (fd < 0)
		return errno == EAGAIN || errno == ENOENT || errno == ENOTDIR ? LOOKED_LAST
									      : LOOKED_FAIL;
	n = readlinkat(fd, "", link, sizeof(link) - 1);
	close(fd);
	if (n <= 0) {
		memcpy(w->done, path, strlen(path) + 1);
		return LOOKED_ON;
	}
	link[n] = '\0';
	return put_link(w, link) ? LOOKED_ON : LOOKED_FAIL;
}

/*
 * Ends at the first file system that is not local: the thread waits for it, or at least the scout
 * must not ask it for the rest of the path.
 */
static const struct mounted *walk_path(struct path_walk *w)
{
	char name[NAME_MAX + 1], next[PATHS_MAX];

	while (take_name(w, name)) {
		const struct mounted *at;
		enum looked looked;

		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			char *slash = strrchr(w->done, '/');

			if (slash)
				*slash = '\0';
			continue;
		}
		if (snprintf(next, sizeof(next), "%s/%s", w->done, name) >= (int)sizeof(next))
			return NULL;
		at = mounts_at(w->mounts, next);
		if (at && !mounts_is_local(w->mounts, at))
			return at;
		looked = scout_look_at(w, next);
		if (looked == LOOKED_FAIL)
			return NULL;
		if (looked == LOOKED_LAST)
			break;
	}
	return mounts_over(w->mounts, w->done);
}

static const struct mounted *mount_of_path(const struct mounts *m, uint32_t pid, const char *path)
{
	struct path_walk w = {.mounts = m};
	const struct mounted *found;
	char root[64];

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	snprintf(w.left, sizeof(w.left), "%s", path);
	w.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.root < 0)
		return NULL;
	found = walk_path(&w);
	close(w.root);
	return found;
}

/* ---- both ---- */

static void scout_put_text(struct scout_findings *f, const char *s)
{
	size_t n = strlen(s) + 1;

	vec_reserve(&f->text, f->text.n + n);
	memcpy(f->text.v + f->text.n, s, n);
	f->text.n += n;
}

int scout_read_file(const struct scout_asked *q, struct scout_findings *ret)
{
	char name[SCOUT_PATH_MAX] = "", path[PATHS_MAX];
	const struct mounted *at = NULL;
	struct mounts m = {0};
	bool named;

	if (q->start && !read_string(q->pid, q->start, name))
		return -EFAULT;
	named = name[0] != '\0'; /* AT_EMPTY_PATH: the descriptor itself */
	if (named ? !join_path(q, name, path) : !read_descriptor(q->pid, q->fd, path))
		return -ENOENT;
	if (!mounts_read(&m, q->pid))
		at = named ? mount_of_path(&m, q->pid, path)
			   : mount_of_descriptor(&m, q->pid, q->fd);
	scout_put_text(ret, path);
	scout_put_text(ret, at ? mounts_text(&m, at->type) : "");
	scout_put_text(ret, at ? mounts_text(&m, at->source) : "");
	mounts_done(&m);
	return 0;
}
