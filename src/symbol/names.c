// SPDX-License-Identifier: MIT
/*
 * Which name. Inlined functions have only the one in the debug information. The function around
 * them often has several: libc's malloc is __libc_malloc in the debug information and malloc in the
 * symbol table. A name with a language's mangling is taken from the debug information; otherwise
 * the one that is exported, if there is one: that is what the source of the caller says, and it is
 * the same whether debug information is installed or not. What the compiler derived (name.part.0)
 * is local, so that the debug information's "name" wins there.
 *
 * Neighbouring offsets mostly have the same answer. Each answer knows how far it holds, and is
 * written once for all offsets up to there.
 */
#include "symbol/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "symbol/answer.h"
#include "symbol/demangle.h"
#include "symbol/dwarf.h"
#include "symbol/sandbox.h"
#include "symbol/table.h"

struct symbol_names {
	const struct names_job *job;
	struct elf *elf, *debug; /* read piece by piece */
	struct symbols *symbols;
	struct dwarf_info *dwarf; /* NULL: none */
	struct map by_die;	  /* key of a DIE -> number of its name */
	struct map by_symbol;	  /* index of a symbol -> number of its name */
	size_t symbol_hint;
	uint64_t segment_begin, segment_end; /* answers do not reach beyond */
	uint64_t segment_delta;		     /* added to an offset, gives its address */
	bool segment_mapped;
	struct answer answer;
};

static uint32_t names_put_name(struct symbol_names *n, const char *raw)
{
	char *name;
	uint32_t number;

	if (!raw || !*raw)
		return 0;
	name = demangle(raw);
	number = answer_string(&n->answer, name);
	free(name);
	return number;
}

static uint32_t symbol_name(struct symbol_names *n, const struct table_sym *sym)
{
	bool fresh;
	uint64_t *slot = map_put(&n->by_symbol, (uint64_t)(sym - n->symbols->syms.v), &fresh);

	if (fresh)
		*slot = names_put_name(n, table_name(n->symbols, sym));
	return (uint32_t)*slot;
}

static uint32_t file_name(struct symbol_names *n, struct dwarf_unit *u, uint32_t file)
{
	char path[TABLE_NAME_MAX];

	if (file >= u->lines.files.n)
		return 0;
	if (!u->files[file] && dw_lines_path(&u->lines, file, path, sizeof(path)))
		u->files[file] = answer_string(&n->answer, path);
	return u->files[file];
}

/* The symbol of the function that begins at this address, if it says more than the DWARF name. */
static const struct table_sym *better_name(const struct symbol_names *n, uint64_t address)
{
	const struct table_sym *sym;
	uint64_t offset;

	if (!n->symbols || !elf_vaddr_to_offset(n->elf, address, &offset))
		return NULL;
	sym = table_find(n->symbols, offset, NULL);
	if (!sym || sym->begin != offset || !sym->is_func)
		return NULL;
	return sym->exported || demangle_can(table_name(n->symbols, sym)) ? sym : NULL;
}

static uint32_t find_node_name(struct symbol_names *n, const struct dwarf_unit *u,
			       const struct dwarf_node *node)
{
	bool whole = node->parent == DWARF_NO_NODE, fresh;
	const struct table_sym *sym;
	const char *name;
	uint64_t *slot;

	/* A function may have another name than its inlined copies. */
	if (whole) {
		name = dwarf_name(u, node);
		sym = name && !demangle_can(name) ? better_name(n, node->entry) : NULL;
		return sym ? symbol_name(n, sym) : names_put_name(n, name);
	}
	slot = map_put(&n->by_die, (uintptr_t)dwarf_name_key(u, node), &fresh);
	if (fresh)
		*slot = names_put_name(n, dwarf_name(u, node));
	return (uint32_t)*slot;
}

static uint32_t node_name(struct symbol_names *n, const struct dwarf_unit *u,
			  struct dwarf_node *node)
{
	if (!node->named)
		node->name = find_node_name(n, u, node);
	node->named = true;
	return node->name;
}

/* Innermost first; the line of a frame is where the one before it was called. */
static size_t frames_of(struct symbol_names *n, const struct dwarf_place *p,
			struct answer_frame *out)
{
	uint32_t file = p->row ? file_name(n, p->unit, p->row->file) : 0;
	uint32_t line = p->row ? p->row->line : 0;
	size_t count = 0;

