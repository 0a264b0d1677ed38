// SPDX-License-Identifier: MIT
#include "engine/cgroup.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/err.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb

static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL};

static bool cgroup_resolve(const char *path, char *out)
{
	if (path[0] == '/' && realpath(path, out))
		return true;
	for (int i = 0; mounts[i]; i++) {
		char full[PATH_MAX];

		snprintf(full, sizeof(full), "%s/%s", mounts[i], path);
		if (realpath(full, out))
			return true;
	}
	return false;
}

/* How many folders above are in the same file system. */
static uint32_t depth_of(const char *path, dev_t dev)
{
	char up[PATH_MAX];
	uint32_t depth = 0;

	snprintf(up, sizeof(up), "%s", path);
	for (;;) {
		char *slash = strrchr(up, '/');
		struct stat st;

		if (!slash || slash == up)
			return depth;
		*slash = '\0';
		if (stat(up, &st) || st.st_dev != dev)
			return depth;
		depth++;
	}
}

int cgroup_find(const char *path, struct cgroup_ref *ret)
{
	struct statfs fs;
	struct stat st;

	if (!cgroup_resolve(path, ret->path))
		return err_set(-ENOENT, "there is no cgroup '%s' (looked below %s and %s)", path,
			       mounts[0], mounts[1]);
	if (statfs(ret->path, &fs) || stat(ret->path, &st) || !S_ISDIR(st.st_mode) ||
	    (fs.f_type != CGROUP2_MAGIC && fs.f_type != CGROUP1_MAGIC))
		return err_set(-EINVAL, "'%s' is not a folder of a cgroup file system", ret->path);
	ret->v2 = fs.f_type == CGROUP2_MAGIC;
	ret->id = st.st_ino;
	ret->level = depth_of(ret->path, st.st_dev);
	return 0;
}

static int read_ids(const char *dir, const char *file, cgroup_fn *fn, void *ctx)
{
	char path[PATH_MAX + 32];
	unsigned tid;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fscanf(f, "%u", &tid) == 1)
		fn(ctx, tid);
	fclose(f);
	return 0;
}

static int cgroup_walk(const char *dir, bool v2, cgroup_fn *fn, void *ctx, int depth)
{
	int rc = read_ids(dir, v2 ? "cgroup.threads" : "tasks", fn, ctx);
	struct dirent *ent;
	DIR *d;

	if (rc && depth == 0 && rc != -EOPNOTSUPP)
		return err_set(rc, "reading the threads of '%s': %s", dir, strerror(-rc));
	d = opendir(dir);
	if (!d)
		return 0; /* it was removed meanwhile */
	while ((ent = readdir(d)) && depth < 64) {
		char sub[PATH_MAX];

		if (ent->d_type != DT_DIR || ent->d_name[0] == '.')
			continue;
		if (snprintf(sub, sizeof(sub), "%s/%s", dir, ent->d_name) < (int)sizeof(sub))
			(void)cgroup_walk(sub, v2, fn, ctx, depth + 1);
	}
	closedir(d);
	return 0;
}

int cgroup_each_thread(const struct cgroup_ref *ref, cgroup_fn *fn, void *ctx)
{
	return cgroup_walk(ref->path, ref->v2, fn, ctx, 0);
}
