/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The rules of unwind tables (wire/unwind.h), and the one step that walks by them. Compiled into
 * the kernel programs, the collector (which walks copied stacks with it) and the tests.
 */
#ifndef THAW_ARCH_X86_64_UNWIND_H
#define THAW_ARCH_X86_64_UNWIND_H

#include "wire/unwind.h"

/* How the frame's canonical address (the stack pointer before the call) is found. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,	  /* no code, or not known */
	UNWIND_CFA_RSP = 1,	  /* rsp + cfa_off + (cfa_add << 16) */
	UNWIND_CFA_RBP = 2,	  /* rbp + cfa_off + (cfa_add << 16) */
	UNWIND_CFA_RSP_DEREF = 3, /* *(rsp + cfa_off) + cfa_add */
	UNWIND_CFA_RBP_DEREF = 4, /* *(rbp + cfa_off) + cfa_add */
	UNWIND_CFA_PLT = 5, /* rsp + 8 + ((rip & 15) >= cfa_off) * 8: 11 in .plt, 10 in .plt.sec */
	UNWIND_CFA_SIGNAL = 6, /* a signal frame: all registers are in it */
	UNWIND_CFA_END = 7,    /* the outermost frame: there is no caller */
	UNWIND_CFA_RSP_RDI =
		9, /* rsp + cfa_off; the return address is in rdi: vfork(), leaf only */
	UNWIND_CFA_UNKNOWN = 8, /* a rule that the others do not cover */
	UNWIND_CFA_RBX = 10,	/* rbx + cfa_off: the resolver of lazily bound functions */
	UNWIND_CFA_RBP_OTHER =
		11, /* as RBP, but perhaps on another stack: Go's changes of stacks */
};

/* Where the caller's rbp is. */
enum unwind_rbp {
	UNWIND_RBP_SAME = 0,
	UNWIND_RBP_AT_CFA = 1,	/* *(cfa + rbp_off) */
	UNWIND_RBP_AT_RBP = 2,	/* *(rbp + rbp_off) */
	UNWIND_RBP_UNKNOWN = 3, /* lost: a frame that needs it stops the walk */
};

/*
 * Where the caller's rbx is, in the upper bits of `rbp`: so many words below the CFA. Hardly any
 * rule needs it, so a walk follows only its place, and reads it when needed.
 */
#define UNWIND_RBP_MASK 3u
#define UNWIND_RBX_SHIFT 2
#define UNWIND_RBX_SAME 0
#define UNWIND_RBX_LOST 63

/* The return address is at cfa - 8, wherever the rule is not SIGNAL, END or RSP_RDI. */
struct unwind_rule {
	__u8 cfa;
	__u8 rbp;
	__s16 cfa_add;
	__s16 cfa_off;
	__s16 rbp_off;
};

struct unwind_regs {
	__u64 pc, sp, bp;
	__u64 di;      /* of the leaf only; 0: not known */
	__u32 exact;   /* pc is where the thread is, not a return address */
	__u32 no_bp;   /* bp is not known */
	__u64 bx;      /* of the leaf */
	__u64 bx_at;   /* where it is saved; 0: unchanged; 1: lost */
	__u64 bp_at;   /* where the last step read bp; 0: it did not */
	__u32 bp_read; /* bp was read from the stack: not the leaf's any more */
	__u32 by_bp;   /* a frame was found by the leaf's bp */
};

/* How far guesses look: see below. */
#define UNWIND_GUESS_STEP 16u
#define UNWIND_GUESS_SLOTS 512u	       /* 8 KiB of the stack */
#define UNWIND_GUESS_SAVED 8u	       /* words below it that may be pushed registers */
#define UNWIND_STACK_MAX (64ull << 20) /* an address further away is on another stack */

/* Of rt_sigframe on x86-64: return address, then ucontext; gregs are 40 bytes into that. */
#define UNWIND_SIGFRAME_GREGS 40
#define UNWIND_GREG_RBP 10
#define UNWIND_GREG_RBX 11
#define UNWIND_GREG_RSP 15
#define UNWIND_GREG_RIP 16

#ifdef __bpf__
#define UNWIND_INLINE static __always_inline
#else
#define UNWIND_INLINE static inline
#endif

/*
 * From a frame to its caller by a rule. UNWIND_READ(ctx, addr, &value) reads a word of the stack
 * and is not zero on failure; the including file defines it first.
 */
