// SPDX-License-Identifier: MIT
#include "record/place.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

enum { LINKS_MAX = 40 };

static bool parse_id(const char *name, unsigned long *ret)
{
	const char *text = getenv(name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	return !errno && !*end && *ret < UINT_MAX;
}

bool place_caller(uid_t *ret_uid, gid_t *ret_gid)
{
	unsigned long uid, gid;

	if (geteuid() || !parse_id("SUDO_UID", &uid) || !parse_id("SUDO_GID", &gid))
		return false;
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)gid;
	return true;
}

bool place_trusts(uid_t uid)
{
	uid_t caller;
	gid_t group;

	return !uid || uid == geteuid() || (place_caller(&caller, &group) && uid == caller);
}

/* The target of a link, seen from the link's folder. */
static char *joined(const char *path, const char *target)
{
	const char *slash = strrchr(path, '/');
	struct buf b = {0};
	char *s;

	if (*target != '/' && slash)
		buf_put(&b, path, (size_t)(slash + 1 - path));
	buf_put(&b, target, strlen(target));
	s = mem_strdup(buf_cstr(&b));
	buf_done(&b);
	return s;
}

/*
 * Follows one link: 1, or 0 at the end. Holds the link open, so that nobody can exchange it between
 * the check and the reading.
 */
static int place_follow(struct place *p, const char *named)
{
	int fd = open(p->path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	char target[PATH_MAX], *next;
	struct statfs fs;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISLNK(st.st_mode))
		goto out;
	p->descriptor = !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
	if (p->descriptor)
		goto out;
	if (!place_trusts(st.st_uid)) {
		rc = err_set(-ELOOP,
			     "'%s' is a link of another user's (%u), and is not followed; remove "
			     "it, or choose another name",
			     named, (unsigned)st.st_uid);
		goto out;
	}
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n <= 0)
		goto out;
	target[n] = '\0';
	next = joined(p->path, target);
	free(p->path);
	p->path = next;
	rc = 1;
out:
	close(fd);
	return rc;
}

int place_find(const char *path, struct place *ret)
{
	struct place p = {.path = mem_strdup(path)};
	int rc = 1;

	for (unsigned i = 0; rc > 0 && i < LINKS_MAX; i++)
		rc = place_follow(&p, path);
	if (rc > 0)
		rc = err_set(-ELOOP, "'%s': too many links", path);
	if (rc) {
		place_done(&p);
		return rc;
	}
	*ret = p;
	return 0;
}

void place_done(struct place *p)
{
	free(p->path);
	*p = (struct place){0};
}
