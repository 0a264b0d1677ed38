// SPDX-License-Identifier: MIT
/* See opener.h for its promises. "Handles" are descriptors made with O_PATH. */
#include "symbol/opener.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "elf/elf.h"

#define FILE_SIZE_MAX (4ull << 30)
/* The kernel gives up (EAGAIN) while somebody renames below the root: try again. */
#define TRIES_MAX 16
#define ID_ROOM 64
/* Reading more mappings of one process would take too long. */
#define MAPS_LINES_MAX 1024

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#define BCACHEFS_MAGIC 0xca451a4e

/* ---- what a handle leads to ---- */

/*
 * Such a file system makes a regular file up when it is read, and reading may act: /proc/kmsg takes
 * lines away from others, a file of debugfs may talk to a device. These file systems keep no data,
 * so they have no blocks; some that keep data in memory report none either.
 */
static bool makes_up_files(const struct statfs *fs)
{
	switch ((uint32_t)fs->f_type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
		return false;
	case EFIVARFS_MAGIC: /* has blocks since 6.7, but asks the firmware */
		return true;
	default:
		return !fs->f_blocks;
	}
}

static int check_regular(int handle)
{
	struct statfs fs;
	struct stat st;

	if (fstat(handle, &st))
		return err_set(-errno, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-ENOEXEC, "not a regular file");
	/* A file system with a block device keeps its files there. */
	if (major(st.st_dev))
		return 0;
	if (fstatfs(handle, &fs))
		return err_set(-errno, "cannot look at its file system: %s", strerror(errno));
	if (makes_up_files(&fs))
		return err_set(-ENOEXEC, "not a regular file: the kernel makes it up");
	return 0;
}

/*
 * /proc/PID/maps has the numbers of the file system itself. Where these are not what stat() says,
 * the inode alone is compared: btrfs has a device for each subvolume, and overlayfs, up to 6.7,
 * shows the file below it (from there on the upper bits of an inode may be a layer's number).
 */
static bool same_numbers(int handle, const struct opener_want *w)
{
	struct statfs fs;
	struct stat st;

	if (fstat(handle, &st))
		return false;
	if (st.st_dev == w->dev)
		return st.st_ino == w->inode;
	if (fstatfs(handle, &fs))
		return false;
	switch ((uint32_t)fs.f_type) {
	case BTRFS_SUPER_MAGIC:
	case BCACHEFS_MAGIC:
		return st.st_ino == w->inode;
	case OVERLAYFS_SUPER_MAGIC:
		return !((st.st_ino ^ w->inode) << 8);
	default:
		return false;
	}
}

static int check_numbers(int handle, const struct opener_want *w)
{
	if (!w->inode || same_numbers(handle, w))
		return 0;
	return err_set(-ESTALE, "it was replaced since: it is another file");
}

static int check_build_id(int handle, const struct opener_want *w)
{
	uint8_t have[ID_ROOM];
	struct elf *e = NULL;
	int fd, n, rc;

	if (!w->build_id_len)
		return 0;
	rc = opener_read(handle, &fd);
	if (rc)
		return rc;
	rc = elf_open_fd(fd, &e);
	if (!rc) {
		n = elf_build_id(e, have, sizeof(have));
		if (n != (int)w->build_id_len || memcmp(have, w->build_id, w->build_id_len))
			rc = err_set(-ESTALE, "it was replaced since: it has another build id");
	}
	elf_free(e);
	close(fd);
	return rc;
}

/* ---- from paths to handles ---- */

/* Walks part by part, without links: for kernels that cannot be told to stay below the root. */
static int opener_walk(int dir, const char *path)
{
	int at = openat(dir, dir == AT_FDCWD && *path == '/' ? "/" : ".", O_PATH | O_CLOEXEC);

	while (at >= 0 && *(path += strspn(path, "/"))) {
		size_t n = strcspn(path, "/");
		char name[256];
		struct stat st;
		int next;

		if (n >= sizeof(name) || (n == 2 && !memcmp(path, "..", 2))) {
			close(at);
			return n == 2 ? -EXDEV : -ENAMETOOLONG;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			int rc = -errno;

			close(at);
			return rc;
		}
		close(at);
		at = next;
		if (fstat(at, &st) || S_ISLNK(st.st_mode)) {
			close(at);
			return -ELOOP;
		}
	}
	return at < 0 ? -errno : at;
}

static int handle_at(int dir, const char *path, uint64_t resolve, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1, rc;

	for (int i = 0; i < TRIES_MAX && fd < 0; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN)
			break;
	}
	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return err_set(-errno, "%s", strerror(errno));
	rc = opener_walk(dir, path);
	if (rc == -ELOOP || rc == -EXDEV)
		return err_set(rc,
			       "a link or \"..\" is in its path, and without openat2() (Linux 5.6) "
			       "that is not followed");
	return rc < 0 ? err_set(rc, "%s", strerror(-rc)) : rc;
}

static int handle_of_path(uint32_t pid, const char *path, int flags)
{
	char root[64];
	int dir, rc;

	if (!pid)
		return handle_at(AT_FDCWD, path, 0, flags);
	if (*path != '/')
		return err_set(-ENOENT, "not a path");
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(-ESRCH, "the process is gone");
	rc = handle_at(dir, path, RESOLVE_IN_ROOT, flags);
	close(dir);
	return rc;
}

bool opener_has_root(uint32_t pid)
{
	char root[64], where[2];

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	return pid && readlink(root, where, sizeof(where)) > 0;
}