#ifdef UNWIND_READ
UNWIND_INLINE enum unwind_stop unwind_signal(void *ctx, struct unwind_regs *r)
{
	__u64 gregs = r->sp + UNWIND_SIGFRAME_GREGS, sp, bp, pc;

	/* The handler's `ret` has already taken the return address off the stack. */
	if (UNWIND_READ(ctx, gregs + 8 * UNWIND_GREG_RSP, &sp) ||
	    UNWIND_READ(ctx, gregs + 8 * UNWIND_GREG_RBP, &bp) ||
	    UNWIND_READ(ctx, gregs + 8 * UNWIND_GREG_RIP, &pc))
		return UNWIND_STOP_READ;
	r->pc = pc;
	r->sp = sp;
	r->bp = bp;
	r->exact = 1;
	r->no_bp = 0;
	r->di = 0;
	r->bx_at = gregs + 8 * UNWIND_GREG_RBX;
	r->bp_at = gregs + 8 * UNWIND_GREG_RBP;
	r->bp_read = 1;
	return UNWIND_STOP_NONE;
}

UNWIND_INLINE enum unwind_stop unwind_apply(void *ctx, const struct unwind_rule *rule,
					    struct unwind_regs *r)
{
	__u64 cfa, bp = r->bp, pc;
	__u32 how = rule->rbp & UNWIND_RBP_MASK, slot = rule->rbp >> UNWIND_RBX_SHIFT;

	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return unwind_signal(ctx, r);
	if (rule->cfa == UNWIND_CFA_END)
		return UNWIND_STOP_END;
	if (rule->cfa == UNWIND_CFA_NONE)
		return UNWIND_STOP_NO_ROW;
	if (rule->cfa == UNWIND_CFA_UNKNOWN || rule->cfa > UNWIND_CFA_RBP_OTHER ||
	    (rule->cfa == UNWIND_CFA_RSP_RDI && (!r->exact || !r->di)))
		return UNWIND_STOP_RULE;
	if (rule->cfa == UNWIND_CFA_RBP || rule->cfa == UNWIND_CFA_RBP_DEREF ||
	    rule->cfa == UNWIND_CFA_RBP_OTHER || how == UNWIND_RBP_AT_RBP) {
		if (r->no_bp)
			return UNWIND_STOP_RULE;
		r->by_bp |= !r->bp_read;
	}
	r->bp_at = 0;
	if (rule->cfa == UNWIND_CFA_RBX && r->bx_at) {
		if (r->bx_at == 1)
			return UNWIND_STOP_RULE;
		if (UNWIND_READ(ctx, r->bx_at, &r->bx))
			return UNWIND_STOP_READ;
	}
	if (rule->cfa == UNWIND_CFA_PLT)
		cfa = r->sp + 8 + ((r->pc & 15) >= (__u64)rule->cfa_off ? 8 : 0);
	else if (rule->cfa == UNWIND_CFA_RBX)
		cfa = r->bx + (__u64)(__s64)rule->cfa_off;
	else if (rule->cfa == UNWIND_CFA_RBP || rule->cfa == UNWIND_CFA_RBP_DEREF ||
		 rule->cfa == UNWIND_CFA_RBP_OTHER)
		cfa = r->bp + (__u64)(__s64)rule->cfa_off;
	else
		cfa = r->sp + (__u64)(__s64)rule->cfa_off;
	if (rule->cfa == UNWIND_CFA_RSP_DEREF || rule->cfa == UNWIND_CFA_RBP_DEREF) {
		__u64 at = cfa;

		if (UNWIND_READ(ctx, at, &cfa))
			return UNWIND_STOP_READ;
		cfa += (__u64)(__s64)rule->cfa_add;
	} else if (rule->cfa != UNWIND_CFA_PLT) {
		cfa += (__u64)(__s64)rule->cfa_add * 65536;
	}
	/* A caller's frame lies above its callee's: anything else would go round in circles. */
	if (cfa <= r->sp && rule->cfa != UNWIND_CFA_RSP_RDI && rule->cfa != UNWIND_CFA_RBP_OTHER)
		return UNWIND_STOP_STUCK;
	if (how == UNWIND_RBP_AT_CFA || how == UNWIND_RBP_AT_RBP) {
		__u64 base = how == UNWIND_RBP_AT_CFA ? cfa : r->bp;

		r->bp_at = base + (__u64)(__s64)rule->rbp_off;
		if (UNWIND_READ(ctx, r->bp_at, &bp))
			return UNWIND_STOP_READ;
		r->bp_read = 1;
		r->no_bp = 0;
	} else if (how == UNWIND_RBP_UNKNOWN) {
		r->no_bp = 1;
	}
	if (slot)
		r->bx_at = slot == UNWIND_RBX_LOST ? 1 : cfa - 8 * (__u64)slot;
	if (rule->cfa == UNWIND_CFA_RSP_RDI)
		pc = r->di;
	else if (UNWIND_READ(ctx, cfa - 8, &pc))
		return UNWIND_STOP_READ;
	r->pc = pc;
	r->sp = cfa;
	r->bp = bp;
	r->exact = 0;
	return pc ? UNWIND_STOP_NONE : UNWIND_STOP_END;
}

