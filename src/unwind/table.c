// SPDX-License-Identifier: MIT
/* Turns pieces of code into rows and rules. */
#include "unwind/table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/search.h"
#include "unwind/pieces.h"
#include "wire/probe.h"

enum { RULE_NONE = 0, RULE_UNKNOWN = 1 };

struct table_rows {
	uint64_t first;
	VEC(uint32_t) words;
	VEC(struct unwind_rule) rules;
	struct map index; /* a rule's bytes -> its number */
	uint32_t *dir;
	size_t n_leaves;
	size_t n_rows;
	uint16_t rule; /* of the last row */
	size_t next;   /* dir[0] ... dir[next - 1] are known; the last of them is open */
	bool open;     /* it is being written */
	size_t at;     /* its first word, */
	size_t filled; /* how many of its blocks are known, */
	uint32_t rows; /* and how many rows it has */
};

_Static_assert(sizeof(struct unwind_rule) == sizeof(uint64_t), "a rule is a key");
_Static_assert(sizeof(struct unwind_row) == 4, "as the kernel side reads it");
_Static_assert(UNWIND_LEAVES_MAX < SHELF_WORDS && 2 * UNWIND_RULES_MAX < SHELF_WORDS &&
		       UNWIND_LEAF_HEAD + UNWIND_LEAF < SHELF_WORDS,
	       "what is in one piece fits onto a shelf");

static bool table_fits(int64_t off)
{
	return off >= INT16_MIN && off <= INT16_MAX;
}

static bool set_cfa(const struct cfi_rules *r, struct unwind_rule *ret)
{
	/* A plain rule has its offset's upper half in cfa_add, because large frames are common. */
	int64_t add = r->cfa_add;

	if (r->cfa == CFI_CFA_REG) {
		if (r->cfa_off < INT32_MIN / 2 || r->cfa_off > INT32_MAX / 2)
			return false;
		add = (r->cfa_off - (int16_t)r->cfa_off) / 65536;
	}
	if ((r->cfa != CFI_CFA_REG && !table_fits(r->cfa_off)) || !table_fits(add))
		return false;
	ret->cfa_off = (int16_t)r->cfa_off;
	ret->cfa_add = (int16_t)add;
	if (r->cfa == CFI_CFA_PLT)
		ret->cfa = UNWIND_CFA_PLT;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RSP)
		ret->cfa = UNWIND_CFA_RSP;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RBP)
		ret->cfa = UNWIND_CFA_RBP;
	else if (r->cfa == CFI_CFA_REG && r->cfa_reg == CFI_RBX && table_fits(r->cfa_off))
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
	else if (r->rbp == CFI_WHERE_AT_CFA && table_fits(r->rbp_off))
		ret->rbp = UNWIND_RBP_AT_CFA;
	else if (r->rbp == CFI_WHERE_AT_RBP && table_fits(r->rbp_off))
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

static uint16_t rule_number(struct table_rows *b, struct unwind_rule rule)
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

static uint32_t word_of(uint16_t pc, uint16_t rule)
{
	return pc | (uint32_t)rule << 16;
}

static void leaf_blocks_until(struct table_rows *b, size_t block)
{
	while (b->filled <= block)
		b->words.v[b->at + b->filled++] = b->rows;
}

static void leaf_close(struct table_rows *b)
{
	uint32_t *leaf = b->words.v + b->at;

	if (!b->open)
		return;
	b->open = false;
	leaf_blocks_until(b, UNWIND_LEAF_BLOCKS);
	/* A rule that holds from one end to the other needs no leaf. */
	if (b->rows == 1 && !(leaf[UNWIND_LEAF_HEAD] & 0xffff)) {
		b->dir[b->next - 1] = UNWIND_DIR_RULE | b->rule;
		b->words.n = b->at;
	}
}

/* The leaf of a row, which is not before the last one's. */
static void leaf_open(struct table_rows *b, uint32_t number)
{
	if (b->open && number == b->next - 1)
		return;
	leaf_close(b);
	while (b->next < number)
		b->dir[b->next++] = UNWIND_DIR_RULE | b->rule;
	b->open = true;
	b->at = b->words.n;
	b->filled = 0;
	b->rows = 0;
	b->dir[b->next++] = (uint32_t)b->at;
	for (size_t i = 0; i < UNWIND_LEAF_HEAD; i++)
		vec_push(&b->words, 0);
	b->words.v[b->at + UNWIND_LEAF_HEAD - 1] = word_of(0, b->rule);
}

/* Rows come in the order of their addresses, which are counted from the table's first. */
static int table_add_row(struct table_rows *b, uint32_t at, uint16_t rule)
{
	if (rule == b->rule)
		return 0;
	if (b->n_rows == UNWIND_ROWS_MAX)
		return err_set(-EFBIG, "more than %u rows", UNWIND_ROWS_MAX);
	leaf_open(b, at >> UNWIND_LEAF_SHIFT);
	leaf_blocks_until(b, at % UNWIND_LEAF >> UNWIND_BLOCK_SHIFT);
	/* The low bits of `at` are those of its address: the first is a multiple of 64 KiB. */
	vec_push(&b->words, word_of((uint16_t)at, rule));
	b->rule = rule;
	b->rows++;
	b->n_rows++;
	return 0;
}

