// SPDX-License-Identifier: MIT
/*
 * The few DWARF expressions that occur in call frame information of x86-64, by shape:
 *
 *   rsp + 8 + ((rip & 15) >= n) * 8    the PLT, n = 11; .plt.sec, n = 10 (linkers write it)
 *   *(rsp or rbp + off) [+ n]          functions that align their stack (compilers; OpenSSL's
 *                                      assembler)
 *   rbp + off                          where rbp is saved, in functions that align their stack
 */
#include "elf/cfi_private.h"

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT15 = 0x3f,
	OP_BREG0 = 0x70,
};

static bool next_is(struct cursor *c, uint8_t op)
{
	return cur_u8(c) == op && cur_ok(c);
}

static bool match_plt(struct cursor c, struct cfi_rules *ret)
{
	uint8_t lit;

	if (!next_is(&c, OP_BREG0 + CFI_RSP) || cfi_read_sleb(&c) != 8 ||
	    !next_is(&c, OP_BREG0 + CFI_RA) || cfi_read_sleb(&c) != 0 || !next_is(&c, OP_LIT15) ||
	    !next_is(&c, OP_AND))
		return false;
	lit = cur_u8(&c);
	if (lit < OP_LIT0 || lit > OP_LIT15 || !next_is(&c, OP_GE) || !next_is(&c, OP_LIT0 + 3) ||
	    !next_is(&c, OP_SHL) || !next_is(&c, OP_PLUS) || !cur_end(&c))
		return false;
	ret->cfa = CFI_CFA_PLT;
	ret->cfa_reg = CFI_RSP;
	ret->cfa_off = lit - OP_LIT0;
	ret->cfa_add = 0;
	return true;
}

static bool match_deref(struct cursor c, struct cfi_rules *ret)
{
	uint8_t reg = (uint8_t)(cur_u8(&c) - OP_BREG0);
	int64_t off = cfi_read_sleb(&c);
	uint64_t add = 0;

	if ((reg != CFI_RSP && reg != CFI_RBP) || !next_is(&c, OP_DEREF))
		return false;
	if (!cur_end(&c)) {
		if (!next_is(&c, OP_PLUS_UCONST))
			return false;
		add = cur_varint(&c);
	}
	if (!cur_ok(&c) || !cur_end(&c) || add > INT32_MAX)
		return false;
	ret->cfa = CFI_CFA_DEREF;
	ret->cfa_reg = reg;
	ret->cfa_off = off;
	ret->cfa_add = (int64_t)add;
	return true;
}

void cfi_match_cfa(struct cursor expr, struct cfi_rules *ret)
{
	if (match_plt(expr, ret) || match_deref(expr, ret))
		return;
	ret->cfa = CFI_CFA_UNKNOWN;
	ret->cfa_reg = 0;
	ret->cfa_off = 0;
	ret->cfa_add = 0;
}

bool cfi_match_at_rbp(struct cursor expr, int64_t *ret_off)
{
	int64_t off;

	if (!next_is(&expr, OP_BREG0 + CFI_RBP))
		return false;
	off = cfi_read_sleb(&expr);
	if (!cur_ok(&expr) || !cur_end(&expr))
		return false;
	*ret_off = off;
	return true;
}