/* What the code before a return address is. `code` is the word before it. */
enum unwind_call {
	UNWIND_CALL_NONE = 0,
	UNWIND_CALL_DIRECT = 1,
	UNWIND_CALL_INDIRECT = 2,
};

UNWIND_INLINE enum unwind_call unwind_call_before(__u64 code)
{
#define UNWIND_BEFORE(n) (code >> (64 - 8 * (n)) & 0xff)
#define UNWIND_INDIRECT(n) (UNWIND_BEFORE(n) == 0xff && (UNWIND_BEFORE((n)-1) & 0x38) == 0x10)
	if (UNWIND_INDIRECT(2) || UNWIND_INDIRECT(3) || UNWIND_INDIRECT(4) || UNWIND_INDIRECT(6) ||
	    UNWIND_INDIRECT(7))
		return UNWIND_CALL_INDIRECT;
	return UNWIND_BEFORE(5) == 0xe8 ? UNWIND_CALL_DIRECT : UNWIND_CALL_NONE;
}

UNWIND_INLINE int unwind_after_call(__u64 code)
{
	return unwind_call_before(code) != UNWIND_CALL_NONE;
}

/* What a call before `pc` has in its operand, relative to the code: its target, or a word there. */
UNWIND_INLINE __u64 unwind_call_operand(__u64 pc, __u64 code)
{
	return pc + (__u64)(__s64)(__s32)(code >> 32);
}

/* ff 15: an indirect call, through a word at the operand. */
UNWIND_INLINE int unwind_call_by_word(__u64 code)
{
	return (code >> 16 & 0xffff) == 0x15ff;
}

#define UNWIND_EACH_BYTE(byte) ((byte)*0x0101010101010101ull)

/* The top bit of every byte that is zero. */
UNWIND_INLINE __u64 unwind_zero_bytes(__u64 word)
{
	__u64 low = UNWIND_EACH_BYTE(0x7full);

	return ~(((word & low) + low) | word | low);
}

/*
 * Code that soon jumps through a register, or through a word that a register points to: a call to
 * it may lead anywhere. A jump through a word beside the code does not: it calls a library. `code`
 * has a zero behind the words that were read.
 */
#define UNWIND_STUB_WORDS 8
UNWIND_INLINE int unwind_stub_jumps(const __u64 *code)
{
	__u64 found = 0;

	for (__u32 i = 0; i < UNWIND_STUB_WORDS; i++) {
		__u64 byte = code[i], next = byte >> 8 | code[i + 1] << 56;
		__u64 jump = ~byte | ((next & UNWIND_EACH_BYTE(0x38)) ^ UNWIND_EACH_BYTE(0x20));

		/* ff /4, but for ff 25 */
		found |=
			unwind_zero_bytes(jump) & ~unwind_zero_bytes(next ^ UNWIND_EACH_BYTE(0x25));
	}
	return found != 0;
}

/*
 * A leaf in code that its object's unwind information leaves out: mostly a few instructions of
 * assembler that do not touch the stack, so that the return address is on top.
 */
UNWIND_INLINE enum unwind_stop unwind_bare_leaf(void *ctx, struct unwind_regs *r)
{
	__u64 pc, code;

	if (!r->exact || UNWIND_READ(ctx, r->sp, &pc) || UNWIND_READ(ctx, pc - 8, &code) ||
	    !unwind_after_call(code))
		return UNWIND_STOP_NO_ROW;
	r->pc = pc;
	r->sp += 8;
	r->exact = 0;
	r->bp_at = 0;
	return UNWIND_STOP_NONE;
}

