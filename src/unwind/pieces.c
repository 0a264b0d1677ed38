// SPDX-License-Identifier: MIT
/*
 * Finding the pieces. Sections may describe the same code twice, and hostile ones will:
 *
 *   - of two FDEs of a section, the one that begins first holds its range; the other gets what is
 *     left after it. Of two that begin together, the one that comes first in the section.
 *   - an FDE of .debug_frame begins after what .eh_frame covers and ends where .eh_frame covers
 *     code again.
 *
 * A piece is never cut in two, so each program runs once.
 *
 * We know two things better than the sections. The return from a signal handler goes to a stub of
 * two instructions, whose description is missing or wrong in some C libraries; we recognise it by
 * its bytes. The entry point of a program has no caller, but not every C library says so.
 */
#include "unwind/pieces.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sort.h"
#include "unwind/table.h"

#define ENTRY_SIZE 64u
#define SIGRETURN_MAX 16u
#define SIGRETURN_ALIGNED_MAX 64u
#define WINDOW (64u << 10)
#define BLOCK_OF_FIRST 0x10000ull

/* A window on the code, moved along as addresses are asked for in order. */
struct code_text {
	const struct elf *elf;
	struct buf window;
	uint64_t vaddr;
};

static const uint8_t *text_at(struct code_text *t, uint64_t vaddr, size_t n)
{
	uint64_t offset, size;

	if (t->window.p && vaddr >= t->vaddr && vaddr - t->vaddr <= t->window.len &&
	    n <= t->window.len - (vaddr - t->vaddr))
		return t->window.p + (vaddr - t->vaddr);
	if (!elf_vaddr_to_offset(t->elf, vaddr, &offset))
		return NULL;
	buf_done(&t->window);
	size = t->elf->size - offset;
	if (elf_read(t->elf, offset, size < WINDOW ? size : WINDOW, WINDOW, &t->window))
		return NULL;
	t->vaddr = vaddr;
	return n <= t->window.len ? t->window.p : NULL;
}

/* mov $15, %rax; syscall. Some describe it from a byte earlier, for lookups of return addresses. */
static bool is_sigreturn(struct code_text *t, uint64_t begin, uint64_t end, uint64_t max)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	const uint8_t *p;

	if (end - begin < sizeof(code) || end - begin > max)
		return false;
	p = text_at(t, begin, sizeof(code) + 1);
	return p && (!memcmp(p, code, sizeof(code)) || !memcmp(p + 1, code, sizeof(code)));
}

static int by_place(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if ((x->kind == PIECE_DEBUG) != (y->kind == PIECE_DEBUG))
		return x->kind == PIECE_DEBUG ? 1 : -1;
	return x->program < y->program ? -1 : x->program > y->program;
}

static int unwind_pieces_collect(struct pieces *p, enum piece_kind kind, uint64_t text_begin,
				 uint64_t text_end)
{
	struct cfi *c = &p->cfi[kind];
	struct cfi_fde fde;

	while (cfi_next(c, &fde)) {
		/* The linker leaves the FDEs of dropped functions at 0, or out of range. */
		if (!fde.begin || fde.begin < text_begin || fde.begin >= text_end)
			continue;
		if (p->list.n == UNWIND_PIECES_MAX)
			return err_set(-EFBIG, "more than %u functions", UNWIND_PIECES_MAX);
		if (fde.end > text_end)
			fde.end = text_end;
		vec_push(&p->list, (struct piece){
					   .begin = (uint32_t)(fde.begin - p->first),
					   .end = (uint32_t)(fde.end - p->first),
					   .kind = kind,
					   .cie = (uint32_t)(fde.cie - c->cies),
					   .program = fde.program,
					   .program_len = fde.program_len,
					   .fde_begin = (uint32_t)(fde.begin - p->first),
					   .fde_end = (uint32_t)(fde.end - p->first),
				   });
	}
	return 0;
}

