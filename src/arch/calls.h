/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The system calls of the machine that thaw is built for: ARCH_CALL_futex_waitv. Its headers may be
 * older than the kernels that thaw runs on, and lack some of them.
 */
#ifndef THAW_ARCH_CALLS_H
#define THAW_ARCH_CALLS_H

enum arch_calls {
#define CALL(nr, name) ARCH_CALL_##name = nr,
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/calls.def"
#else
#error "thaw is not made for this architecture yet: docs/architecture.md says what one takes"
#endif
};

#endif