/* Walks code without unwind information, in the hope of frame pointers. */
UNWIND_INLINE enum unwind_stop unwind_by_frame_pointer(void *ctx, struct unwind_regs *r)
{
	__u64 pc, bp;

	if (r->no_bp || r->bp < r->sp || (r->bp & 7))
		return UNWIND_STOP_FP_END;
	if (UNWIND_READ(ctx, r->bp, &bp) || UNWIND_READ(ctx, r->bp + 8, &pc))
		return UNWIND_STOP_FP_END;
	if (!pc)
		return UNWIND_STOP_FP_END;
	r->sp = r->bp + 16;
	r->by_bp |= !r->bp_read;
	r->bp_at = r->bp;
	r->bp_read = 1;
	r->bp = bp;
	r->bx_at = 1;
	r->pc = pc;
	r->exact = 0;
	return UNWIND_STOP_NONE;
}

/*
 * ---- Guesses ----
 *
 * Code that a program makes at run time has no unwind information, and often no frame pointer: it
 * pushes a few registers, makes room on the stack, and uses rbp as it likes. Its caller is then
 * looked for: a word of the stack that can be a return address. It must
 *
 *   - lie where a call leaves one: at a call the stack is aligned to 16 bytes;
 *   - point into code that has a table, just after a call;
 *   - lead on: by its own rule, from there, to a frame that begins at a multiple of 16 and to
 *     another return address just after a call, or to the entry.
 *
 * Finished calls also leave their return addresses on the stack. Most of those calls were direct,
 * and a direct call cannot reach code that is made at run time. So a word after an indirect call is
 * preferred to one after a direct call, and among equals the nearest. See probe/lib/guess.bpf.h and
 * unwind/guess.c for the searches.
 */
/* The first word from sp on that may be a return address. */
UNWIND_INLINE __u64 unwind_guess_first(__u64 sp)
{
	return ((sp + 7) & -(__u64)UNWIND_GUESS_STEP) + 8;
}

/*
 * UNWIND_RETURN(ctx, pc) is not zero if pc may be a return address; the including file defines it.
 */
#ifdef UNWIND_RETURN
/* May bp be the frame pointer of a function that has called from `slot`? */
UNWIND_INLINE int unwind_bp_fits(void *ctx, __u64 slot, __u64 bp)
{
	__u64 pc;

	return bp > slot && bp - slot < UNWIND_STACK_MAX && !(bp & 15) &&
	       !UNWIND_READ(ctx, bp + 8, &pc) && UNWIND_RETURN(ctx, pc);
}

/*
 * The k-th candidate (0 ... UNWIND_GUESS_SAVED) for the rbp of a function that has called from
 * `slot`: the present rbp, or a word that the callee has pushed. 0: it is none.
 */
UNWIND_INLINE __u64 unwind_guess_bp(void *ctx, __u64 slot, const struct unwind_regs *r, __u32 k)
{
	__u64 bp = r->bp;

	if (!k && r->no_bp)
		return 0;
	if (k && (slot - 8 * (__u64)k < r->sp || UNWIND_READ(ctx, slot - 8 * (__u64)k, &bp)))
		return 0;
	return unwind_bp_fits(ctx, slot, bp) ? bp : 0;
}

/* To the caller whose return address `pc` is at `slot`; bp is 0 if it is not known. */
UNWIND_INLINE void unwind_guess_take(__u64 slot, __u64 pc, __u64 bp, struct unwind_regs *r)
{
	r->pc = pc;
	r->sp = slot + 8;
	r->bp = bp;
	r->no_bp = !bp;
	r->exact = 0;
	r->di = 0;
	r->bx_at = 1;
	r->bp_at = 0;
	r->bp_read = 1;
}

/* Does a guess lead on? `stop` and `after` are the result of a step from it. */
UNWIND_INLINE int unwind_guess_leads(void *ctx, enum unwind_stop stop,
				     const struct unwind_regs *after)
{
	/* A zero ends a real walk, but does not confirm a guess. */
	if (stop == UNWIND_STOP_END)
		return after->pc != 0;
	return stop == UNWIND_STOP_NONE && !(after->sp & 15) && UNWIND_RETURN(ctx, after->pc);
}
#endif
#endif

#endif
