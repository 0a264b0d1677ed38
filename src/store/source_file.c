// SPDX-License-Identifier: MIT
/* A capture in a file: see source.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "store/source.h"

static ssize_t read_file(const struct byte_source *s, uint64_t offset, void *into, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(s->fd, (char *)into + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set(-errno, "reading at byte %llu: %s",
				       (unsigned long long)(offset + done), strerror(errno));
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static int open_file(struct byte_source *s, const char *path)
{
	struct stat st;

	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &st))
		return err_set(-errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-EINVAL, "not a regular file");
	s->size = (uint64_t)st.st_size;
	return 0;
}

static void close_file(struct byte_source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int byte_source_open(struct byte_source *s, const char *path, bool no_checksums)
{
	int rc;

	*s = (struct byte_source){
		.read = read_file, .close = close_file, .no_checksums = no_checksums};
	rc = open_file(s, path);
	return rc ? rc : byte_source_begin(s);
}

int byte_source_grow(struct byte_source *s)
{
	struct stat st;

	if (fstat(s->fd, &st))
		return err_set(-errno, "%s", strerror(errno));
	s->size = (uint64_t)st.st_size;
	return 0;
}
