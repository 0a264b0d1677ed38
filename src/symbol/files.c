// SPDX-License-Identifier: MIT
/*
 * From a path in a recording to the very file that was mapped. A path may have been given to
 * another file since (a package was upgraded, a program was rebuilt), or to none; so every
 * candidate has to show the recorded build id. A file without one is taken for what its path says,
 * but only where the process itself would find it.
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
#include "symbol/table.h"

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

int file_open_elf(const char *path, uint32_t pid, struct file *ret)
{
	struct file f = {.pid = pid};
	int rc;

	if (strlen(path) >= sizeof(f.path))
		return err_set(-ENAMETOOLONG, "a path of %zu bytes", strlen(path));
	rc = file_open(path, pid, &f.fd);
	if (rc)
		return rc;
	rc = elf_open_fd(f.fd, &f.elf);
	if (rc) {
		close(f.fd);
		return err_add(rc, "%s", path);
	}
	strcpy(f.path, path);
	*ret = f;
	return 0;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	elf_free(f->elf);
	*f = (struct file){.fd = -1};
}

bool file_has_dwarf(const struct file *f)
{
	const struct elf_section *s = NULL;

	if (f->fd < 0)
		return false;
	s = elf_section(f->elf, ".debug_info");
	s = s ? s : elf_section(f->elf, ".zdebug_info");
	return s && s->type != SHT_NOBITS && s->size;
}

static int try_main(const struct symbols_query *q, const char *path, uint32_t pid, struct file *ret)
{
	struct file f;
	int rc = file_open_elf(path, pid, &f);

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

/* By the mapping itself. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; without, it just fails. */
static int try_map_files(const struct symbols_query *q, const char *path, struct file *ret)
{
	char line[4608], link[96];
	size_t len = strlen(path);
	int tries = 0, rc = -ENOENT;
	FILE *f;

	snprintf(link, sizeof(link), "/proc/%u/maps", q->pid);
	f = fopen(link, "re");
	if (!f)
		return -ESRCH;
	while (rc && tries < MAP_FILES_TRIES && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '/');
		uint64_t begin, end;

		if (!at || strncmp(at, path, len) || (at[len] != '\n' && at[len] != ' ') ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) != 2)
			continue;
		tries++;
		snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, q->pid,
			 begin, end);
		rc = try_main(q, link, 0, ret);
	}
	fclose(f);
	return rc;
}

static int try_living(const struct symbols_query *q, const char *path, struct file *ret)
{
	char link[64];
	int rc;

	snprintf(link, sizeof(link), "/proc/%u/exe", q->pid);
	rc = try_main(q, link, 0, ret);
	rc = rc ? try_map_files(q, path, ret) : 0;
	/* Debug information is looked for beside the path that it had. */
	if (!rc) {
		strcpy(ret->path, path);
		ret->pid = q->pid;
	}
	return rc;
}

static int find_main(const struct symbols_query *q, struct file *ret)
{
	size_t len = strlen(q->path), tail = strlen(DELETED);
	bool deleted = len > tail && !strcmp(q->path + len - tail, DELETED);
	bool sure = q->build_id_len;
	char path[4096];
	int first, rc;

	if (len >= sizeof(path))
		return err_set(-ENAMETOOLONG, "a path of %zu bytes", len);
	memcpy(path, q->path, len + 1);
	if (deleted)
		path[len - tail] = '\0';
	/* What never had a path is no surprise; what had one is worth a word. */
	if (deleted && !sure)
		return err_set(strncmp(path, "/memfd:", 7) ? -ESTALE : -ENOENT,
			       "%s was deleted, and has no build id to know it by", path);
	first = try_main(q, path, q->pid, ret);
	if (!first || !q->pid)
		return first;
	rc = sure ? try_living(q, path, ret) : first;
	/* Our own file of that name may be another one, unless a build id says that it is not. */
	if (rc && (sure || first == -ESRCH))
		rc = try_main(q, path, 0, ret);
	if (rc && first == -ESTALE)
		return err_set(first, "%s was replaced since: it has another build id", path);
	return rc;
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
