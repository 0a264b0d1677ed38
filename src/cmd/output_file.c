// SPDX-License-Identifier: MIT
/*
 * A file that appears whole or not at all: see output.h. Where the file system can, it has no name
 * until it is finished, so that nothing is left behind even by a SIGKILL.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "cmd/output.h"
#include "cmd/terminal.h"
#include "record/place.h"

static int output_file_failed(const char *path)
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

/* A descriptor for what will become o->real, or -1: the folder takes no new file. */
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

static void output_file_forget(struct output *o)
{
	free(o->real);
	free(o->temp);
	*o = (struct output){0};
}

/*
 * Writes straight to what is not a regular file. A named pipe must not be another user's; its owner
 * is checked before it is opened, because the pipe's reader would notice that.
 */
static int open_stream(const struct place *place)
{
	char self[40];
	struct stat st;
	int at, fd;

	if (place->descriptor)
		return open(place->path, O_WRONLY | O_CLOEXEC);
	at = open(place->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return at;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	if (fstat(at, &st) || (S_ISFIFO(st.st_mode) && !place_trusts(st.st_uid)))
		fd = err_set(-EACCES, "it is a pipe of another user's (%u)", (unsigned)st.st_uid);
	else
		fd = open(self, O_WRONLY | O_CLOEXEC);
	close(at);
	return fd;
}

/* Writes the file in its place, where nothing can be made beside it: if it is ours, or new. */
static int open_in_place(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	struct stat st;

	if (fd >= 0 || errno != EEXIST)
		return fd;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && place_trusts(st.st_uid) && !ftruncate(fd, 0))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

/* A file of ours keeps its mode when it is replaced, if that is possible. */
static int create_at(struct output *o, const struct place *place)
{
	struct stat st;
	bool there = !stat(place->path, &st);
	int fd;

	if (there && access(place->path, W_OK))
		return -1;
	if (place->descriptor || (there && !S_ISREG(st.st_mode)))
		return open_stream(place);
	o->real = mem_strdup(place->path);
	fd = open_beside(o);
	if (fd < 0)
		return open_in_place(place->path);
	if (there && place_trusts(st.st_uid))
		fchmod(fd, st.st_mode & 0777);
	return fd;
}

static int create(struct output *o)
{
	struct place place;
	int rc = place_find(o->path, &place), fd;

	if (rc)
		return rc;
	err_clear();
	fd = create_at(o, &place);
	place_done(&place);
	if (fd >= 0)
		return fd;
	return fd == -1 ? output_file_failed(o->path) : err_add(fd, "cannot write %s", o->path);
}

int output_create(const char *path, bool text, struct output *ret)
{
	struct output o = {.path = path, .out = text ? stdout : terminal_raw()};

	if (path && !strcmp(path, "-"))
		o.path = path = NULL;
	if (path) {
		int fd = create(&o);

		if (fd < 0) {
			output_file_forget(&o);
			return fd;
		}
		o.fd = fd;
		o.out = text ? terminal_gate(fd) : fdopen(fd, "w");
		if (!o.out) {
			int rc = output_file_failed(path);

			close(fd);
			output_file_forget(&o);
			return rc;
		}
	}
	*ret = o;
	return 0;
}

/* Links a finished file under a name like mkstemp's. */
static int give_name(struct output *o)
{
	char fd[64];
	int taken = mkostemp(o->temp, O_CLOEXEC);

	if (taken < 0)
		return -1;
	close(taken);
	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", o->fd);
	if (unlink(o->temp))
		return -1;
	return linkat(AT_FDCWD, fd, AT_FDCWD, o->temp, AT_SYMLINK_FOLLOW);
}

static int appear(struct output *o)
{
	if (fflush(o->out) || fsync(o->fd))
		return output_file_failed(o->path);
	if (o->nameless && give_name(o))
		return output_file_failed(o->path);
	o->nameless = false;
	return rename(o->temp, o->real) ? output_file_failed(o->path) : 0;
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
	output_file_forget(o);
	return rc;
}
