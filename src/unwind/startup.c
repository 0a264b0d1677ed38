// SPDX-License-Identifier: MIT
/*
 * The code that every C program and library begins and ends with: _init and _fini of crti.o, and
 * the few functions of crtbegin.o. Most distributions ship it without unwind information. There is
 * little of it, but it runs first, so its stacks are those where pages are read from disk.
 *
 * It is recognised by its bytes, in the gaps that the sections leave:
 *
 *   .init, .fini   [endbr64] sub $8, %rsp ... add $8, %rsp; ret
 *   crtbegin.o     functions that leave the stack alone, and __do_global_dtors_aux:
 *                  cmpb $0, completed; jne; push %rbp ... mov %rsp, %rbp ... pop %rbp; ret
 */
#include <elf.h>
#include <string.h>

#include "base/search.h"
#include "unwind/pieces.h"

#define GAP_MIN 64u
#define GAP_MAX 512u
#define INIT_MAX 64u
#define DYNAMIC_MAX (64u << 10)

struct code_run {
	uint32_t end; /* from its beginning */
	uint32_t kind;
};

static bool bytes_of(const struct elf *e, uint64_t vaddr, size_t n, struct buf *ret)
{
	uint64_t offset;

	return elf_vaddr_to_offset(e, vaddr, &offset) && !elf_read(e, offset, n, n, ret);
}

/* Puts runs, one after the other from `begin` on, before the piece `at`. */
static void insert_runs(struct pieces *p, size_t at, uint32_t begin, const struct code_run *runs,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)vec_add(&p->list);
	memmove(&p->list.v[at + n], &p->list.v[at], (p->list.n - n - at) * sizeof(*p->list.v));
	for (size_t i = 0; i < n; i++)
		p->list.v[at + i] = (struct piece){.begin = begin + (i ? runs[i - 1].end : 0),
						   .end = begin + runs[i].end,
						   .kind = runs[i].kind};
}

/* The first piece that ends after an address. */
static size_t piece_behind(const struct pieces *p, uint32_t addr)
{
	return SEARCH(0, p->list.n, i, p->list.v[i].end <= addr);
}

/* Where a byte sequence first occurs in [from, to), or `to`. */
static uint32_t seek(const uint8_t *code, uint32_t from, uint32_t to, const char *bytes, uint32_t n)
{
	for (uint32_t i = from; i + n <= to; i++)
		if (!memcmp(code + i, bytes, n))
			return i;
	return to;
}

/* Takes it from the dynamic section, or from the sections of programs without one. */
static bool init_address(const struct elf *e, uint64_t tag, const char *name, uint64_t *ret)
{
	const struct elf_section *s = elf_section(e, name);

	for (size_t i = 0; i < e->n_segments; i++) {
		struct buf dynamic = {0};
		struct cursor c;

		if (e->segments[i].type != PT_DYNAMIC ||
		    elf_read(e, e->segments[i].offset, e->segments[i].filesz, DYNAMIC_MAX,
			     &dynamic))
			continue;
		c = cur_init(dynamic.p, dynamic.len);
		while (!cur_end(&c) && cur_ok(&c)) {
			uint64_t what = cur_u64(&c), val = cur_u64(&c);

			if (what == tag && cur_ok(&c)) {
				buf_done(&dynamic);
				*ret = val;
				return true;
			}
		}
		buf_done(&dynamic);
	}
	if (s)
		*ret = s->addr;
	return s;
}

static size_t init_runs(const uint8_t *code, uint32_t n, struct code_run *ret)
{
	uint32_t head = n > 8 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 8 : 4, end;

	if (n < head + 5 || memcmp(code + head - 4, "\x48\x83\xec\x08", 4))
		return 0;
	end = seek(code, head, n, "\x48\x83\xc4\x08\xc3", 5) + 5;
	if (end > n)
		return 0;
	ret[0] = (struct code_run){head, PIECE_BARE};
	ret[1] = (struct code_run){end - 1, PIECE_PUSHED};
	ret[2] = (struct code_run){end, PIECE_BARE};
	return 3;
}

static void add_init(struct pieces *p, const struct elf *e, uint64_t tag, const char *name)
{
	uint64_t addr, text, end;
	struct buf code = {0};
	struct code_run runs[3];
	uint32_t from;
	size_t at, got = 0;

	if (!init_address(e, tag, name, &addr) || !elf_text_range(e, &text, &end) || addr < text ||
	    addr >= end)
		return;
	from = (uint32_t)(addr - p->first);
	at = piece_behind(p, from);
	if (at < p->list.n && p->first + p->list.v[at].begin < end)
		end = p->first + p->list.v[at].begin;
	if (end <= addr)
		return;
	if (bytes_of(e, addr, end - addr < INIT_MAX ? end - addr : INIT_MAX, &code))
		got = init_runs(code.p, (uint32_t)code.len, runs);
	buf_done(&code);
	if (got)
		insert_runs(p, at, from, runs, got);
}

/* cmpb $0, x(%rip); jne; push %rbp */
static bool begins_dtors(const uint8_t *c)
{
	return c[0] == 0x80 && c[1] == 0x3d && c[6] == 0 && c[7] == 0x75 && c[9] == 0x55;
}

static size_t crtbegin_runs(const uint8_t *code, uint32_t n, struct code_run *ret)
{
	for (uint32_t i = 0; i + 32 <= n; i++) {
		uint32_t push = i + 10, end = push + 64 < n ? push + 64 : n, mov, pop;

		if (!begins_dtors(code + i))
			continue;
		mov = seek(code, push, end, "\x48\x89\xe5", 3) + 3;
		pop = seek(code, mov < end ? mov : end, end, "\x5d\xc3", 2) + 1;
		if (pop > end)
			continue;
		ret[0] = (struct code_run){push, PIECE_BARE};
		ret[1] = (struct code_run){mov, PIECE_PUSHED_RBP};
		ret[2] = (struct code_run){pop, PIECE_FRAME};
		ret[3] = (struct code_run){n, PIECE_BARE};
		return 4;
	}
	return 0;
}

static void add_crtbegin(struct pieces *p, const struct elf *e)
{
	for (size_t i = 1; i < p->list.n; i++) {
		uint32_t from = p->list.v[i - 1].end, n = p->list.v[i].begin - from;
		struct buf code = {0};
		struct code_run runs[4];
		size_t got = 0;

		if (n < GAP_MIN || n > GAP_MAX)
			continue;
		if (bytes_of(e, p->first + from, n, &code))
			got = crtbegin_runs(code.p, n, runs);
		buf_done(&code);
		if (got) {
			insert_runs(p, i, from, runs, got);
			return;
		}
	}
}

void pieces_add_startup(struct pieces *p, const struct elf *e)
{
	/* First, so that nothing else is looked for in the gaps of .init. */
	add_init(p, e, DT_INIT, ".init");
	add_init(p, e, DT_FINI, ".fini");
	add_crtbegin(p, e);
}
