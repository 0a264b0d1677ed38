/* SPDX-License-Identifier: MIT */
/*
 * The fixed parts of a capture file: the file header, the chunk header, and the limits that a
 * writer keeps and a reader demands. docs/format.md is the specification; this is its C.
 *
 * Everything is little-endian. The structs are what is in the file, byte by byte: each has a packed
 * twin, and as both have the size that the fields add up to, there is no padding in either.
 */
#ifndef THAW_STORE_FORMAT_H
#define THAW_STORE_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structs below are the file's bytes");

enum chunk_type {
#define CHUNK(id, UPPER, name, words) CHUNK_##UPPER = id,
#include "store/chunk.def"
	CHUNK_TYPES,
};

/* As PNG's: a stripped eighth bit, a changed line end or a stop at ^Z all break it visibly. */
#define FILE_MAGIC "\x89THAW\r\n\x1a"
#define FILE_VERSION 1
#define CHUNK_MAGIC 0x4b434854u /* "THCK" */
#define END_MAGIC 0x444e4554u	/* "TEND" */

enum {
	HEAD_BYTES = 64,
	END_TRAILER_BYTES = 16,

	CHUNK_ZSTD = 1, /* flags: the payload is one zstd frame */
	CHUNK_FLAGS_KNOWN = CHUNK_ZSTD,

	STORED_MAX = 64 << 20,
	RAW_MAX = 64 << 20,
	/* A small file cannot fill the memory: no byte of it may stand for more than this many. */
	RAW_PER_STORED = 256,
	RAW_ALWAYS = 64 << 10,
	EVENTS_PER_CHUNK_MAX = 1 << 20,
	/* For the same reason: a file of n bytes has no index above n times this. */
	INDEX_PER_BYTE = 128,
};

#define FILE_HEAD_FIELDS                                                                           \
	uint8_t magic[8];                                                                          \
	uint16_t version;                                                                          \
	uint16_t head_bytes;                                                                       \
	uint32_t compat;                                                                           \
	uint32_t incompat;                                                                         \
	uint32_t reserved0;                                                                        \
	uint64_t salt;                                                                             \
	uint64_t start_unix_ns;                                                                    \
	uint64_t start_mono_ns;                                                                    \
	uint32_t reserved1[3];                                                                     \
	uint32_t crc; /* of the 60 bytes before it */

#define CHUNK_HEAD_FIELDS                                                                          \
	uint32_t magic;                                                                            \
	uint16_t type;                                                                             \
	uint16_t flags;                                                                            \
	uint32_t seq;                                                                              \
	uint32_t stored;                                                                           \
	uint32_t raw;                                                                              \
	uint32_t payload_crc;                                                                      \
	uint64_t ts_min;                                                                           \
	uint64_t ts_max;                                                                           \
	uint64_t salt;                                                                             \
	uint32_t items;                                                                            \
	uint32_t reserved[2];                                                                      \
	uint32_t crc; /* of the 60 bytes before it */

#define END_TRAILER_FIELDS                                                                         \
	uint64_t index_offset;                                                                     \
	uint32_t end_bytes;                                                                        \
	uint32_t magic;

#define ON_DISK(name, FIELDS, bytes)                                                               \
	struct name {                                                                              \
		FIELDS                                                                             \
	};                                                                                         \
	struct name##_packed {                                                                     \
		FIELDS                                                                             \
	} __attribute__((packed));                                                                 \
	static_assert(sizeof(struct name) == (bytes), #name " has padding");                       \
	static_assert(sizeof(struct name##_packed) == (bytes), #name " has a wrong size")

/* clang-format off */
ON_DISK(file_head, FILE_HEAD_FIELDS, HEAD_BYTES);
ON_DISK(chunk_head, CHUNK_HEAD_FIELDS, HEAD_BYTES);
ON_DISK(end_trailer, END_TRAILER_FIELDS, END_TRAILER_BYTES);
/* clang-format on */

uint32_t format_crc(const void *p, size_t n);

/* Fills what is always the same, and the checksum: call it last. */
void file_head_seal(struct file_head *h);
void chunk_head_seal(struct chunk_head *h);

/* 0, or -EPROTO with words for a person: not a capture, damaged, or from the future. */
int file_head_check(const struct file_head *h, size_t len, bool check_crc);

/* Is this the header of a chunk of the capture with that salt? Says nothing of its payload. */
bool chunk_head_ok(const struct chunk_head *h, uint64_t salt, bool check_crc);

/* Sizes that a writer may produce, whatever the checksums say. */
bool chunk_sizes_ok(uint32_t flags, uint64_t stored, uint64_t raw);

/* "events"; "unknown" for a type from the future. */
const char *chunk_name(uint16_t type);

#endif
