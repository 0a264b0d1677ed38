// SPDX-License-Identifier: MIT
#include "scout/procfs.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "wire/state.h"

static uint32_t state_of(char letter)
{
	switch (letter) {
	case 'S':
		return STATE_INTERRUPTIBLE;
	case 'D':
		return STATE_UNINTERRUPTIBLE;
	case 'T':
		return STATE_STOPPED;
	case 't':
		return STATE_TRACED;
	case 'I':
		return STATE_UNINTERRUPTIBLE | STATE_NOLOAD;
	case 'P':
		return STATE_PARKED;
	case 'Z':
		return STATE_ZOMBIE;
	case 'X':
		return STATE_DEAD;
	default:
		return 0;
	}
}

bool procfs_name(uint32_t pid, uint32_t tid, char *out, size_t room)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f) {
		n = fread(out, 1, room - 1, f);
		fclose(f);
	}
	/* A name may hold newlines of its own; only the last one is /proc's. */
	if (n && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	return f;
}

/* "NSpid: 4711 12": the tid in our namespace first, and in its own last. */
static uint32_t last_number(const char *line)
{
	const char *last = strrchr(line, '\t');
	const char *first = strchr(line, '\t');

	return last && last != first ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

int procfs_thread(uint32_t pid, uint32_t tid, struct thread_facts *ret)
{
	char path[64], line[256];
	uint32_t ppid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return err_set(-ESRCH, "there is no thread %u (%s: %s)", tid, path,
			       strerror(errno));
	*ret = (struct thread_facts){.tid = tid, .pid = pid};
	while (fgets(line, sizeof(line), f)) {
		char letter;

		if (sscanf(line, "State: %c", &letter) == 1)
			ret->state = state_of(letter);
		else if (sscanf(line, "PPid: %u", &ppid) == 1)
			continue;
		else if (!strncmp(line, "NSpid:", 6)) {
			ret->vtid = last_number(line);
			break;
		}
	}
	fclose(f);
	/* kthreadd is 2, and the parent of every other kernel thread. */
	ret->kernel = pid == 2 || ppid == 2;
	(void)procfs_name(pid, tid, ret->name, sizeof(ret->name));
	return 0;
}

enum thread_life procfs_life(uint32_t pid, uint32_t tid)
{
	enum thread_life life = LIFE_ENDED;
	char path[64], line[256], letter;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return LIFE_ENDED;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "State: %c", &letter) == 1)
			life = state_of(letter) & (STATE_ZOMBIE | STATE_DEAD) ? LIFE_ENDED
									      : LIFE_EXITING;
		else if (!strncmp(line, "VmSize:", 7) && life == LIFE_EXITING)
			life = LIFE_LIVES;
	}
	fclose(f);
	return life;
}

int procfs_pid_of(uint32_t tid, uint32_t *ret_pid)
{
	char path[64], line[256];
	FILE *f;
	int rc = -ESRCH;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return err_set(-ESRCH, "there is no thread %u", tid);
	while (rc && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", ret_pid) == 1)
			rc = 0;
	fclose(f);
	return rc;
}

static uint32_t numeric(const char *name)
{
	char *end;
	unsigned long v = strtoul(name, &end, 10);

	return *end || v > UINT32_MAX ? 0 : (uint32_t)v;
}

int procfs_each_thread(uint32_t pid, procfs_fn *fn, void *ctx)
{
	struct dirent *ent;
	char path[64];
	DIR *d;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/task", pid);
	else
		snprintf(path, sizeof(path), "/proc");
	d = opendir(path);
	if (!d)
		return err_set(-ESRCH, "there is no process %u", pid);
	while ((ent = readdir(d))) {
		uint32_t id = numeric(ent->d_name);

		if (!id)
			continue;
		if (pid)
			fn(ctx, pid, id);
		else
			(void)procfs_each_thread(id, fn, ctx); /* gone meanwhile: no error */
	}
	closedir(d);
	return 0;
}

uint32_t procfs_parent(uint32_t pid)
{
	char path[64], line[256];
	unsigned parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PPid: %u", &parent) == 1)
			break;
	if (f)
		fclose(f);
	return parent;
}

static bool descends(const struct map *parents, uint32_t pid, const uint32_t *pids, size_t n)
{
	uint64_t *parent;

	/* A pid that was used again while we read could make a circle. */
	for (size_t steps = 0; steps < parents->n; steps++) {
		parent = map_get(parents, pid);
		pid = parent ? (uint32_t)*parent : 0;
		if (!pid)
			return false;
		for (size_t i = 0; i < n; i++)
			if (pids[i] == pid)
				return true;
	}
	return false;
}

void procfs_each_descendant(const uint32_t *pids, size_t n, procfs_fn *fn, void *ctx)
{
	struct map parents = {0};
	struct map_slot *slot;
	DIR *d = opendir("/proc");
	struct dirent *ent;

	while (d && (ent = readdir(d))) {
		uint32_t pid = numeric(ent->d_name);

		if (pid)
			*map_put(&parents, pid, NULL) = procfs_parent(pid);
	}
	if (d)
		closedir(d);
	for (size_t i = 0; map_next(&parents, &i, &slot);)
		if (descends(&parents, (uint32_t)slot->key, pids, n))
			fn(ctx, (uint32_t)slot->key, (uint32_t)slot->key);
	map_done(&parents);
}

/* Uses readlink(), which the kernel answers alone, whatever file system the program is on. */
static bool runs_file(uint32_t pid, const char *name)
{
	char path[64], file[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, file, sizeof(file) - 1);
	if (n <= 0)
		return false;
	file[n] = '\0';
	base = strrchr(file, '/');
	return !strcmp(base ? base + 1 : file, name);
}

void procfs_each_named(const char *name, procfs_fn *fn, void *ctx)
{
	DIR *d = opendir("/proc");
	struct dirent *ent;
	char comm[64];

	while (d && (ent = readdir(d))) {
		uint32_t pid = numeric(ent->d_name);

		if (!pid || pid == (uint32_t)getpid())
			continue;
		(void)procfs_name(pid, pid, comm, sizeof(comm));
		if (!strcmp(comm, name) || runs_file(pid, name))
			fn(ctx, pid, pid);
	}
	if (d)
		closedir(d);
}

int procfs_each_map(uint32_t pid, procfs_map_fn *fn, void *ctx)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return err_set(-errno, "%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) > 0) {
		struct map_facts m = {0};
		unsigned major, minor;
		char perms[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &m.start, &m.end, perms, &m.pgoff, &major, &minor, &m.inode, &at) < 7)
			continue;
		m.exec = perms[2] == 'x';
		m.shared = perms[3] == 's';
		line[strcspn(line, "\n")] = '\0';
		m.dev = makedev(major, minor);
		m.path = line + at;
		fn(ctx, &m);
	}
	free(line);
	fclose(f);
	return 0;
}
