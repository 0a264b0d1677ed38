// SPDX-License-Identifier: MIT
/*
 * Opens the file that a process has mapped, when the process may be hostile and we are root.
 *
 * The path is what the process says, seen from inside its own mount namespace. It may lead to a
 * FIFO that blocks, a device that acts when it is opened, or a symbolic link that is absolute and
 * means the container's root, not ours. So: the path is resolved below the process's root
 * directory, the result is taken as a handle that does nothing (O_PATH), and only if that is a
 * regular file is it opened for reading, through the handle.
 */
#include "symbol/table.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define FILE_SIZE_MAX (4ull << 30)

static int handle_in_root(const char *path, uint32_t pid)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[64];
	int dir, fd, rc;

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -ESRCH;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	/* Before 5.6, or a filter that does not know the call: only links can be led astray then.
	 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, path + strspn(path, "/"), O_PATH | O_CLOEXEC);
	rc = fd < 0 ? -errno : fd;
	close(dir);
	return rc;
}

static int reopen(int handle)
{
	struct stat st;
	char self[64];
	int fd;

	if (fstat(handle, &st))
		return err_set(-errno, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-ENOEXEC, "not a regular file");
	if ((uint64_t)st.st_size > FILE_SIZE_MAX)
		return err_set(-EFBIG, "a file of %llu bytes is too large to be a program",
			       (unsigned long long)st.st_size);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(-errno, "cannot open: %s", strerror(errno));
	return fd;
}

int file_open(const char *path, uint32_t pid, int *ret_fd)
{
	int handle, fd;

	if (path[0] != '/' && pid)
		return err_set(-ENOENT, "%s: not a path", path);
	handle = pid ? handle_in_root(path, pid) : open(path, O_PATH | O_CLOEXEC);
	if (handle < 0) {
		int rc = pid ? handle : -errno;

		return err_set(rc, "%s: %s", path, strerror(-rc));
	}
	fd = reopen(handle);
	close(handle);
	if (fd < 0)
		return err_add(fd, "%s", path);
	*ret_fd = fd;
	return 0;
}
