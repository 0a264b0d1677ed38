/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the probes read of registers and of threads, on the machine that they are built for. */
#if defined(__TARGET_ARCH_x86)
#include "arch/x86_64/regs.bpf.h"
#else
#error "thaw is not made for this architecture yet: docs/architecture.md says what one takes"
#endif
