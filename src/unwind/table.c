// SPDX-License-Identifier: MIT
/* From pieces of code to rows and rules. */
#include "unwind/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "unwind/pieces.h"

enum { RULE_NONE = 0, RULE_UNKNOWN = 1 };

struct builder {
	uint64_t first;
	VEC(struct unwind_row) rows;
	VEC(struct unwind_rule) rules;
	struct map index; /* a rule's bytes -> its number */
	uint32_t *blocks;
	size_t n_blocks;
	size_t filled; /* blocks[0] ... blocks[filled - 1] are known */
};

_Static_assert(sizeof(struct unwind_rule) == sizeof(uint64_t), "a rule is a key");
_Static_assert(sizeof(struct unwind_row) == 4, "as the kernel side reads it");

static bool fits(int64_t off)
{
	return off >= INT16_MIN && off <= INT16_MAX;
}

static bool set_cfa(const struct cfi_rules *r, struct unwind_rule *ret)
{
	/* Of a plain rule, cfa_add holds the offset's upper half: large frames are no rarity. */
	int64_t add = r->cfa_add;

	if (r->cfa == CFI_CFA_REG) {
		if (r->cfa_off < INT32_MIN / 2 || r->cfa_off > INT32_MAX / 2)
			return false;
		add = (r->cfa_off - (int16_t)r->cfa_off) / 65536;
	}
	if ((r->cfa != CFI_CFA_REG && !fits(r->cfa_off)) || !fits(add))
		return false;
	ret->cfa_off = (int16_t)r->cfa_off;
	ret->cfa_add = (int16_t)add;
	if (r->cfa == CFI_CFA_PLT)
		ret->cfa = UNWIND_CFA_PLT;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RSP)
		ret->cfa = UNWIND_CFA_RSP;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RBP)
		ret->cfa = UNWIND_CFA_RBP;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RBX && fits(r->cfa_off))
		ret->cfa = UNWIND_CFA_RBX;
	else if (r->cfa == CFI_CFA_DEREF && r->cfa_reg == CFI_RSP)
		ret->cfa = UNWIND_CFA_RSP_DEREF;
	else if (r->cfa == CFI_CFA_DEREF && r->cfa_reg == CFI_RBP)
		ret->cfa = UNWIND_CFA_RBP_DEREF;
	else
		return false;
	return true;
}

static void set_rbp(const struct cfi_rules *r, struct unwind_rule *ret)
{
	ret->rbp = UNWIND_RBP_UNKNOWN;
	if (r->rbp == CFI_WHERE_SAME)
		ret->rbp = UNWIND_RBP_SAME;
	else if (r->rbp == CFI_WHERE_AT_CFA && fits(r->rbp_off))
		ret->rbp = UNWIND_RBP_AT_CFA;
	else if (r->rbp == CFI_WHERE_AT_RBP && fits(r->rbp_off))
		ret->rbp = UNWIND_RBP_AT_RBP;
	if (ret->rbp == UNWIND_RBP_AT_CFA || ret->rbp == UNWIND_RBP_AT_RBP)
		ret->rbp_off = (int16_t)r->rbp_off;
}

static void set_rbx(const struct cfi_rules *r, struct unwind_rule *ret)
{
	uint8_t slot = UNWIND_RBX_LOST;

	if (r->rbx == CFI_WHERE_SAME)
		slot = UNWIND_RBX_SAME;
	else if (r->rbx == CFI_WHERE_AT_CFA && r->rbx_off < 0 && r->rbx_off % 8 == 0 &&
		 r->rbx_off > -8 * UNWIND_RBX_LOST)
		slot = (uint8_t)(-r->rbx_off / 8);
	ret->rbp = (uint8_t)(ret->rbp | slot << UNWIND_RBX_SHIFT);
}

/* Rules that mean the same are the same bytes: what a rule does not use is zero. */
static struct unwind_rule rule_from(const struct cfi_rules *r)
{
	struct unwind_rule rule = {0};

	if (r->ra == CFI_WHERE_UNDEFINED)
		return (struct unwind_rule){.cfa = UNWIND_CFA_END};
	if (r->ra == CFI_WHERE_RDI && r->sp_is_cfa && set_cfa(r, &rule) &&
	    rule.cfa == UNWIND_CFA_RSP) {
		rule.cfa = UNWIND_CFA_RSP_RDI;
		set_rbp(r, &rule);
		set_rbx(r, &rule);
		return rule;
	}
	rule = (struct unwind_rule){0};
	if (r->ra != CFI_WHERE_AT_CFA || r->ra_off != -8 || !r->sp_is_cfa || !set_cfa(r, &rule))
		return (struct unwind_rule){.cfa = UNWIND_CFA_UNKNOWN};
	set_rbp(r, &rule);
	set_rbx(r, &rule);
	return rule;
}

static uint16_t rule_number(struct builder *b, struct unwind_rule rule)
{
	uint64_t key, *val;
	bool is_new;

	memcpy(&key, &rule, sizeof(key));
	val = map_get(&b->index, key);
	if (val)
		return (uint16_t)*val;
	if (b->rules.n == UNWIND_RULES_MAX)
		return RULE_UNKNOWN;
	val = map_put(&b->index, key, &is_new);
	*val = b->rules.n;
	vec_push(&b->rules, rule);
	return (uint16_t)*val;
}

