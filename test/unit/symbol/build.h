/* SPDX-License-Identifier: MIT */
/* Programs that a test builds with the compiler at hand, in a folder of its own. */
#ifndef THAW_TEST_BUILD_H
#define THAW_TEST_BUILD_H

#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"
#include "symbol/symbol.h"

static char build_dir[] = "/tmp/thaw-names-XXXXXX";

static inline const char *in_build(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", build_dir, name);
	return p;
}

/* Runs a shell command in the folder; true if it succeeds. */
static inline bool sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline bool sh(const char *fmt, ...)
{
	char command[2048], tail[1536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tail, sizeof(tail), fmt, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "cd %s && { %s; } >log 2>&1", build_dir, tail);
	return system(command) == 0;
}

static inline bool tools(const char *names)
{
	return sh("for t in %s; do command -v $t; done", names) &&
	       sh("for t in %s; do command -v $t || exit 1; done", names);
}

static inline void write_text(const char *name, const char *text)
{
	FILE *f = fopen(in_build(name), "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static inline struct elf *open_built(const char *name, int *ret_fd)
{
	struct elf *e = NULL;

	*ret_fd = open(in_build(name), O_RDONLY | O_CLOEXEC);
	if (elf_open_fd(*ret_fd, &e))
		abort();
	return e;
}

/* The file offset of a symbol of .symtab. */
static inline uint64_t offset_of(const char *name, const char *symbol)
{
	uint64_t offset = UINT64_MAX;
	struct elf_symbol sym;
	struct elf_symtab t;
	int fd;
	struct elf *e = open_built(name, &fd);

	if (elf_symtab_open(e, SHT_SYMTAB, &t))
		abort();
	while (elf_symtab_next(&t, &sym))
		if (sym.section != SHN_UNDEF &&
		    !strcmp((const char *)t.strings.p + sym.name, symbol))
			(void)elf_vaddr_to_offset(e, sym.value, &offset);
	elf_symtab_done(&t);
	elf_free(e);
	close(fd);
	return offset;
}

static inline int build_id_of(const char *name, uint8_t *id, size_t room)
{
	int fd, n;
	struct elf *e = open_built(name, &fd);

	n = elf_build_id(e, id, room);
	elf_free(e);
	close(fd);
	return n;
}

/* Answers as text: "name file:line" a frame, " < " between them, "-" for none. */
struct said {
	char (*text)[1024];
	size_t n;
};

static inline void say(void *ctx, size_t first, size_t count, const struct symbols_frame *f,
		       size_t n)
{
	struct said *s = ctx;

	for (size_t i = first; i < first + count && i < s->n; i++) {
		size_t len = 0;

		for (size_t k = 0; k < n && len < sizeof(s->text[0]); k++) {
			const char *slash = f[k].file ? strrchr(f[k].file, '/') : NULL;

			len += (size_t)snprintf(s->text[i] + len, sizeof(s->text[0]) - len, "%s%s",
						k ? " < " : "", f[k].name);
			if (f[k].file && len < sizeof(s->text[0]))
				len += (size_t)snprintf(s->text[i] + len, sizeof(s->text[0]) - len,
							" %s:%u", slash ? slash + 1 : f[k].file,
							f[k].line);
			if (f[k].inlined != (k + 1 < n))
				abort();
		}
	}
}

/* One offset of a built file. */
static inline int ask_one(struct symbols_query q, uint64_t offset, char text[1024])
{
	struct said s = {.text = (char(*)[1024])text, .n = 1};

	q.offsets = &offset;
	q.n = 1;
	strcpy(text, "-");
	return symbols_resolve(&q, say, &s);
}

static inline int build_begin(void **state)
{
	return mkdtemp(build_dir) ? 0 : -1;
}

static inline int build_end(void **state)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s", build_dir);
	return system(command);
}

#endif