static int add_fde(struct table_rows *b, const struct pieces *p, const struct piece *x)
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
			rc = table_add_row(b, begin > x->begin ? begin : x->begin,
					   rule_number(b, rule_from(&row.rules)));
	}
	return rc;
}

/* A function of Go has its caller's frame pointer just below the return address, if it has room. */
static struct unwind_rule go_rule(int64_t depth, bool other)
{
	bool saved = depth >= 8;
	struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP,
				   .rbp = UNWIND_RBX_LOST << UNWIND_RBX_SHIFT};

	if (other && saved)
		rule.cfa = UNWIND_CFA_RBP_OTHER;
	if (saved) {
		rule.rbp |= UNWIND_RBP_AT_CFA;
		rule.rbp_off = -16;
	}
	depth = other && saved ? 16 : depth + 8;
	if (depth < 8 || depth > INT32_MAX / 2)
		return (struct unwind_rule){.cfa = UNWIND_CFA_UNKNOWN};
	rule.cfa_off = (int16_t)depth;
	rule.cfa_add = (int16_t)((depth - rule.cfa_off) / 65536);
	return rule;
}

static int add_go(struct table_rows *b, const struct pieces *p, const struct piece *x)
{
	bool other = x->kind == PIECE_GO_OTHER, framed = false;
	uint64_t at = p->first + x->begin;
	struct golang_rows rows;
	int rc = 0;

	/* A function that never makes a frame has its caller's frame pointer throughout. */
	golang_rows_init(&p->golang, p->first + x->fde_begin, x->program, &rows);
	while (other && golang_rows_next(&rows))
		framed |= rows.depth >= 8;
	golang_rows_init(&p->golang, p->first + x->fde_begin, x->program, &rows);
	while (!rc && at < p->first + x->end && golang_rows_next(&rows)) {
		int64_t depth = other && !framed ? 8 : rows.depth;

		if (rows.end <= at)
			continue;
		rc = table_add_row(b, (uint32_t)(at - p->first),
				   rule_number(b, go_rule(depth, other)));
		at = rows.end;
	}
	/* A short rest after the last row is alignment. */
	if (!rc && (at == p->first + x->begin || p->first + x->end > at + UNWIND_GAP_MAX))
		rc = table_add_row(b, (uint32_t)(at - p->first), RULE_NONE);
	return rc;
}

static int add_piece(struct table_rows *b, const struct pieces *p, const struct piece *x)
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
	if (x->kind == PIECE_GO || x->kind == PIECE_GO_OTHER)
		return add_go(b, p, x);
	return table_add_row(b, x->begin, rule_number(b, known[x->kind]));
}

static int add_pieces(struct table_rows *b, const struct pieces *p)
{
	uint32_t end = 0;
	int rc = 0;

	for (size_t i = 0; i < p->list.n && !rc; i++) {
		const struct piece *x = &p->list.v[i];

		if (x->begin - end > UNWIND_GAP_MAX)
			rc = table_add_row(b, end, RULE_NONE);
		rc = rc ? rc : add_piece(b, p, x);
		end = x->end;
	}
	return rc ? rc : table_add_row(b, end, RULE_NONE);
}

static void table_start(struct table_rows *b, const struct pieces *p)
{
	b->first = p->first;
	b->n_leaves = (p->list.v[p->list.n - 1].end >> UNWIND_LEAF_SHIFT) + 1;
	b->dir = mem_alloc(b->n_leaves * sizeof(*b->dir));
	(void)rule_number(b, (struct unwind_rule){.cfa = UNWIND_CFA_NONE});
	(void)rule_number(b, (struct unwind_rule){.cfa = UNWIND_CFA_UNKNOWN});
	b->rule = RULE_NONE;
}

static struct unwind_table *table_finish(struct table_rows *b)
{
	struct unwind_table *t = mem_zalloc(sizeof(*t));

	leaf_close(b);
	while (b->next < b->n_leaves)
		b->dir[b->next++] = UNWIND_DIR_RULE | b->rule;
	t->first = b->first;
	t->dir = b->dir;
	t->n_leaves = b->n_leaves;
	t->n_words = b->words.n;
	t->words = mem_grow(b->words.v, t->n_words + 1, sizeof(*t->words));
	t->n_rules = b->rules.n;
	t->rules = mem_grow(b->rules.v, t->n_rules, sizeof(*t->rules));
	t->n_rows = b->n_rows;
	unwind_table_shelve(t);
	return t;
}

static void table_describe(struct unwind_table *t, const struct elf *e)
{
	int n = elf_build_id(e, t->build_id, sizeof(t->build_id));

	t->build_id_len = n > 0 ? (size_t)n : 0;
	t->loads = mem_zalloc(UNWIND_LOADS_MAX * sizeof(*t->loads));
	for (size_t i = 0; i < e->n_segments && t->n_loads < UNWIND_LOADS_MAX; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && (s->flags & PF_X))
			t->loads[t->n_loads++] =
				(struct unwind_load){s->offset, s->filesz, s->vaddr};
	}
}

