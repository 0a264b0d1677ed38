// SPDX-License-Identifier: MIT
/*
 * The machine that runs the programs of CIEs and FDEs. An instruction sets a rule, or moves on to
 * a later address, which ends a row. Each instruction consumes at least a byte, so a program ends
 * after as many steps as it has bytes.
 *
 * Offsets are 64 bits wide and may be nonsense: they are computed modulo 2^64.
 */
#include "elf/cfi_private.h"

enum {
	/* The upper two bits, with an operand in the lower six. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	/* Without operand there. */
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum row_step { STEP_ON, STEP_ADVANCED, STEP_BAD };

static const struct cfi_rules unknown = {.cfa = CFI_CFA_UNKNOWN};
/* Before a CIE's first instruction: registers not said to be saved are still the caller's. */
static const struct cfi_rules blank = {
	.rbp = CFI_WHERE_SAME, .rbx = CFI_WHERE_SAME, .sp_is_cfa = true};

int64_t cfi_read_sleb(struct cursor *cur)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cur_u8(cur);

		if (!cur_ok(cur))
			return 0;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		return (int64_t)v;
	}
	cur->bad = true;
	return 0;
}

static struct cursor read_block(struct cursor *c)
{
	uint64_t n = cur_varint(c);

	/* On a 32-bit host a length must not be cut before it is checked. */
	return cur_take(c, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
}

static int64_t factored(const struct cfi_rows *r, uint64_t n)
{
	return (int64_t)(n * (uint64_t)r->cie->data_align);
}

/* Sets the rule of a register that we follow; ignores the others. */
static void set_where(struct cfi_rows *r, uint64_t reg, enum cfi_where where, int64_t off)
{
	if (reg == CFI_RBP) {
		/* An undefined value is of no use to the caller's frame. */
		r->now.rbp = where == CFI_WHERE_UNDEFINED ? CFI_WHERE_UNKNOWN : where;
		r->now.rbp_off = off;
	} else if (reg == CFI_RBX) {
		r->now.rbx = where == CFI_WHERE_UNDEFINED ? CFI_WHERE_UNKNOWN : where;
		r->now.rbx_off = off;
	} else if (reg == CFI_RA) {
		r->now.ra = where == CFI_WHERE_SAME ? CFI_WHERE_UNKNOWN : where;
		r->now.ra_off = off;
	} else if (reg == CFI_RSP) {
		r->now.sp_is_cfa = where == CFI_WHERE_SAME || where == CFI_WHERE_UNDEFINED;
	}
}

static void set_back(struct cfi_rows *r, uint64_t reg)
{
	const struct cfi_rules *initial = &r->cie->initial;

	if (reg == CFI_RBP) {
		r->now.rbp = initial->rbp;
		r->now.rbp_off = initial->rbp_off;
	} else if (reg == CFI_RBX) {
		r->now.rbx = initial->rbx;
		r->now.rbx_off = initial->rbx_off;
	} else if (reg == CFI_RA) {
		r->now.ra = initial->ra;
		r->now.ra_off = initial->ra_off;
	} else if (reg == CFI_RSP) {
		r->now.sp_is_cfa = initial->sp_is_cfa;
	}
}

static void set_val_offset(struct cfi_rows *r, uint64_t reg, int64_t off)
{
	/* The caller's rsp is the CFA by default; nothing needs to say so. */
	set_where(r, reg, reg == CFI_RSP && !off ? CFI_WHERE_SAME : CFI_WHERE_UNKNOWN, 0);
}

static void set_expression(struct cfi_rows *r, uint64_t reg, struct cursor expr)
{
	int64_t off;

	if (reg == CFI_RBP && cfi_match_at_rbp(expr, &off))
		set_where(r, reg, CFI_WHERE_AT_RBP, off);
	else
		set_where(r, reg, CFI_WHERE_UNKNOWN, 0);
}

static void set_cfa(struct cfi_rows *r, uint64_t reg, int64_t off)
{
	r->now.cfa = reg <= CFI_RA ? CFI_CFA_REG : CFI_CFA_UNKNOWN;
	r->now.cfa_reg = reg <= CFI_RA ? (uint32_t)reg : 0;
	r->now.cfa_off = off;
	r->now.cfa_add = 0;
}

/* Changing half of a rule makes sense only if there is one. */
static void set_cfa_offset(struct cfi_rows *r, int64_t off)
{
	if (r->now.cfa == CFI_CFA_REG)
		set_cfa(r, r->now.cfa_reg, off);
	else
		r->now.cfa = CFI_CFA_UNKNOWN;
}

static void set_cfa_register(struct cfi_rows *r, uint64_t reg)
{
	if (r->now.cfa == CFI_CFA_REG)
		set_cfa(r, reg, r->now.cfa_off);
	else
		r->now.cfa = CFI_CFA_UNKNOWN;
}

static enum row_step cfi_rows_advance(struct cfi_rows *r, uint64_t delta)
{
	uint64_t room = r->end - r->next, by;

	/* A CIE has no addresses to move along. */
	if (!r->cfi)
		return STEP_BAD;
	if (__builtin_mul_overflow(delta, r->cie->code_align, &by) || by > room)
		by = room;
	r->next += by;
	return by ? STEP_ADVANCED : STEP_ON;
}

static enum row_step set_loc(struct cfi_rows *r)
{
	uint64_t to;

