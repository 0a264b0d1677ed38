// SPDX-License-Identifier: MIT
#include "record/outfile.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/place.h"

/* Somebody may make a file under our name again and again: give up after that many tries. */
enum { TRIES = 8 };

static int not_a_file(const char *path, const struct stat *st)
{
	const char *what = S_ISDIR(st->st_mode)	   ? "a folder"
			   : S_ISFIFO(st->st_mode) ? "a pipe"
			   : S_ISCHR(st->st_mode)  ? "a device"
						   : "not a regular file";

	return err_set(-EINVAL,
		       "'%s' is %s; a capture is read while it is written, and needs a file with a "
		       "name (thaw export writes to pipes)",
		       path, what);
}

/* `path` names a descriptor, whose file the user who started us has opened. */
static int open_descriptor(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && !stat(path, &st) && !S_ISREG(st.st_mode))
		return not_a_file(path, &st);
	if (fd < 0 || fstat(fd, &st)) {
		int rc = err_set(-errno, "%s: %s", path, strerror(errno));

		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (S_ISREG(st.st_mode) && !st.st_size) {
		*ret_fd = fd;
		return 0;
	}
	close(fd);
	if (!S_ISREG(st.st_mode))
		return not_a_file(path, &st);
	return err_set(-EEXIST, "'%s' is not empty; a capture cannot be appended to it", path);
}

/* Uses an empty file of ours as it is: its folder may not let us create or rename files. */
static bool take_empty(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_size && st.st_nlink == 1 &&
	    place_trusts(st.st_uid)) {
		*ret_fd = fd;
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

#define BESIDE ".new" /* followed by the pid of the writer */

/* What is at `path`? 0: nothing; 1: an empty file, now open; 2: a file that stays for now. */
static int outfile_look_at(const char *path, int *ret_fd)
{
	struct stat st;

	if (lstat(path, &st))
		return 0;
	if (!S_ISREG(st.st_mode))
		return not_a_file(path, &st);
	if (st.st_size)
		return 2;
	if (take_empty(path, ret_fd))
		return 1;
	if (!unlink(path))
		return 0;
	return err_set(-errno, "'%s' exists and cannot be replaced: %s", path, strerror(errno));
}

static int open_new(const char *path, int *ret_fd)
{
	*ret_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? -errno : 0;
}

static int open_beside(const char *path, char **ret_path, int *ret_fd)
{
	for (unsigned i = 0; i < TRIES; i++) {
		size_t room = strlen(path) + 64;
		char *beside = mem_alloc(room);
		int rc;

		snprintf(beside, room, "%s" BESIDE "%d-%u", path, (int)getpid(), i);
		rc = open_new(beside, ret_fd);

		if (!rc) {
			*ret_path = beside;
			return 0;
		}
		free(beside);
		if (rc != -EEXIST)
			return err_set(rc, "'%s' exists, and nothing can be made beside it: %s",
				       path, strerror(-rc));
	}
	return err_set(-EEXIST,
		       "'%s" BESIDE "...': somebody makes it again and again; choose "
		       "another folder",
		       path);
}

static int open_file(const char *path, char **ret_path, int *ret_fd)
{
	for (unsigned i = 0; i < TRIES; i++) {
		int rc = open_new(path, ret_fd);

		if (rc && rc != -EEXIST)
			return err_set(rc, "%s: %s", path, strerror(-rc));
		if (rc)
			rc = outfile_look_at(path, ret_fd);
		else
			rc = 1;
		if (rc == 2)
			return open_beside(path, ret_path, ret_fd);
		if (rc == 1)
			*ret_path = mem_strdup(path);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return err_set(-EEXIST, "'%s': somebody makes it again and again; choose another folder",
		       path);
}

int outfile_open(const char *path, char **ret_path, int *ret_fd)
{
	struct place place;
	uid_t uid;
	gid_t gid;
	int rc;

	if (!strcmp(path, "-"))
		return err_set(-EINVAL, "a capture cannot go to standard output: it is read while "
					"it is written; say -o FILE");
	rc = place_find(path, &place);
	if (rc)
		return rc;
	if (place.descriptor) {
		rc = open_descriptor(place.path, ret_fd);
		if (!rc)
			*ret_path = mem_strdup(place.path);
	} else {
		rc = open_file(place.path, ret_path, ret_fd);
		if (!rc && place_caller(&uid, &gid))
			(void)!fchown(*ret_fd, uid, gid);
	}
	place_done(&place);
	return rc;
}

/* The final name of a file made by open_beside(), to be freed; NULL: `path` is final. */
static char *waits_for(const char *path)
{
	char own[32];
	const char *at = NULL;

	snprintf(own, sizeof(own), BESIDE "%d-", (int)getpid());
	for (const char *p = strstr(path, own); p; p = strstr(p + 1, own))
		at = p;
	return at && !strchr(at, '/') ? mem_strndup(path, (size_t)(at - path)) : NULL;
}

int outfile_settle(char **path, char *saved, size_t room)
{
	char *name = waits_for(*path);
	int rc = -1;

	saved[0] = '\0';
	if (!name)
		return 0;
	for (unsigned i = 0; rc && i < TRIES; i++) {
		bool fits = (size_t)snprintf(saved, room, "%s.old", name) < room;

		if (!fits || rename(name, saved)) {
			saved[0] = '\0';
			if (fits && errno != ENOENT)
				break;
		}
		/* Do not replace a file that somebody else has made there meanwhile. */
		rc = renameat2(AT_FDCWD, *path, AT_FDCWD, name, RENAME_NOREPLACE);
		if (rc && errno == EINVAL) /* some file systems cannot */
			rc = link(*path, name) ? -1 : unlink(*path);
		if (rc && errno != EEXIST)
			break;
	}
	if (rc) {
		rc = err_set(-errno, "'%s' could not be put aside: %s", name, strerror(errno));
		free(name);
		return rc;
	}
	free(*path);
	*path = name;
	return 0;
}
