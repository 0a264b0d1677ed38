// SPDX-License-Identifier: MIT
/*
 * Go's pclntab (runtime/symtab.go, cmd/link/internal/ld/pcln.go):
 *
 *   header     magic 4, 0 0, quantum 1, bytes of a pointer 1; words of 8 bytes: functions, files,
 *              where the code begins, and counted from the header: names, units, files, rows,
 *              functions
 *   functions  4 + 4 bytes each: start (from the code's), its record (from here); one more start
 *              for the end
 *   record     4 bytes each: start, name, arguments, deferreturn, rows of the stack pointer, ...;
 *              the flags
 *   rows       two numbers each: by how much the depth changes, zigzag, and for how many bytes of
 *              code it holds; depth 0 ends them
 *
 * Go marks functions where a walk ends, and is whole, by TOPFRAME: goexit, below which every
 * goroutine begins, mstart, rt0_go. It marks those that change stacks in their middle by SPWRITE;
 * their rows do not show that. Those that return have a frame pointer, which leads back to the
 * caller's stack. mcall does not return: its caller may go on elsewhere.
 */
#include "unwind/golang.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "base/err.h"
#include "base/search.h"
#include "elf/cfi.h"

#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u
#define FUNCTIONS_MAX (1u << 21)

enum { FLAG_TOPFRAME = 1, FLAG_SPWRITE = 2 };
/* In a function's record. */
enum { AT_NAME = 4, AT_ROWS = 16, AT_FLAGS_118 = 37, AT_FLAGS_120 = 41 };

/* ---- where it is ---- */

struct wanted_symbols {
	uint64_t pclntab, epclntab, text;
};

static void find_symbols(const struct elf *e, struct wanted_symbols *ret)
{
	struct elf_symtab t;
	struct elf_symbol s;

	*ret = (struct wanted_symbols){0};
	if (elf_symtab_open(e, SHT_SYMTAB, &t))
		return;
	while (elf_symtab_next(&t, &s)) {
		const char *name = (const char *)t.strings.p + s.name;

		if (strncmp(name, "runtime.", 8))
			continue;
		if (!strcmp(name, "runtime.pclntab"))
			ret->pclntab = s.value;
		else if (!strcmp(name, "runtime.epclntab"))
			ret->epclntab = s.value;
		else if (!strcmp(name, "runtime.text"))
			ret->text = s.value;
	}
	elf_symtab_done(&t);
}

/* Other linkers than Go's may put the table into a section with other things: use its symbols. */
static int read_table(const struct elf *e, const struct wanted_symbols *s, struct buf *ret)
{
	const struct elf_section *section = elf_section(e, ".gopclntab");
	uint64_t offset;

	if (!section)
		section = elf_section(e, ".data.rel.ro.gopclntab");
	if (section)
		return elf_read_section(e, section, ret);
	if (!s->pclntab || s->epclntab <= s->pclntab ||
	    !elf_vaddr_to_offset(e, s->pclntab, &offset))
		return err_set(-ENODATA, "no Go program");
	return elf_read(e, offset, s->epclntab - s->pclntab, ELF_PIECE_MAX, ret);
}

/* A word of the table; sets *ok to false outside of it. */
static uint32_t golang_word_at(const struct golang *g, uint64_t at, bool *ok)
{
	uint32_t val = 0;

	if (at > g->bytes.len || g->bytes.len - at < sizeof(val))
		*ok = false;
	else
		memcpy(&val, g->bytes.p + at, sizeof(val));
	return val;
}

static uint64_t function_at(const struct golang *g, size_t i, bool *ok)
{
	return g->text + golang_word_at(g, g->functions + 8ull * i, ok);
}

static bool begins_function(const struct golang *g, uint64_t vaddr)
{
	bool ok = true;
	size_t at = SEARCH(0, g->n, i, ok && function_at(g, i, &ok) < vaddr);

	return at < g->n && function_at(g, at, &ok) == vaddr && ok;
}

/*
 * The header says where the code begins, unless the loader has yet to write that. Then the symbol
 * says it, or the code's section, if the entry point is the beginning of a function.
 */
static bool find_text(struct golang *g, const struct elf *e, const struct wanted_symbols *s)
{
	const struct elf_section *section = elf_section(e, ".text");
	uint64_t begin, end, entry;

	if (!elf_text_range(e, &begin, &end))
		return false;
	if (g->text >= begin && g->text < end)
		return true;
	g->text = s->text;
	if (g->text >= begin && g->text < end)
		return true;
	g->text = section ? section->addr : 0;
	return section && cfi_entry_point(e, &entry) && begins_function(g, entry);
}

static bool read_header(struct golang *g)
{
	struct cursor c = cur_init(g->bytes.p, g->bytes.len);
	uint32_t magic = cur_u32(&c), odds = cur_u32(&c);
	uint64_t n = cur_u64(&c);

	(void)cur_u64(&c); /* files */
	g->text = cur_u64(&c);
	g->names = cur_u64(&c);
	(void)cur_u64(&c); /* units */
	(void)cur_u64(&c); /* files again */
	g->rows = cur_u64(&c);
	g->functions = cur_u64(&c);
	g->n = (uint32_t)n;
	g->flags_at = magic == MAGIC_118 ? AT_FLAGS_118 : AT_FLAGS_120;
	return cur_ok(&c) && (magic == MAGIC_118 || magic == MAGIC_120) &&
	       odds == (ARCH_GO_POINTER << 24 | ARCH_GO_QUANTUM << 16) && n && n < FUNCTIONS_MAX &&
	       g->names < g->bytes.len && g->rows < g->bytes.len && g->functions < g->bytes.len;
}