/* Follows a link of /proc that we have composed: it leads to the file itself, not by a path. */
static int handle_of_link(const char *link)
{
	int fd = open(link, O_PATH | O_CLOEXEC);

	return fd < 0 ? err_set(-errno, "%s", strerror(errno)) : fd;
}

/* Takes the handle over. */
static int read_and_close(int handle, int *ret_fd)
{
	int rc = opener_read(handle, ret_fd);

	close(handle);
	return rc;
}

int opener_read(int handle, int *ret_fd)
{
	struct stat st;
	char self[64];
	int fd, rc = check_regular(handle);

	if (rc)
		return rc;
	if (!fstat(handle, &st) && (uint64_t)st.st_size > FILE_SIZE_MAX)
		return err_set(-EFBIG, "a file of %llu bytes is too large to be a program",
			       (unsigned long long)st.st_size);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(-errno, "cannot open: %s", strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int open_path(uint32_t pid, const char *path, int flags, int *ret_fd)
{
	int handle = handle_of_path(pid, path, flags), rc;

	rc = handle < 0 ? handle : read_and_close(handle, ret_fd);
	return rc ? err_add(rc, "%s", path) : 0;
}

int opener_open(uint32_t pid, const char *path, int *ret_fd)
{
	return open_path(pid, path, 0, ret_fd);
}

int opener_open_nofollow(uint32_t pid, const char *path, int *ret_fd)
{
	return open_path(pid, path, O_NOFOLLOW, ret_fd);
}

static uint64_t ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

int opener_look(int fd, struct opener_facts *ret)
{
	struct timespec now;
	struct statfs fs;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return err_set(-errno, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-ENOEXEC, "not a regular file");
	*ret = (struct opener_facts){.dev = st.st_dev,
				     .inode = st.st_ino,
				     .size = (uint64_t)st.st_size,
				     .changed_ns = ns_of(st.st_ctim),
				     .seen_ns = ns_of(now),
				     .served = (uint32_t)fs.f_type == FUSE_SUPER_MAGIC};
	return 0;
}

/* ---- what is mapped ---- */

static int handle_of_mapping(uint32_t pid, uint64_t start, uint64_t end)
{
	char link[96];

	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return handle_of_link(link);
}

/* The bounds of the mapping around `at`, if it is among the first MAPS_LINES_MAX. */
static bool bounds_at(uint32_t pid, uint64_t at, uint64_t *ret_start, uint64_t *ret_end)
{
	char path[64], line[4608];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	for (int i = 0; f && !found && i < MAPS_LINES_MAX && fgets(line, sizeof(line), f); i++)
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, ret_start, ret_end) == 2 &&
			*ret_start <= at && at < *ret_end;
	if (f)
		fclose(f);
	return found;
}

/* The file that is mapped there. The mapping may have been split since it was recorded. */
static int handle_of_place(uint32_t pid, uint64_t start, uint64_t end)
{
	int handle = handle_of_mapping(pid, start, end);

	if (handle == -ENOENT && bounds_at(pid, start, &start, &end))
		handle = handle_of_mapping(pid, start, end);
	return handle;
}

int opener_mapping(uint32_t pid, uint64_t start, uint64_t end, int *ret_fd)
{
	int handle = handle_of_mapping(pid, start, end);

	return handle < 0 ? handle : read_and_close(handle, ret_fd);
}

int opener_program(uint32_t pid, int *ret_fd)
{
	char link[64];
	int handle;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	handle = handle_of_link(link);
	return handle < 0 ? handle : read_and_close(handle, ret_fd);
}

/* Keeps the handle if it is a regular file with the wanted numbers. */
static int opener_checked(int handle, const struct opener_want *w, bool numbers)
{
	int rc;

	if (handle < 0)
		return handle;
	rc = check_regular(handle);
	if (!rc && numbers)
		rc = check_numbers(handle, w);
	if (!rc)
		return handle;
	close(handle);
	return rc;
}

static int find_here(const struct opener_want *w)
{
	int handle, rc;

	if (!w->inode && !w->build_id_len)
		return err_set(-ESRCH, "the process is gone, and nothing shows that our file is "
				       "the one it had mapped");
	handle = opener_checked(handle_of_path(0, w->path, 0), w, true);
	if (handle < 0)
		return handle;
	rc = check_build_id(handle, w);
	if (!rc)
		return handle;
	close(handle);
	return rc;
}

int opener_find(const struct opener_want *w, int *ret_handle)
{
	/* Containers have copies of one file, with one build id and many inodes. */
	bool numbers = !w->build_id_len;
	int handle = -ENOENT;

	if (*w->path != '/')
		return err_set(-ENOENT, "%s: not a path", w->path);
	if (w->end)
		handle = opener_checked(handle_of_place(w->pid, w->start, w->end), w, numbers);
	/* The mapping may be gone, or we lack the right to ask. */
	if (handle < 0)
		handle = opener_checked(handle_of_path(w->pid, w->path, 0), w, numbers);
	if (handle == -ESRCH)
		handle = find_here(w);
	if (handle < 0)
		return err_add(handle, "%s", w->path);
	*ret_handle = handle;
	return 0;
}

int opener_mapped(const struct opener_want *w, int *ret_fd)
{
	int handle, rc = opener_find(w, &handle);

	if (rc)
		return rc;
	rc = read_and_close(handle, ret_fd);
	return rc ? err_add(rc, "%s", w->path) : 0;
}
