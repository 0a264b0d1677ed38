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

#include "base/err.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "symbol/answer.h"
#include "symbol/demangle.h"
#include "symbol/dwarf.h"
#include "symbol/sandbox.h"
#include "symbol/table.h"

struct names {
	const struct names_job *job;
	struct elf *elf, *debug;
	struct symbols *symbols;
	struct dwarf_info *dwarf; /* NULL: none */
	struct map by_die;	  /* key of a DIE -> number of its name */
	struct map by_symbol;	  /* index of a symbol -> number of its name */
	struct map by_file;	  /* address of a file's name -> number */
	const char *last_file;	  /* most files are asked for many times in a row */
	uint32_t last_file_number;
	uint64_t segment_begin, segment_end; /* answers do not reach beyond */
	struct answer answer;
};

static uint32_t put_name(struct names *n, const char *raw)
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

static uint32_t symbol_name(struct names *n, const struct table_sym *sym)
{
	bool fresh;
	uint64_t *slot = map_put(&n->by_symbol, (uint64_t)(sym - n->symbols->syms.v), &fresh);

	if (fresh)
		*slot = put_name(n, table_name(n->symbols, sym));
	return (uint32_t)*slot;
}

/* A relative name begins where the compiler ran, if that is known. */
static uint32_t put_file(struct names *n, const struct dwarf_unit *u, const char *file)
{
	const char *dir = *file == '/' ? NULL : dwarf_unit_dir(u);
	char path[TABLE_NAME_MAX];

	if (!dir || *dir != '/')
		return answer_string(&n->answer, file);
	while (!strncmp(file, "./", 2))
		file += 2;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return answer_string(&n->answer, path);
}

static uint32_t file_name(struct names *n, const struct dwarf_unit *u, const char *file)
{
	bool fresh;
	uint64_t *slot;

	if (!file)
		return 0;
	if (file == n->last_file)
		return n->last_file_number;
	slot = map_put(&n->by_file, (uintptr_t)file, &fresh);
	if (fresh)
		*slot = put_file(n, u, file);
	n->last_file = file;
	n->last_file_number = (uint32_t)*slot;
	return n->last_file_number;
}

/* The symbol of a function whose code begins at this address, if it says more than the DWARF name.
 */
static const struct table_sym *better_name(const struct names *n, uint64_t address)
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

static uint32_t find_node_name(struct names *n, struct dwarf_node *node)
{
	bool whole = node->parent == DWARF_NO_NODE, fresh;
	/* A function that stands on its own may be called otherwise than its inlined copies. */
	uintptr_t key = (uintptr_t)(whole ? node->die.addr : dwarf_name_key(&node->die));
	uint64_t *slot = map_put(&n->by_die, key, &fresh);
	const struct table_sym *sym;
	const char *name;
	uint32_t number;

	if (!fresh)
		return (uint32_t)*slot;
	name = dwarf_name(&node->die);
	sym = whole && name && !demangle_can(name) ? better_name(n, node->entry) : NULL;
	number = sym ? symbol_name(n, sym) : put_name(n, name);
	*slot = number;
	return number;
}

static uint32_t node_name(struct names *n, struct dwarf_node *node)
{
	if (!node->named)
		node->name = find_node_name(n, node);
	node->named = true;
	return node->name;
}

/* Innermost first; the line of a frame is where the one before it was called. */
static size_t frames_of(struct names *n, const struct dwarf_place *p, struct answer_frame *out)
{
	uint32_t file = p->row ? file_name(n, p->unit, p->row->file) : 0,
		 line = p->row ? p->row->line : 0;
	size_t count = 0;

	for (uint32_t id = p->node; id != DWARF_NO_NODE && count < SYMBOLS_FRAMES_MAX;) {
		struct dwarf_node *node = &p->unit->nodes.v[id];
		uint32_t name = node_name(n, node);

		if (name)
			out[count++] = (struct answer_frame){name, file, line};
		file = file_name(n, p->unit, node->call_file);
		line = node->call_line;
		id = node->parent;
	}
	return count;
}

/* No answer holds across the border of a segment: addresses may make a jump there. */
static uint64_t segment_border(struct names *n, uint64_t offset)
{
	const struct elf *e = n->elf;

	if (offset >= n->segment_begin && offset < n->segment_end)
		return n->segment_end;
	n->segment_begin = offset;
	n->segment_end = UINT64_MAX;
	for (size_t i = 0; i < e->n_segments; i++) {
		uint64_t begin = e->segments[i].offset, end = begin + e->segments[i].filesz;

		if (begin > offset && begin < n->segment_end)
			n->segment_end = begin;
		if (end > offset && end < n->segment_end)
			n->segment_end = end;
	}
	return n->segment_end;
}

/* Fills the frames of one offset; *end is the first offset that may have others. */
static size_t look_up(struct names *n, uint64_t offset, struct answer_frame *out, uint64_t *end)
{
	const struct table_sym *sym = NULL;
	struct dwarf_place place = {.node = DWARF_NO_NODE, .end = UINT64_MAX};
	uint64_t address, border = segment_border(n, offset);
	size_t count = 0;

	*end = UINT64_MAX;
	if (n->symbols)
		sym = table_find(n->symbols, offset, end);
	*end = border < *end ? border : *end;
	if (n->dwarf && elf_offset_to_vaddr(n->elf, offset, &address)) {
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

static void answer_all(struct names *n)
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

int names_work(void *ctx)
{
	const struct names_job *job = ctx;
	struct names n = {.job = job};
	int rc = elf_open_fd(job->main, &n.elf);

	if (rc)
		return rc;
	if (job->debug >= 0)
		(void)elf_open_fd(job->debug, &n.debug);
	(void)table_load(n.elf, n.debug, &n.symbols);
	if (job->dwarf)
		(void)dwarf_open(job->debug >= 0 ? job->debug : job->main, job->alt, &n.dwarf);
	answer_init(&n.answer, SANDBOX_ANSWER);
	answer_all(&n);
	/* The process ends here, and its memory with it. */
	return answer_end(&n.answer);
}
