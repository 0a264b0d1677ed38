// SPDX-License-Identifier: MIT
/*
 * Finds, from a path in a capture, the very file that was mapped. Since then another file may have
 * got the path (a package was upgraded, a program was rebuilt), or none. So every candidate must
 * have the recorded build id. If none was recorded the path must do, but only where the process
 * itself would find the file.
 *
 * A running process keeps the files that it has mapped, whatever becomes of their paths: the kernel
 * has them below /proc/PID/exe and /proc/PID/map_files.
 */
#include "symbol/files.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "symbol/opener.h"

#define DELETED " (deleted)"
#define MAP_FILES_TRIES 16

int file_check_build_id(const struct elf *e, const uint8_t *want, size_t len)
{
	uint8_t have[BUILD_ID_ROOM];
	int n;

	if (!len)
		return 0;
	n = elf_build_id(e, have, sizeof(have));
	if (n != (int)len || memcmp(have, want, len))
		return err_set(-ESTALE, "the file was replaced since: its build id differs");
	return 0;
}

/* Takes the descriptor over. */
static int file_take(int fd, const char *path, uint32_t pid, struct source_file *ret)
{
	struct source_file f = {.fd = fd, .pid = pid};
	int rc = strlen(path) < sizeof(f.path)
			 ? elf_open_fd(fd, &f.elf)
			 : err_set(-ENAMETOOLONG, "a path of %zu bytes", strlen(path));

	if (rc) {
		close(fd);
		return err_add(rc, "%s", path);
	}
	strcpy(f.path, path);
	*ret = f;
	return 0;
}

int file_open_elf(const char *path, uint32_t pid, struct source_file *ret)
{
	int fd, rc = opener_open(pid, path, &fd);

	return rc ? rc : file_take(fd, path, pid, ret);
}

void file_close(struct source_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	elf_free(f->elf);
	*f = (struct source_file){.fd = -1};
}

bool file_has_dwarf(const struct source_file *f)
{
	const struct elf_section *s = NULL;

	if (f->fd < 0)
		return false;
	s = elf_section(f->elf, ".debug_info");
	s = s ? s : elf_section(f->elf, ".zdebug_info");
	return s && s->type != SHT_NOBITS && s->size;
}

/* Takes the descriptor over, and keeps it if it has the recorded build id. */
static int take_main(const struct symbols_query *q, int fd, const char *path, uint32_t pid,
		     struct source_file *ret)
{
	struct source_file f;
	int rc = file_take(fd, path, pid, &f);

	if (rc)
		return rc;
	rc = file_check_build_id(f.elf, q->build_id, q->build_id_len);
	if (rc) {
		file_close(&f);
		return err_set(rc, "%s was replaced since: it has another build id", path);
	}
	*ret = f;
	return 0;
}

static int try_path(const struct symbols_query *q, const char *path, struct source_file *ret)
{
	struct opener_want w = {.pid = q->pid,
				.path = path,
				.dev = q->dev,
				.inode = q->inode,
				.build_id = q->build_id,
				.build_id_len = q->build_id_len};
	int fd, rc = q->pid ? opener_mapped(&w, &fd) : opener_open(0, path, &fd);

	/* Debug information is searched for beside this path, below the process's root or ours. */
	return rc ? rc : take_main(q, fd, path, opener_has_root(q->pid) ? q->pid : 0, ret);
}

/* By the mapping itself. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; without, it just fails. */
static int try_map_files(const struct symbols_query *q, const char *path, struct source_file *ret)
{
	char line[4608], maps[64];
	size_t len = strlen(path);
	int tries = 0, rc = -ENOENT, fd;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%u/maps", q->pid);
	f = fopen(maps, "re");
	if (!f)
		return -ESRCH;
	while (rc && tries < MAP_FILES_TRIES && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '/');
		uint64_t begin, end;

		if (!at || strncmp(at, path, len) || (at[len] != '\n' && at[len] != ' ') ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) != 2)
			continue;
		tries++;
		rc = opener_mapping(q->pid, begin, end, &fd);
		rc = rc ? rc : take_main(q, fd, path, q->pid, ret);
	}
	fclose(f);
	return rc;
}

static int try_living(const struct symbols_query *q, const char *path, struct source_file *ret)
{
	int fd, rc = opener_program(q->pid, &fd);

	rc = rc ? rc : take_main(q, fd, path, q->pid, ret);
	return rc ? try_map_files(q, path, ret) : 0;
}

static int find_main(const struct symbols_query *q, struct source_file *ret)
{
	size_t len = strlen(q->path), tail = strlen(DELETED);
	bool deleted = len > tail && !strcmp(q->path + len - tail, DELETED);
	bool sure = q->build_id_len;
	char path[PATH_MAX];
	int first;

	if (len >= sizeof(path))
		return err_set(-ENAMETOOLONG, "a path of %zu bytes", len);
	memcpy(path, q->path, len + 1);
	if (deleted)
		path[len - tail] = '\0';
	/* A memfd never had a path and gets no note; a deleted file does. */
	if (deleted && !sure)
		return err_set(strncmp(path, "/memfd:", 7) ? -ESTALE : -ENOENT,
			       "%s was deleted, and has no build id by which to recognise it",
			       path);
	first = try_path(q, path, ret);
	if (!first || !q->pid || !sure)
		return first;
	if (!try_living(q, path, ret))
		return 0;
	if (first == -ESTALE)
		return err_set(first, "%s was replaced since: it has another build id", path);
	return err_set(first, "%s: no file matches what was mapped", path);
}

int files_find(const struct symbols_query *q, struct files *ret)
{
	int rc;

	*ret = (struct files){.main.fd = -1, .debug.fd = -1, .alt.fd = -1};
	rc = find_main(q, &ret->main);
	if (rc)
		return rc;
	ret->has_dwarf = file_has_dwarf(&ret->main);
	files_find_debug(q, ret);
	return 0;
}

void files_close(struct files *f)
{
	file_close(&f->main);
	file_close(&f->debug);
	file_close(&f->alt);
}
