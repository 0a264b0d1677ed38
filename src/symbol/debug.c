// SPDX-License-Identifier: MIT
/*
 * Separate debug information, in the order in which gdb looks for it:
 *
 *   by build id     DEBUG/.build-id/xx/yyyy.debug
 *   .gnu_debuglink  a file name and a CRC: beside the file, in .debug/ there, in DEBUG/its folder/
 *   a server        debuginfod, only if the user has named one
 *
 * DEBUG is /usr/lib/debug, below the root of the process first, then ours. And what debug files of
 * one package share (dwz): .gnu_debugaltlink, a path and a build id.
 *
 * The names of the files come from other files and may be lies. A candidate counts only if its
 * build id, or else its CRC, is right. Below our own root such a name may lead only to DEBUG, or to
 * the folder of the file that contains it.
 */
#include "symbol/files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/err.h"

#define DEBUG_DIR "/usr/lib/debug"
#define LINK_BYTES_MAX 8192u
#define CRC_BYTES_MAX (2ull << 30)

/* A folder for debug files, and below whose root it is. */
struct debug_place {
	const char *dir;
	uint32_t pid;
};

static size_t places(const struct symbols_query *q, uint32_t pid, struct debug_place out[2])
{
	size_t n = 0;

	if (q->debug_dir) {
		out[n++] = (struct debug_place){q->debug_dir, 0};
		return n;
	}
	if (pid)
		out[n++] = (struct debug_place){DEBUG_DIR, pid};
	out[n++] = (struct debug_place){DEBUG_DIR, 0};
	return n;
}

/* Takes "." and ".." out of an absolute path. */
static void debug_tidy(char *path)
{
	char *out = path;

	for (char *in = path; *in;) {
		size_t n;

		in += strspn(in, "/");
		n = strcspn(in, "/");
		if (n == 2 && !strncmp(in, "..", 2)) {
			while (out > path && *--out != '/')
				;
		} else if (n && !(n == 1 && *in == '.')) {
			*out++ = '/';
			memmove(out, in, n);
			out += n;
		}
		in += n;
	}
	*out = '\0';
}

static bool is_below(const char *path, const char *dir, size_t len)
{
	return len && !strncmp(path, dir, len) && path[len] == '/';
}

static bool try_build_id(const char *path, uint32_t pid, const uint8_t *id, size_t len,
			 struct source_file *ret)
{
	struct source_file f;

	if (file_open_elf(path, pid, &f))
		return false;
	if (!file_check_build_id(f.elf, id, len)) {
		*ret = f;
		return true;
	}
	file_close(&f);
	return false;
}

static bool by_build_id(const struct symbols_query *q, uint32_t pid, const uint8_t *id, size_t len,
			struct source_file *ret)
{
	char path[PATH_MAX], hex[2 * BUILD_ID_ROOM + 1];
	struct debug_place where[2];
	size_t n = places(q, pid, where);

	if (len < 2)
		return false;
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", where[i].dir, hex,
			 hex + 2);
		if (try_build_id(path, where[i].pid, id, len, ret))
			return true;
	}
	return false;
}

static bool crc_is(int fd, uint64_t size, uint32_t want)
{
	uint8_t piece[64 << 10];
	uLong crc = crc32(0, NULL, 0);
	uint64_t at = 0;

	while (at < size && size <= CRC_BYTES_MAX) {
		ssize_t n = pread(fd, piece, sizeof(piece), (off_t)at);

		if (n <= 0)
			return false;
		crc = crc32(crc, piece, (uInt)n);
		at += (uint64_t)n;
	}
	return at == size && crc == want;
}

/* The debug file's build id must match; if it has none, its CRC is enough. */
static bool try_crc(const char *path, const struct source_file *main, uint32_t pid, uint32_t crc,
		    struct source_file *ret)
{
	uint8_t ours[BUILD_ID_ROOM], its[BUILD_ID_ROOM];
	int n = elf_build_id(main->elf, ours, sizeof(ours)), m;
	struct source_file f;

	if (file_open_elf(path, pid, &f))
		return false;
	m = elf_build_id(f.elf, its, sizeof(its));
	if ((n <= 0 || m <= 0 || (n == m && !memcmp(ours, its, (size_t)n))) &&
	    crc_is(f.fd, f.elf->size, crc)) {
		*ret = f;
		return true;
	}
	file_close(&f);
	return false;
}

