/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registers with which a thread entered the kernel. Their layout is that of ptrace(2), which
 * does not change; the loader relocates fields of the kernel's own structs (CO-RE).
 */
#ifndef THAW_ARCH_X86_64_REGS_H
#define THAW_ARCH_X86_64_REGS_H

#include <asm/ptrace.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned int status;
};

struct thread_struct {
	unsigned long fsbase;
};

#pragma clang attribute pop

/* A plain store is a release store here: see ring_commit(). */
#define ARCH_STORES_IN_ORDER

#define REGS_PC(r) ((r)->rip)
#define REGS_SP(r) ((r)->rsp)
#define REGS_BP(r) ((r)->rbp)
#define REGS_BX(r) ((r)->rbx)
/* The arguments of a system call. */
#define REGS_ARG0(r) ((r)->rdi)
#define REGS_ARG1(r) ((r)->rsi)
#define REGS_ARG2(r) ((r)->rdx)
#define REGS_ARG3(r) ((r)->r10)
#define REGS_ARG4(r) ((r)->r8)
/* Its number; negative: an exception. */
#define REGS_CALL(r) ((r)->orig_rax)
/* A worker of io_uring or vhost has never been in user mode: its registers are zero. */
#define REGS_ARE_SET(r) ((r)->cs)
/* 64-bit code; __USER32_CS is 0x23. */
#define REGS_USER_64(r) (((r)->cs & 0xffff) == 0x33u)

/* Is it in a call of the 32-bit table? TS_COMPAT of arch/x86/include/asm/thread_info.h. */
#define TASK_COMPAT(t) ((t)->thread_info.status & 0x2u)
/* Where the stack of a thread that libc made ends. */
#define TASK_THREAD_AREA(t) ((t)->thread.fsbase)

#endif
