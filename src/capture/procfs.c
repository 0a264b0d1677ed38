// SPDX-License-Identifier: MIT
#include "capture/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
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

static void read_comm(uint32_t pid, uint32_t tid, char *out, size_t room)
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
}

/* "NSpid: 4711 12": the tid in our namespace first, and in its own last. */
static uint32_t last_number(const char *line)
{
	const char *last = strrchr(line, '\t');
	const char *first = strchr(line, '\t');

	return last && last != first ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

static enum call_file file_of(uint32_t pid, unsigned long long fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%llu", pid, fd);
	if (stat(path, &st))
		return FILE_UNKNOWN;
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		return FILE_PIPE;
	case S_IFSOCK:
		return FILE_SOCKET;
	case S_IFREG:
	case S_IFDIR:
		return FILE_REGULAR;
	case S_IFCHR:
		return FILE_CHAR;
	case S_IFBLK:
		return FILE_BLOCK;
	default:
		return FILE_ANON;
	}
}

/*
 * "202 0x55d2.. 0x189 ...": the call in which a thread sleeps, and its arguments; "running"; or -1,
 * where it sleeps in none. Needs the right to trace the process, as recording it does.
 */
static uint32_t read_call(uint32_t pid, uint32_t tid)
{
	unsigned long long first = 0;
	char path[64];
	long nr = 0;
	int got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	got = fscanf(f, "%ld %llx", &nr, &first);
	fclose(f);
	if (got < 1 || nr >= (long)CALL_NR)
		return 0;
	if (nr < 0)
		return CALL_FAULT;
	/* Where the first argument is no descriptor, there is no such file, or the rules for the
	 * call do not ask. */
	return ((uint32_t)nr + 1) | (uint32_t)file_of(pid, first) << CALL_FILE_SHIFT;
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
	if (ret->state && !ret->kernel)
		ret->call = read_call(pid, tid);
	read_comm(pid, tid, ret->name, sizeof(ret->name));
	return 0;
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
			(void)procfs_each_thread(id, fn, ctx); /* gone meanwhile: nothing to tell */
	}
	closedir(d);
	return 0;
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

int procfs_open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int procfs_open_mapped(uint32_t pid, uint64_t start, uint64_t end, const char *path)
{
	char at[4400];
	int fd;

	snprintf(at, sizeof(at), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	fd = procfs_open_regular(at);
	if (fd >= 0)
		return fd;
	snprintf(at, sizeof(at), "/proc/%u/root%s", pid, path);
	return procfs_open_regular(at);
}