int golang_open(const struct elf *e, struct golang *ret)
{
	struct wanted_symbols symbols = {0};
	struct golang g = {0};
	int rc;

	if (!elf_section(e, ".go.buildinfo") && !elf_section(e, ".gopclntab"))
		return err_set(-ENODATA, "no Go program");
	find_symbols(e, &symbols);
	rc = read_table(e, &symbols, &g.bytes);
	if (rc)
		return rc;
	if (!read_header(&g) || !find_text(&g, e, &symbols)) {
		golang_done(&g);
		return err_set(-ENODATA, "a Go program of a version that is not known");
	}
	*ret = g;
	return 0;
}

void golang_done(struct golang *g)
{
	buf_done(&g->bytes);
}

/* ---- functions ---- */

/* Some names end in the calling convention. */
static bool is_named(const struct golang *g, uint64_t record, const char *name)
{
	bool ok = true;
	uint64_t at = g->names + golang_word_at(g, record + AT_NAME, &ok);
	size_t len = strlen(name);
	const char *p;

	if (!ok || at >= g->bytes.len || g->bytes.len - at < len + sizeof(".abi0"))
		return false;
	p = (const char *)g->bytes.p + at;
	return !memcmp(p, name, len) && (!p[len] || !memcmp(p + len, ".abi0", sizeof(".abi0")));
}

/* push %rbp; mov %rsp, %rbp; or, before 1.21, mov %rbp, n(%rsp); lea n(%rsp), %rbp after a sub. */
static bool makes_frame(const struct elf *e, uint64_t begin, uint64_t end)
{
	uint64_t offset, size = end - begin < 32 ? end - begin : 32;
	struct buf code = {0};
	bool yes = false;

	if (!elf_vaddr_to_offset(e, begin, &offset) || elf_read(e, offset, size, size, &code))
		return false;
	for (size_t i = 0; i + 10 <= size && !yes; i++) {
		const uint8_t *p = code.p + i;

		yes = !memcmp(p, "\x55\x48\x89\xe5", 4) ||
		      (!memcmp(p, "\x48\x89\x6c\x24", 4) && !memcmp(p + 5, "\x48\x8d\x6c\x24", 4) &&
		       p[4] == p[9]);
	}
	buf_done(&code);
	return yes;
}

static enum golang_kind kind_of(const struct golang *g, const struct elf *e, uint64_t record,
				const struct golang_function *f)
{
	uint32_t flags = g->bytes.p[record + g->flags_at];

	/* The kernel has called it: the interrupted code follows its caller. */
	if (is_named(g, record, "runtime.sigtramp"))
		return GOLANG_PLAIN;
	if (flags & FLAG_TOPFRAME || is_named(g, record, "runtime.mcall"))
		return GOLANG_END;
	if (!(flags & FLAG_SPWRITE))
		return GOLANG_PLAIN;
	/*
	 * Before 1.21 these two have no frame of their own, but their caller's frame pointer. The
	 * stack then lacks that caller.
	 */
	if (makes_frame(e, f->begin, f->end) || is_named(g, record, "runtime.systemstack") ||
	    is_named(g, record, "runtime.asmcgocall"))
		return GOLANG_OTHER;
	return GOLANG_END;
}

bool golang_function(const struct golang *g, const struct elf *e, uint32_t i,
		     struct golang_function *ret)
{
	uint64_t at = g->functions + 8ull * i, record;
	bool ok = true;
	struct golang_function f = {.begin = g->text + golang_word_at(g, at, &ok),
				    .end = g->text + golang_word_at(g, at + 8, &ok)};

	record = g->functions + golang_word_at(g, at + 4, &ok);
	f.rows = golang_word_at(g, record + AT_ROWS, &ok);
	if (!ok || record + g->flags_at >= g->bytes.len || f.end <= f.begin)
		return false;
	f.kind = kind_of(g, e, record, &f);
	*ret = f;
	return true;
}

/* ---- rows ---- */

static uint32_t varint(struct cursor *c)
{
	uint32_t val = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b = cur_u8(c);

		val |= (uint32_t)(b & 0x7f) << (shift & 31);
		if (!(b & 0x80))
			return val;
	}
	c->bad = true;
	return 0;
}

void golang_rows_init(const struct golang *g, uint64_t begin, uint32_t rows,
		      struct golang_rows *ret)
{
	struct cursor c = cur_init(g->bytes.p, g->bytes.len);

	/* Offset 0 stands for a function without rows. */
	cur_seek(&c, rows ? g->rows + rows : g->bytes.len);
	*ret = (struct golang_rows){.cur = c, .end = begin, .depth = -1, .first = true};
}

bool golang_rows_next(struct golang_rows *r)
{
	uint32_t up = varint(&r->cur), by;

	if (!cur_ok(&r->cur) || (!up && !r->first))
		return false;
	by = varint(&r->cur);
	if (!cur_ok(&r->cur) || !by)
		return false;
	r->first = false;
	r->depth += (int32_t)(-(up & 1) ^ (up >> 1));
	r->end += by;
	return true;
}
