// SPDX-License-Identifier: MIT
#include "import/import.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

static const struct importer *const importers[] = {&import_perfdata, &import_collapsed};

const struct importer *import_at(size_t i)
{
	return i < ARRAY_LEN(importers) ? importers[i] : NULL;
}

void import_note(struct import_result *res, const char *fmt, ...)
{
	size_t used = strlen(res->notes);
	va_list args;

	if (used + 3 > sizeof(res->notes))
		return;
	if (used) {
		strcpy(res->notes + used, "; ");
		used += 2;
	}
	va_start(args, fmt);
	vsnprintf(res->notes + used, sizeof(res->notes) - used, fmt, args);
	va_end(args);
}

static int by_name(const char *name, const struct importer **ret)
{
	struct buf list = {0};
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(importers); i++) {
		if (!strcmp(importers[i]->name, name)) {
			*ret = importers[i];
			buf_done(&list);
			return 0;
		}
		buf_printf(&list, "%s%s", i ? ", " : "", importers[i]->name);
	}
	rc = err_set(-EINVAL, "there is no format '%s'; those known are: %s", name,
		     buf_cstr(&list));
	buf_done(&list);
	return rc;
}

static int by_head(const char *path, int fd, const struct importer **ret)
{
	uint8_t head[IMPORT_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return err_set(-errno, "%s: %s", path, strerror(errno));
	if (!n)
		return err_set(-ENODATA, "%s is empty", path);
	for (size_t i = 0; i < ARRAY_LEN(importers); i++) {
		if (importers[i]->knows(head, (size_t)n)) {
			*ret = importers[i];
			return 0;
		}
	}
	return err_set(-EINVAL,
		       "%s is neither a perf.data file nor collapsed stacks, by its first bytes; "
		       "-f says what it is",
		       path);
}

static int import_check(const struct import_opts *o, int fd)
{
	struct stat in, out;

	if (fstat(fd, &in))
		return err_set(-errno, "%s: %s", o->path, strerror(errno));
	if (S_ISDIR(in.st_mode))
		return err_set(-EISDIR,
			       "%s is a directory; thaw does not read perf.data directories",
			       o->path);
	if (!stat(o->output, &out) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return err_set(-EINVAL, "%s is the file that is read; write to another one",
			       o->output);
	return 0;
}

/* Importers seek: a pipe is copied to a file without a name. Takes fd. */
static int seekable(const char *path, int fd, int *ret)
{
	struct stat st;
	FILE *copy;
	char part[1 << 16];
	ssize_t n;
	int rc = 0;

	*ret = fd;
	if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	copy = tmpfile();
	*ret = copy ? dup(fileno(copy)) : -1;
	if (*ret < 0)
		rc = err_set(-errno, "no room for a copy of %s: %s", path, strerror(errno));
	while (!rc && (n = read(fd, part, sizeof(part))))
		if (n < 0 && errno != EINTR)
			rc = err_set(-errno, "%s: %s", path, strerror(errno));
		else if (n > 0 && fwrite(part, 1, (size_t)n, copy) != (size_t)n)
			rc = err_set(-EIO, "no room for a copy of %s", path);
	if (copy && fclose(copy) && !rc)
		rc = err_set(-errno, "no room for a copy of %s: %s", path, strerror(errno));
	if (!rc && lseek(*ret, 0, SEEK_SET))
		rc = err_set(-errno, "%s: %s", path, strerror(errno));
	close(fd);
	return rc;
}

int import_file(const struct import_opts *o, struct import_result *ret)
{
	const struct importer *format = NULL;
	int fd = strcmp(o->path, "-") ? open(o->path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO), rc;

	*ret = (struct import_result){0};
	if (fd < 0)
		return err_set(-errno, "%s: %s", o->path, strerror(errno));
	rc = seekable(o->path, fd, &fd);
	rc = rc ? rc : import_check(o, fd);
	rc = rc ? rc : o->format ? by_name(o->format, &format) : by_head(o->path, fd, &format);
	if (!rc) {
		ret->format = format->name;
		rc = format->run(o, fd, ret);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
