// SPDX-License-Identifier: MIT
#include "capture/outfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

int outfile_put_aside(const char *path, char *saved, size_t room)
{
	struct stat st;

	saved[0] = '\0';
	if (stat(path, &st))
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(-EINVAL, "'%s' is not a regular file; a capture needs one", path);
	if (!st.st_size)
		return 0;
	snprintf(saved, room, "%s.old", path);
	if (rename(path, saved)) {
		saved[0] = '\0';
		return err_set(-errno, "'%s' exists and could not be put aside: %s", path,
			       strerror(errno));
	}
	return 0;
}

void outfile_give(const char *path)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (geteuid() == 0 && uid && gid)
		(void)!lchown(path, (uid_t)atoi(uid), (gid_t)atoi(gid));
}