	if (!r->cfi)
		return STEP_BAD;
	to = cfi_read_address(r->cfi, r->cie->encoding, &r->program,
			      r->program_at + r->program.pos);
	if (!cur_ok(&r->program) || to < r->next)
		return STEP_BAD;
	if (to == r->next)
		return STEP_ON;
	r->next = to < r->end ? to : r->end;
	return STEP_ADVANCED;
}

static enum row_step cfi_rows_remember(struct cfi_rows *r)
{
	if (r->depth == CFI_STATES_MAX)
		return STEP_BAD;
	r->stack[r->depth++] = r->now;
	return STEP_ON;
}

static enum row_step recall(struct cfi_rows *r)
{
	if (!r->depth)
		return STEP_BAD;
	r->now = r->stack[--r->depth];
	return STEP_ON;
}

#define DWARF_RDI 5

/* Instructions whose first operand is a register. */
static enum row_step run_register(struct cfi_rows *r, uint8_t op)
{
	struct cursor *c = &r->program;
	uint64_t reg = cur_varint(c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_where(r, reg, CFI_WHERE_AT_CFA, factored(r, cur_varint(c)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_where(r, reg, CFI_WHERE_AT_CFA, factored(r, (uint64_t)cfi_read_sleb(c)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_where(r, reg, CFI_WHERE_AT_CFA, factored(r, -cur_varint(c)));
		break;
	case CFA_RESTORE_EXTENDED:
		set_back(r, reg);
		break;
	case CFA_UNDEFINED:
		set_where(r, reg, CFI_WHERE_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_where(r, reg, CFI_WHERE_SAME, 0);
		break;
	case CFA_REGISTER:
		set_where(r, reg,
			  cur_varint(c) == DWARF_RDI && reg == CFI_RA ? CFI_WHERE_RDI
								      : CFI_WHERE_UNKNOWN,
			  0);
		break;
	case CFA_EXPRESSION:
		set_expression(r, reg, read_block(c));
		break;
	case CFA_VAL_EXPRESSION:
		(void)read_block(c);
		set_where(r, reg, CFI_WHERE_UNKNOWN, 0);
		break;
	case CFA_VAL_OFFSET:
		set_val_offset(r, reg, factored(r, cur_varint(c)));
		break;
	case CFA_VAL_OFFSET_SF:
		set_val_offset(r, reg, factored(r, (uint64_t)cfi_read_sleb(c)));
		break;
	case CFA_DEF_CFA:
		set_cfa(r, reg, (int64_t)cur_varint(c));
		break;
	case CFA_DEF_CFA_SF:
		set_cfa(r, reg, factored(r, (uint64_t)cfi_read_sleb(c)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(r, reg);
		break;
	default:
		return STEP_BAD;
	}
	return STEP_ON;
}

static enum row_step run_plain(struct cfi_rows *r, uint8_t op)
{
	struct cursor *c = &r->program;

	switch (op) {
	case CFA_NOP:
		return STEP_ON;
	case CFA_SET_LOC:
		return set_loc(r);
	case CFA_ADVANCE_LOC1:
		return cfi_rows_advance(r, cur_u8(c));
	case CFA_ADVANCE_LOC2:
		return cfi_rows_advance(r, cur_u16(c));
	case CFA_ADVANCE_LOC4:
		return cfi_rows_advance(r, cur_u32(c));
	case CFA_MIPS_ADVANCE_LOC8:
		return cfi_rows_advance(r, cur_u64(c));
	case CFA_REMEMBER_STATE:
		return cfi_rows_remember(r);
	case CFA_RESTORE_STATE:
		return recall(r);
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(r, (int64_t)cur_varint(c));
		return STEP_ON;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(r, factored(r, (uint64_t)cfi_read_sleb(c)));
		return STEP_ON;
	case CFA_DEF_CFA_EXPRESSION:
		cfi_match_cfa(read_block(c), &r->now);
		return STEP_ON;
	case CFA_GNU_ARGS_SIZE:
		(void)cur_varint(c);
		return STEP_ON;
	default:
		return run_register(r, op);
	}
}

static enum row_step run_one(struct cfi_rows *r)
{
	uint8_t op = cur_u8(&r->program), low = op & 0x3f;
	enum row_step step = STEP_ON;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		step = cfi_rows_advance(r, low);
		break;
	case CFA_OFFSET:
		set_where(r, low, CFI_WHERE_AT_CFA, factored(r, cur_varint(&r->program)));
		break;
	case CFA_RESTORE:
		set_back(r, low);
		break;
	default:
		step = run_plain(r, op);
	}
	return cur_ok(&r->program) ? step : STEP_BAD;
}

bool cfi_run_initial(struct cfi_cie *cie, struct cursor program)
{
	struct cfi_rows r = {.cie = cie, .program = program, .now = blank};

	cie->initial = blank;
	while (!cur_end(&r.program))
		if (run_one(&r) != STEP_ON)
			return false;
	cie->initial = r.now;
	return true;
}

void cfi_rows_init(struct cfi_rows *r, const struct cfi *c, const struct cfi_fde *fde)
{
	r->cfi = c;
	r->cie = fde->cie;
	r->program = cur_init(c->bytes.p + fde->program, fde->program_len);
	r->program_at = fde->program;
	r->at = r->next = fde->begin;
	r->end = fde->end;
	r->now = fde->cie->initial;
	r->depth = 0; /* the stack above is never read, so it need not be cleared */
}

bool cfi_rows_next(struct cfi_rows *r, struct cfi_row *ret)
{
	enum row_step step = STEP_ON;

	/* The location has moved; the rules that follow belong to the row that begins there. */
	r->at = r->next;
	if (r->at >= r->end)
		return false;
	while (step == STEP_ON && !cur_end(&r->program))
		step = run_one(r);
	if (step == STEP_BAD) {
		r->now = unknown;
		r->program.bad = true;
	}
	if (step != STEP_ADVANCED)
		r->next = r->end;
	*ret = (struct cfi_row){.begin = r->at, .end = r->next, .rules = r->now};
	return true;
}
