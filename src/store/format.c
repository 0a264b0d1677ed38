// SPDX-License-Identifier: MIT
/* The headers of a capture file: sealing and checking. See format.h and docs/format.md. */
#include "store/format.h"

#include <string.h>

#include "base/err.h"

void file_head_seal(struct file_head *h)
{
	memcpy(h->magic, FILE_MAGIC, sizeof(h->magic));
	h->version = FILE_VERSION;
	h->head_bytes = HEAD_BYTES;
	h->crc = format_crc(h, offsetof(struct file_head, crc));
}

void chunk_head_seal(struct chunk_head *h)
{
	h->magic = CHUNK_MAGIC;
	h->crc = format_crc(h, offsetof(struct chunk_head, crc));
}

static int magic_check(const uint8_t *m, size_t len)
{
	if (len >= sizeof(FILE_MAGIC) - 1 && !memcmp(m, FILE_MAGIC, sizeof(FILE_MAGIC) - 1))
		return 0;
	if (len >= 5 && (m[0] & 0x7f) == (0x89 & 0x7f) && !memcmp(m + 1, "THAW", 4) && len >= 8)
		return err_set(-EPROTO, "a capture that was changed on its way here, as by a "
					"transfer in text mode; copy it again in binary mode");
	if (!len)
		return err_set(-EPROTO, "the file is empty");
	return err_set(-EPROTO, "not a capture of thaw");
}

int file_head_check(const struct file_head *h, size_t len, bool check_crc)
{
	int rc = magic_check(h->magic, len);

	if (rc)
		return rc;
	if (len < HEAD_BYTES)
		return err_set(-EPROTO, "torn at byte %zu, inside the header: nothing was recorded",
			       len);
	if (check_crc && h->crc != format_crc(h, offsetof(struct file_head, crc)))
		return err_set(-EPROTO, "the header is damaged (wrong checksum)");
	if (h->incompat)
		return err_set(-EPROTO,
			       "made by a newer thaw (version %u, feature bits 0x%x) in a way that "
			       "this one cannot read; use a newer thaw",
			       h->version, h->incompat);
	if (h->head_bytes < HEAD_BYTES || h->head_bytes % 8)
		return err_set(-EPROTO, "the header says that it has %u bytes", h->head_bytes);
	return 0;
}

bool chunk_sizes_ok(uint32_t flags, uint64_t stored, uint64_t raw)
{
	if (stored > STORED_MAX || raw > RAW_MAX)
		return false;
	if (flags & ~(uint32_t)CHUNK_FLAGS_KNOWN)
		return true; /* of an unknown type: the reader skips it */
	return flags & CHUNK_ZSTD ? raw <= stored * RAW_PER_STORED + RAW_ALWAYS : raw == stored;
}

bool chunk_head_ok(const struct chunk_head *h, uint64_t salt, bool check_crc)
{
	if (h->magic != CHUNK_MAGIC || h->salt != salt)
		return false;
	if (check_crc && h->crc != format_crc(h, offsetof(struct chunk_head, crc)))
		return false;
	return chunk_sizes_ok(h->flags, h->stored, h->raw);
}

const char *chunk_name(uint16_t type)
{
	switch (type) {
#define CHUNK(id, UPPER, name, words)                                                              \
	case id:                                                                                   \
		return name;
#include "store/chunk.def"
	}
	return "unknown";
}
