/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The unwind rules, and the step that applies one, of the machine that thaw is built for. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/unwind.h"
#else
#error "thaw is not made for this architecture yet: docs/architecture.md says what one takes"
#endif
