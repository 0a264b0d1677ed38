/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef THAW_ARCH_X86_64_HOST_H
#define THAW_ARCH_X86_64_HOST_H

#include "arch/x86_64/kernel.h"

#define ARCH_NAME "x86_64"  /* as `uname -m` has it */
#define ARCH_WORDS "x86-64" /* as people write it */
#define ARCH_ELF EM_X86_64
#define ARCH_PAGE 4096u

#define ARCH_KERNEL_BEGIN X86_64_KERNEL_BEGIN
#define ARCH_KERNEL_END X86_64_KERNEL_END

/* Registers as DWARF numbers them (System V ABI, figure 3.36). */
#define ARCH_DWARF_BX 3
#define ARCH_DWARF_BP 6
#define ARCH_DWARF_SP 7
#define ARCH_DWARF_RETURN 16

/* The unwinder's registers, by perf's numbers (arch/x86/include/uapi/asm/perf_regs.h). */
enum {
	ARCH_PERF_BX = 1,
	ARCH_PERF_DI = 5,
	ARCH_PERF_BP = 6,
	ARCH_PERF_SP = 7,
	ARCH_PERF_IP = 8,
};
#define ARCH_PERF_REGS                                                                             \
	(1ull << ARCH_PERF_BX | 1ull << ARCH_PERF_DI | 1ull << ARCH_PERF_BP |                      \
	 1ull << ARCH_PERF_SP | 1ull << ARCH_PERF_IP)

/* In the head of Go's tables (runtime/symtab.go): instructions of any length, words of 8 bytes. */
#define ARCH_GO_QUANTUM 1
#define ARCH_GO_POINTER 8

/* Not memcpy(): AddressSanitizer would check what it copies, and stacks are full of red zones. */
static inline void arch_copy_words(void *to, const void *from, unsigned long words)
{
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

/* Of a ucontext_t, in a handler of signals. */
#define ARCH_CONTEXT_PC(c) ((c)->uc_mcontext.gregs[REG_RIP])
#define ARCH_CONTEXT_SP(c) ((c)->uc_mcontext.gregs[REG_RSP])
#define ARCH_CONTEXT_BP(c) ((c)->uc_mcontext.gregs[REG_RBP])
#define ARCH_CONTEXT_DI(c) ((c)->uc_mcontext.gregs[REG_RDI])
#define ARCH_CONTEXT_BX(c) ((c)->uc_mcontext.gregs[REG_RBX])

#endif