/* Go's own table knows more than its compiler's debug information: where stacks end. */
static int collect_go(struct pieces *p, const struct elf *e, uint64_t text_begin, uint64_t text_end)
{
	static const uint32_t kinds[] = {[GOLANG_PLAIN] = PIECE_GO,
					 [GOLANG_END] = PIECE_ENTRY,
					 [GOLANG_OTHER] = PIECE_GO_OTHER};
	struct golang_function f;

	for (uint32_t i = 0; i < p->golang.n; i++) {
		if (!golang_function(&p->golang, e, i, &f) || f.begin < text_begin ||
		    f.end > text_end)
			continue;
		if (p->list.n == UNWIND_PIECES_MAX)
			return err_set(-EFBIG, "more than %u functions", UNWIND_PIECES_MAX);
		vec_push(&p->list, (struct piece){.begin = (uint32_t)(f.begin - p->first),
						  .end = (uint32_t)(f.end - p->first),
						  .kind = kinds[f.kind],
						  .program = f.rows,
						  .fde_begin = (uint32_t)(f.begin - p->first)});
	}
	return 0;
}

static void pieces_sort(struct pieces *p)
{
	size_t n = p->list.n;

	/* Linkers mostly keep the order of the code. */
	for (size_t i = 1; i < n; i++)
		if (by_place(&p->list.v[i - 1], &p->list.v[i]) > 0) {
			sort_by(p->list.v, n, sizeof(*p->list.v), by_place);
			return;
		}
}

static void mark_signals(struct pieces *p, const struct elf *e)
{
	struct code_text text = {.elf = e};

	for (size_t i = 0; i < p->list.n; i++) {
		struct piece *x = &p->list.v[i];
		bool told = x->kind <= PIECE_DEBUG && p->cfi[x->kind].cies[x->cie].signal;
		/* Pieces of Go include alignment. */
		uint64_t max = x->kind == PIECE_GO ? SIGRETURN_ALIGNED_MAX : SIGRETURN_MAX;

		if (!told && !is_sigreturn(&text, p->first + x->begin, p->first + x->end, max))
			continue;
		x->kind = PIECE_SIGNAL;
		/* A lookup of a return address looks at the byte before it. */
		if (x->begin)
			x->begin--;
	}
	buf_done(&text.window);
}

/* Makes the sorted list disjoint, in place. */
static void pieces_resolve(struct pieces *p)
{
	uint32_t next_eh = UINT32_MAX, covered = 0;
	size_t kept = 0;

	for (size_t i = p->list.n; i-- > 0;) {
		struct piece *x = &p->list.v[i];

		if (x->kind != PIECE_DEBUG)
			next_eh = x->begin;
		else if (x->end > next_eh)
			x->end = next_eh;
	}
	for (size_t i = 0; i < p->list.n; i++) {
		struct piece x = p->list.v[i];

		/* The byte before a signal's stub belongs to it. */
		if (x.kind == PIECE_SIGNAL && kept && covered == x.begin + 1 &&
		    p->list.v[kept - 1].begin < x.begin)
			covered = p->list.v[kept - 1].end = x.begin;
		if (x.begin < covered)
			x.begin = covered;
		if (x.begin >= x.end)
			continue;
		covered = x.end;
		p->list.v[kept++] = x;
	}
	p->list.n = kept;
}

void pieces_rows(const struct pieces *p, const struct piece *x, struct cfi_rows *ret)
{
	const struct cfi *c = &p->cfi[x->kind];
	struct cfi_fde fde = {
		.begin = p->first + x->fde_begin,
		.end = p->first + x->fde_end,
		.cie = &c->cies[x->cie],
		.program = x->program,
		.program_len = x->program_len,
	};

	cfi_rows_init(ret, c, &fde);
}

/* How programs begin: with rbp cleared, as the ABI wants it, or with a look at their arguments. */
static bool begins_program(const uint8_t *code)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t starts[][4] = {
		{2, 0x31, 0xed},       /* xor %ebp, %ebp: glibc */
		{3, 0x48, 0x31, 0xed}, /* xor %rbp, %rbp: musl */
		{3, 0x48, 0x89, 0xe7}, /* mov %rsp, %rdi: glibc's ld.so */
	};

	if (!memcmp(code, endbr, sizeof(endbr)))
		code += sizeof(endbr);
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!memcmp(code, &starts[i][1], starts[i][0]))
			return true;
	return false;
}

