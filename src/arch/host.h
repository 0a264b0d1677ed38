/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine that thaw is built for. */
#ifndef THAW_ARCH_HOST_H
#define THAW_ARCH_HOST_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/host.h"
#else
#error "thaw is not made for this architecture yet: docs/architecture.md says what one takes"
#endif

#endif
