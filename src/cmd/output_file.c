// SPDX-License-Identifier: MIT
/*
 * A file that appears whole or not at all: see output.h. Where the file system can, it has no name
 * until it is finished, so that nothing is left behind even by a SIGKILL.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "cmd/output.h"

static int failed(const char *path)
{
	return err_set(-errno, "cannot write %s: %s", path, strerror(errno));
}

static int open_nameless(const char *real)
{
	char *copy = mem_strdup(real);
	int fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

	free(copy);
	return fd;
}

static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A descriptor for what will be o->real, or -1: the file can only be written in its place. */
static int open_beside(struct output *o)
{
	struct buf name = {0};
	int fd = open_nameless(o->real);

	buf_printf(&name, "%s.XXXXXX", o->real);
	o->temp = mem_strdup(buf_cstr(&name));
	buf_done(&name);
	o->nameless = fd >= 0;
	if (fd < 0) {
		fd = mkostemp(o->temp, O_CLOEXEC);
		if (fd >= 0 && fchmod(fd, usual_mode())) {
			unlink(o->temp);
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0) {
		free(o->temp);
		o->temp = NULL;
	}
	return fd;
}

static void forget(struct output *o)
{
	free(o->real);
	free(o->temp);
	*o = (struct output){0};
}

/* As far as that is possible, what is written over keeps its mode. */
static int create(struct output *o)
{
	struct stat st;
	bool there = !stat(o->path, &st);
	int fd = -1;

	if (there && access(o->path, W_OK))
		return -1;
	if (!there || S_ISREG(st.st_mode)) {
		o->real = there ? realpath(o->path, NULL) : mem_strdup(o->path);
		fd = o->real ? open_beside(o) : -1;
	}
	if (fd < 0)
		return open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (there)
		fchmod(fd, st.st_mode & 0777);
	return fd;
}

int output_create(const char *path, struct output *ret)
{
	struct output o = {.path = path, .out = stdout};

	if (path) {
		int fd = create(&o);

		o.out = fd < 0 ? NULL : fdopen(fd, "w");
		if (!o.out) {
			int rc = failed(path);

			if (fd >= 0)
				close(fd);
			forget(&o);
			return rc;
		}
	}
	*ret = o;
	return 0;
}

/* mkstemp's names, for one that is only linked when it is finished. */
static int give_name(struct output *o)
{
	char fd[64];
	int taken = mkostemp(o->temp, O_CLOEXEC);

	if (taken < 0)
		return -1;
	close(taken);
	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", fileno(o->out));
	if (unlink(o->temp))
		return -1;
	return linkat(AT_FDCWD, fd, AT_FDCWD, o->temp, AT_SYMLINK_FOLLOW);
}

static int appear(struct output *o)
{
	if (fflush(o->out) || fsync(fileno(o->out)))
		return failed(o->path);
	if (o->nameless && give_name(o))
		return failed(o->path);
	o->nameless = false;
	return rename(o->temp, o->real) ? failed(o->path) : 0;
}

int output_finish(struct output *o, int rc)
{
	const char *name = o->path ? o->path : "standard output";

	if (rc && ferror(o->out))
		rc = err_add(rc, "cannot write %s", name);
	if (!rc && o->temp)
		rc = appear(o);
	if (rc && o->temp && !o->nameless)
		unlink(o->temp);
	if (rc)
		fclose(o->out);
	else
		rc = output_close(o->out, name);
	forget(o);
	return rc;
}
