// SPDX-License-Identifier: MIT
/* Reading chunks from a file that nobody vouches for: see source.h. */
#include "store/source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/err.h"

ssize_t source_read(const struct source *s, uint64_t offset, void *into, size_t n)
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

static int open_file(struct source *s, const char *path)
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

int source_open(struct source *s, const char *path, bool no_checksums)
{
	ssize_t n;
	int rc;

	*s = (struct source){.no_checksums = no_checksums};
	rc = open_file(s, path);
	if (rc)
		return rc;
	n = source_read(s, 0, &s->head, sizeof(s->head));
	if (n < 0)
		return (int)n;
	rc = file_head_check(&s->head, (size_t)n, !no_checksums);
	if (rc)
		return rc;
	s->zstd = ZSTD_createDCtx();
	return s->zstd ? 0 : err_set(-ENOMEM, "no memory for the decompressor");
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	ZSTD_freeDCtx(s->zstd);
	buf_done(&s->stored);
}

bool source_head(const struct source *s, uint64_t offset, struct chunk_head *ret)
{
	return source_read(s, offset, ret, sizeof(*ret)) == sizeof(*ret) &&
	       chunk_head_ok(ret, s->head.salt, !s->no_checksums);
}

static int unpack_payload(struct source *s, const struct chunk_head *h, const uint8_t *p,
			  struct buf *raw)
{
	size_t n;

	buf_clear(raw);
	buf_reserve(raw, (size_t)h->raw + 1); /* not NULL, even if empty */
	if (h->flags & CHUNK_ZSTD) {
		n = ZSTD_decompressDCtx(s->zstd, raw->p, h->raw, p, h->stored);
		if (ZSTD_isError(n) || n != h->raw)
			return err_set(-EBADMSG, "cannot be decompressed");
	} else if (h->raw) {
		memcpy(raw->p, p, h->raw);
	}
	raw->len = h->raw;
	return 0;
}

static int load(struct source *s, const struct index_entry *e, struct buf *raw)
{
	struct chunk_head h;
	ssize_t got;

	if (e->bytes > HEAD_BYTES + (uint64_t)STORED_MAX)
		return err_set(-EBADMSG, "too large");
	buf_clear(&s->stored);
	buf_reserve(&s->stored, (size_t)e->bytes);
	got = source_read(s, e->offset, s->stored.p, (size_t)e->bytes);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got != e->bytes)
		return err_set(-EBADMSG, "the file ends inside it");
	memcpy(&h, s->stored.p, sizeof(h));
	if (!chunk_head_ok(&h, s->head.salt, !s->no_checksums))
		return err_set(-EBADMSG, "its header is damaged");
	if (h.seq != e->seq || h.type != e->type || HEAD_BYTES + (uint64_t)h.stored != e->bytes)
		return err_set(-EBADMSG, "not the chunk that should be there");
	if (!s->no_checksums && h.payload_crc != format_crc(s->stored.p + HEAD_BYTES, h.stored))
		return err_set(-EBADMSG, "wrong checksum");
	if (h.flags & ~CHUNK_FLAGS_KNOWN)
		return err_set(-EBADMSG, "stored in a way from the future");
	return unpack_payload(s, &h, s->stored.p + HEAD_BYTES, raw);
}

int source_load(struct source *s, const struct index_entry *e, struct buf *raw)
{
	int rc = load(s, e, raw);

	return rc ? err_add(rc, "chunk %u at byte %llu (%s)", e->seq, (unsigned long long)e->offset,
			    chunk_name(e->type))
		  : 0;
}