/* The content of a small section. */
static int read_link(const struct source_file *f, const char *name, struct buf *ret)
{
	const struct elf_section *s = elf_section(f->elf, name);

	if (!s || s->size > LINK_BYTES_MAX)
		return -ENODATA;
	return elf_read_section(f->elf, s, ret);
}

static size_t dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool beside(const struct symbols_query *q, const struct source_file *main, const char *name,
		   uint32_t crc, struct source_file *ret)
{
	struct debug_place where[2];
	size_t n = places(q, main->pid, where);
	int dir = (int)dir_len(main->path);
	char path[8192];

	snprintf(path, sizeof(path), "%.*s/%s", dir, main->path, name);
	if (strcmp(path, main->path) && try_crc(path, main, main->pid, crc, ret))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", dir, main->path, name);
	if (try_crc(path, main, main->pid, crc, ret))
		return true;
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s", where[i].dir, dir, main->path, name);
		debug_tidy(path);
		if (is_below(path, where[i].dir, strlen(where[i].dir)) &&
		    try_crc(path, main, where[i].pid, crc, ret))
			return true;
	}
	return false;
}

/* The name, zeros up to a multiple of four, the CRC. */
static bool by_debuglink(const struct symbols_query *q, const struct source_file *main,
			 struct source_file *ret)
{
	struct buf b;
	struct cursor c;
	const char *name;
	bool found = false;
	uint32_t crc;

	if (read_link(main, ".gnu_debuglink", &b))
		return false;
	name = (const char *)b.p; /* elf_read() puts a zero after it */
	c = cur_init(b.p, b.len);
	cur_seek(&c, (strlen(name) + 4) & ~(size_t)3);
	crc = cur_u32(&c);
	if (cur_ok(&c) && *name && !strchr(name, '/') && strcmp(name, ".."))
		found = beside(q, main, name, crc, ret);
	buf_done(&b);
	return found;
}

static bool by_server(const struct symbols_query *q, const uint8_t *id, size_t len,
		      struct source_file *ret)
{
	struct source_file f = {.pid = 0};

	if (debuginfod_fetch(id, len, q->until_ns, &f.fd))
		return false;
	if (!elf_open_fd(f.fd, &f.elf) && !file_check_build_id(f.elf, id, len)) {
		*ret = f;
		return true;
	}
	file_close(&f);
	return false;
}

/* Tries a name from `from`, below the root of a process or ours. */
static bool try_alt(const struct symbols_query *q, const struct source_file *from, char *path,
		    uint32_t pid, const uint8_t *id, size_t len, struct source_file *ret)
{
	const char *dir = q->debug_dir ? q->debug_dir : DEBUG_DIR;

	if (!pid && !is_below(path, dir, strlen(dir)) &&
	    (from->pid || !is_below(path, from->path, dir_len(from->path))))
		return false;
	return try_build_id(path, pid, id, len, ret);
}

/* The path, a zero, the build id. A relative path begins where the file that names it is. */
static void find_alt(const struct symbols_query *q, const struct source_file *from,
		     struct source_file *ret)
{
	struct buf b;
	const uint8_t *id;
	const char *name;
	char path[8192];
	size_t n, len;

	if (read_link(from, ".gnu_debugaltlink", &b))
		return;
	name = (const char *)b.p;
	n = strlen(name) + 1;
	len = n < b.len ? b.len - n : 0;
	id = b.p + n;
	if (len >= 2 && len <= BUILD_ID_ROOM && !by_build_id(q, from->pid, id, len, ret)) {
		snprintf(path, sizeof(path), "%.*s%s%s",
			 *name == '/' ? 0 : (int)dir_len(from->path), from->path,
			 *name == '/' ? "" : "/", name);
		debug_tidy(path);
		if (!try_alt(q, from, path, from->pid, id, len, ret) && from->pid)
			(void)try_alt(q, from, path, 0, id, len, ret);
	}
	buf_done(&b);
}

void files_find_debug(const struct symbols_query *q, struct files *f)
{
	uint8_t id[BUILD_ID_ROOM];
	int n = elf_build_id(f->main.elf, id, sizeof(id));
	size_t len = n > 0 ? (size_t)n : 0;

	if (!f->has_dwarf) {
		bool found = by_build_id(q, f->main.pid, id, len, &f->debug) ||
			     by_debuglink(q, &f->main, &f->debug) ||
			     (len && by_server(q, id, len, &f->debug));

		f->has_dwarf = found && file_has_dwarf(&f->debug);
	}
	if (f->has_dwarf)
		find_alt(q, f->debug.fd >= 0 ? &f->debug : &f->main, &f->alt);
}