/* Shared libraries have entry points too, mostly by accident. */
static bool is_program(const struct elf *e, uint64_t entry)
{
	struct code_text text = {.elf = e};
	const uint8_t *code;
	bool yes = e->type == ET_EXEC;

	for (size_t i = 0; i < e->n_segments; i++)
		yes |= e->segments[i].type == PT_INTERP;
	code = yes ? NULL : text_at(&text, entry, 8);
	yes |= code && begins_program(code);
	buf_done(&text.window);
	return yes;
}

static bool ends_at(const struct pieces *p, const struct piece *x, uint64_t vaddr)
{
	struct cfi_rows rows;
	struct cfi_row row;

	if (x->kind == PIECE_SIGNAL || x->kind == PIECE_ENTRY)
		return true;
	if (x->kind > PIECE_DEBUG)
		return false;
	pieces_rows(p, x, &rows);
	while (cfi_rows_next(&rows, &row))
		if (vaddr >= row.begin && vaddr < row.end)
			return row.rules.ra == CFI_WHERE_UNDEFINED;
	return false;
}

static void pieces_insert(struct pieces *p, size_t at, struct piece x)
{
	(void)vec_add(&p->list);
	memmove(&p->list.v[at + 1], &p->list.v[at], (p->list.n - 1 - at) * sizeof(x));
	p->list.v[at] = x;
}

static void mark_entry(struct pieces *p, const struct elf *e, uint64_t begin, uint64_t end)
{
	size_t at = 0;
	uint64_t entry;
	struct piece x = {.kind = PIECE_ENTRY};

	if (!cfi_entry_point(e, &entry) || entry < begin || entry >= end || !is_program(e, entry))
		return;
	x.begin = (uint32_t)(entry - p->first);
	while (at < p->list.n && p->list.v[at].end <= x.begin)
		at++;
	if (at < p->list.n && p->list.v[at].begin <= x.begin) {
		if (p->list.v[at].begin == x.begin && !ends_at(p, &p->list.v[at], entry))
			p->list.v[at].kind = PIECE_ENTRY;
		return;
	}
	x.end = (uint32_t)(end - entry < ENTRY_SIZE ? end - p->first : x.begin + ENTRY_SIZE);
	if (at < p->list.n && p->list.v[at].begin < x.end)
		x.end = p->list.v[at].begin;
	pieces_insert(p, at, x);
}

static int pieces_gather(const struct elf *e, struct pieces *p, uint64_t begin, uint64_t end)
{
	int eh = cfi_open(e, false, &p->cfi[PIECE_EH]);
	int debug, go, rc;

	if (eh && eh != -ENODATA)
		return err_add(eh, ".eh_frame");
	debug = cfi_open(e, true, &p->cfi[PIECE_DEBUG]);
	go = golang_open(e, &p->golang);
	if (eh && debug && go)
		return err_set(-ENODATA, "no call frame information");
	rc = unwind_pieces_collect(p, PIECE_EH, begin, end);
	rc = rc ? rc : unwind_pieces_collect(p, PIECE_DEBUG, begin, end);
	rc = rc ? rc : collect_go(p, e, begin, end);
	if (rc)
		return rc;
	if (!p->list.n)
		return err_set(-ENODATA, "no call frame information for its code");
	pieces_sort(p);
	mark_signals(p, e);
	/* A signal's piece may now begin where another does. */
	pieces_sort(p);
	pieces_resolve(p);
	mark_entry(p, e, begin, end);
	pieces_add_startup(p, e);
	return 0;
}

int pieces_collect(const struct elf *e, struct pieces *ret)
{
	struct pieces p = {0};
	uint64_t begin, end;
	int rc;

	if (!elf_text_range(e, &begin, &end))
		return err_set(-ENODATA, "no code");
	p.first = begin & ~(BLOCK_OF_FIRST - 1);
	if (end - p.first > UNWIND_SPAN_MAX)
		return err_set(-EFBIG, "%llu MiB of code",
			       (unsigned long long)((end - p.first) >> 20));
	rc = pieces_gather(e, &p, begin, end);
	if (rc) {
		pieces_done(&p);
		return rc;
	}
	*ret = p;
	return 0;
}

void pieces_done(struct pieces *p)
{
	vec_done(&p->list);
	cfi_done(&p->cfi[PIECE_EH]);
	cfi_done(&p->cfi[PIECE_DEBUG]);
	golang_done(&p->golang);
}