int unwind_table_build(const struct elf *elf, struct unwind_table **ret)
{
	struct table_rows b = {0};
	struct pieces pieces;
	int rc = pieces_collect(elf, &pieces);

	if (rc)
		return rc;
	table_start(&b, &pieces);
	rc = add_pieces(&b, &pieces);
	if (rc) {
		vec_done(&b.words);
		vec_done(&b.rules);
		free(b.dir);
	} else {
		*ret = table_finish(&b);
		table_describe(*ret, elf);
	}
	map_done(&b.index);
	pieces_done(&pieces);
	return rc;
}

void unwind_table_shelve(struct unwind_table *t)
{
	size_t n = (t->n_words >> SHELF_SHIFT) + 1;

	t->shelves = mem_alloc(n * sizeof(*t->shelves));
	for (size_t i = 0; i < n; i++)
		t->shelves[i] = t->words + (i << SHELF_SHIFT);
}

void unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	if (!t->owned) {
		free(t->words);
		free(t->rules);
		free(t->dir);
		free(t->loads);
	}
	free(t->owned);
	free(t->shelves);
	free(t);
}

bool unwind_table_find(const struct unwind_table *t, uint64_t vaddr, struct unwind_rule *ret)
{
	uint64_t number = (vaddr - t->first) >> UNWIND_LEAF_SHIFT;
	uint16_t key = (uint16_t)vaddr;
	uint32_t at, word;
	const uint32_t *leaf, *rows;

	if (vaddr < t->first || number >= t->n_leaves)
		return false;
	at = t->dir[number];
	word = at << 16;
	if (!(at & UNWIND_DIR_RULE)) {
		leaf = &t->shelves[at >> SHELF_SHIFT][at % SHELF_WORDS];
		/* The row before the first also exists: it ends the head. */
		rows = leaf + UNWIND_LEAF_HEAD;
		at = (uint32_t)SEARCH(leaf[key >> UNWIND_BLOCK_SHIFT],
				      leaf[(key >> UNWIND_BLOCK_SHIFT) + 1], mid,
				      (uint16_t)rows[mid] <= key);
		word = leaf[UNWIND_LEAF_HEAD - 1 + at];
	}
	if (t->rules[word >> 16].cfa == UNWIND_CFA_NONE)
		return false;
	*ret = t->rules[word >> 16];
	return true;
}

/* ---- tables of others ---- */

/* Returns the words that the leaf takes, 0 if it is none. */
static size_t check_leaf(const uint32_t *leaf, size_t room, size_t n_rules)
{
	uint32_t n, row = 0;

	if (room < UNWIND_LEAF_HEAD || leaf[0])
		return 0;
	n = leaf[UNWIND_LEAF_BLOCKS];
	if (n > UNWIND_LEAF || n > room - UNWIND_LEAF_HEAD ||
	    leaf[UNWIND_LEAF_HEAD - 1] >> 16 >= n_rules)
		return 0;
	for (uint32_t b = 0; b < UNWIND_LEAF_BLOCKS; b++) {
		if (leaf[b + 1] < leaf[b] || leaf[b + 1] > n)
			return 0;
		for (; row < leaf[b + 1]; row++) {
			uint32_t word = leaf[UNWIND_LEAF_HEAD + row];
			bool behind =
				row && (uint16_t)word <= (uint16_t)leaf[UNWIND_LEAF_HEAD + row - 1];

			if ((uint16_t)word >> UNWIND_BLOCK_SHIFT != b || behind ||
			    word >> 16 >= n_rules)
				return 0;
		}
	}
	return UNWIND_LEAF_HEAD + n;
}

int unwind_table_check(const struct unwind_table *t)
{
	size_t at = 0;

	if (t->first % UNWIND_LEAF || t->n_rules < 2 || t->n_rules > UNWIND_RULES_MAX ||
	    t->n_leaves > UNWIND_LEAVES_MAX || t->n_rows > UNWIND_ROWS_MAX ||
	    t->n_loads > UNWIND_LOADS_MAX || t->build_id_len > UNWIND_BUILD_ID_MAX ||
	    t->rules[RULE_NONE].cfa != UNWIND_CFA_NONE)
		return err_set(-EBADMSG, "not an unwind table");
	for (size_t i = 0; i < t->n_leaves; i++) {
		uint32_t dir = t->dir[i];
		size_t n = 1;

		if (!(dir & UNWIND_DIR_RULE)) {
			n = dir == at ? check_leaf(t->words + at, t->n_words - at, t->n_rules) : 0;
			at += n;
		}
		if (!n || ((dir & UNWIND_DIR_RULE) && (dir & ~UNWIND_DIR_RULE) >= t->n_rules))
			return err_set(-EBADMSG, "not an unwind table: leaf %zu", i);
	}
	if (at != t->n_words)
		return err_set(-EBADMSG, "not an unwind table: %zu words", t->n_words);
	return 0;
}