	for (uint32_t id = p->node; id != DWARF_NO_NODE && count < SYMBOLS_FRAMES_MAX;) {
		struct dwarf_node *node = &p->unit->nodes.v[id];
		uint32_t name = node_name(n, p->unit, node);

		if (name)
			out[count++] = (struct answer_frame){name, file, line};
		file = file_name(n, p->unit, node->call_file);
		line = node->call_line;
		id = node->parent;
	}
	return count;
}

/* No answer holds across the border of a segment, where addresses may jump. */
static void enter_segment(struct symbol_names *n, uint64_t offset)
{
	const struct elf *e = n->elf;
	uint64_t address = 0;

	if (offset >= n->segment_begin && offset < n->segment_end)
		return;
	n->segment_begin = offset;
	n->segment_end = UINT64_MAX;
	for (size_t i = 0; i < e->n_segments; i++) {
		uint64_t begin = e->segments[i].offset, end = begin + e->segments[i].filesz;

		if (begin > offset && begin < n->segment_end)
			n->segment_end = begin;
		if (end > offset && end < n->segment_end)
			n->segment_end = end;
	}
	n->segment_mapped = elf_offset_to_vaddr(e, offset, &address);
	n->segment_delta = address - offset;
}

/* Fills the frames of one offset; *end is the first offset that may have others. */
static size_t look_up(struct symbol_names *n, uint64_t offset, struct answer_frame *out,
		      uint64_t *end)
{
	const struct table_sym *sym = NULL;
	struct dwarf_place place = {.node = DWARF_NO_NODE, .end = UINT64_MAX};
	size_t count = 0;

	enter_segment(n, offset);
	*end = UINT64_MAX;
	if (n->symbols)
		sym = table_find_from(n->symbols, &n->symbol_hint, offset, end);
	*end = n->segment_end < *end ? n->segment_end : *end;
	if (n->dwarf && n->segment_mapped) {
		uint64_t address = offset + n->segment_delta;

		if (dwarf_find(n->dwarf, address, &place))
			count = frames_of(n, &place, out);
		if (place.end - address < *end - offset)
			*end = offset + (place.end - address);
	}
	if (count || !sym)
		return count;
	out[0] = (struct answer_frame){.name = symbol_name(n, sym)};
	if (place.row) {
		out[0].file = file_name(n, place.unit, place.row->file);
		out[0].line = place.row->line;
	}
	return out[0].name ? 1 : 0;
}

static void answer_all(struct symbol_names *n)
{
	const struct names_job *job = n->job;
	struct answer_frame frames[SYMBOLS_FRAMES_MAX];

	for (size_t i = 0, next; i < job->n; i = next) {
		uint64_t end;
		size_t count = look_up(n, job->offsets[i], frames, &end);

		for (next = i + 1; next < job->n; next++)
			if (job->offsets[next] < job->offsets[i] || job->offsets[next] >= end)
				break;
		if (count)
			answer_run(&n->answer, i, next - i, frames, count);
	}
}

struct elf *names_map(int fd)
{
	struct elf *e = NULL;
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return NULL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED || elf_open_bytes(p, (size_t)st.st_size, &e))
		return NULL;
	return e;
}

int names_work(void *ctx)
{
	const struct names_job *job = ctx;
	struct symbol_names n = {.job = job};
	struct elf *dwarf = NULL;
	int rc = elf_open_fd(job->main, &n.elf);

	if (rc)
		return rc;
	if (job->debug >= 0)
		(void)elf_open_fd(job->debug, &n.debug);
	(void)table_load(n.elf, n.debug, &n.symbols);
	if (job->dwarf)
		dwarf = names_map(job->debug >= 0 ? job->debug : job->main);
	if (dwarf)
		(void)dwarf_open(dwarf, names_map(job->alt), &n.dwarf);
	answer_init(&n.answer, SANDBOX_ANSWER);
	answer_all(&n);
	if (n.dwarf && dwarf_failed(n.dwarf))
		return -EBADMSG;
	/* The process ends here, and its memory with it. */
	return answer_end(&n.answer);
}