/* Rows come in the order of their addresses, which are counted from the table's first. */
static int add_row(struct builder *b, uint32_t at, uint16_t rule)
{
	if (b->rows.n && b->rows.v[b->rows.n - 1].rule == rule)
		return 0;
	if (!b->rows.n && rule == RULE_NONE)
		return 0;
	if (b->rows.n == UNWIND_ROWS_MAX)
		return err_set(-EFBIG, "more than %u rows", UNWIND_ROWS_MAX);
	while (b->filled <= at >> UNWIND_BLOCK_SHIFT)
		b->blocks[b->filled++] = (uint32_t)b->rows.n;
	/* The low bits of `at` are those of its address: the first is a multiple of 64 KiB. */
	vec_push(&b->rows, (struct unwind_row){.pc = (uint16_t)at, .rule = rule});
	return 0;
}

static int add_fde(struct builder *b, const struct pieces *p, const struct piece *x)
{
	struct cfi_rows rows;
	struct cfi_row row;
	int rc = 0;

	pieces_rows(p, x, &rows);
	while (!rc && cfi_rows_next(&rows, &row)) {
		uint32_t begin = (uint32_t)(row.begin - p->first);
		uint32_t end = (uint32_t)(row.end - p->first);

		if (begin >= x->end)
			break;
		if (end > x->begin)
			rc = add_row(b, begin > x->begin ? begin : x->begin,
				     rule_number(b, rule_from(&row.rules)));
	}
	return rc;
}

static int add_piece(struct builder *b, const struct pieces *p, const struct piece *x)
{
	static const struct unwind_rule known[] = {
		[PIECE_SIGNAL] = {.cfa = UNWIND_CFA_SIGNAL},
		[PIECE_ENTRY] = {.cfa = UNWIND_CFA_END},
		[PIECE_BARE] = {.cfa = UNWIND_CFA_RSP, .cfa_off = 8},
		[PIECE_PUSHED] = {.cfa = UNWIND_CFA_RSP, .cfa_off = 16},
		[PIECE_PUSHED_RBP] = {.cfa = UNWIND_CFA_RSP,
				      .cfa_off = 16,
				      .rbp = UNWIND_RBP_AT_CFA,
				      .rbp_off = -16},
		[PIECE_FRAME] = {.cfa = UNWIND_CFA_RBP,
				 .cfa_off = 16,
				 .rbp = UNWIND_RBP_AT_CFA,
				 .rbp_off = -16},
	};

	if (x->kind == PIECE_EH || x->kind == PIECE_DEBUG)
		return add_fde(b, p, x);
	return add_row(b, x->begin, rule_number(b, known[x->kind]));
}

static int add_pieces(struct builder *b, const struct pieces *p)
{
	uint32_t end = 0;
	int rc = 0;

	for (size_t i = 0; i < p->list.n && !rc; i++) {
		const struct piece *x = &p->list.v[i];

		if (x->begin - end > UNWIND_GAP_MAX)
			rc = add_row(b, end, RULE_NONE);
		rc = rc ? rc : add_piece(b, p, x);
		end = x->end;
	}
	return rc ? rc : add_row(b, end, RULE_NONE);
}

static void start(struct builder *b, const struct pieces *p)
{
	b->first = p->first;
	b->n_blocks = (p->list.v[p->list.n - 1].end >> UNWIND_BLOCK_SHIFT) + 1;
	b->blocks = mem_alloc((b->n_blocks + 1) * sizeof(*b->blocks));
	(void)rule_number(b, (struct unwind_rule){.cfa = UNWIND_CFA_NONE});
	(void)rule_number(b, (struct unwind_rule){.cfa = UNWIND_CFA_UNKNOWN});
}

static struct unwind_table *finish(struct builder *b)
{
	struct unwind_table *t = mem_zalloc(sizeof(*t));

	while (b->filled <= b->n_blocks)
		b->blocks[b->filled++] = (uint32_t)b->rows.n;
	t->first = b->first;
	t->n_rows = b->rows.n;
	t->rows = mem_grow(b->rows.v, t->n_rows, sizeof(*t->rows));
	t->n_rules = b->rules.n;
	t->rules = mem_grow(b->rules.v, t->n_rules, sizeof(*t->rules));
	t->blocks = b->blocks;
	t->n_blocks = b->n_blocks;
	t->bytes = t->n_rows * sizeof(*t->rows) + t->n_rules * sizeof(*t->rules) +
		   (t->n_blocks + 1) * sizeof(*t->blocks);
	return t;
}

int unwind_table_build(const struct elf *elf, struct unwind_table **ret)
{
	struct builder b = {0};
	struct pieces pieces;
	int rc = pieces_collect(elf, &pieces);

	if (rc)
		return rc;
	start(&b, &pieces);
	rc = add_pieces(&b, &pieces);
	if (rc) {
		vec_done(&b.rows);
		vec_done(&b.rules);
		free(b.blocks);
	} else {
		*ret = finish(&b);
	}
	map_done(&b.index);
	pieces_done(&pieces);
	return rc;
}

void unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	free(t->rows);
	free(t->rules);
	free(t->blocks);
	free(t);
}

bool unwind_table_find(const struct unwind_table *t, uint64_t vaddr, struct unwind_rule *ret)
{
	uint64_t block = (vaddr - t->first) >> UNWIND_BLOCK_SHIFT;
	uint32_t lo, hi;
	struct unwind_rule rule;

	if (vaddr < t->first || block >= t->n_blocks)
		return false;
	lo = t->blocks[block];
	hi = t->blocks[block + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->rows[mid].pc <= (uint16_t)vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	rule = t->rules[t->rows[lo - 1].rule];
	if (rule.cfa == UNWIND_CFA_NONE)
		return false;
	*ret = rule;
	return true;
}
