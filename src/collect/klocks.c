// SPDX-License-Identifier: MIT
#include "collect/klocks.h"

#include "arch/host.h"
#include "wire/state.h"

void klock_settle(struct engine *e, uint64_t addr, uint32_t flags, uint32_t *what, uint64_t *of)
{
	int cpu;

	if (*what != KLOCK_ANY)
		return;
	if (addr >= ARCH_KERNEL_BEGIN && addr < ARCH_KERNEL_END) {
		*what = KLOCK_GLOBAL;
		*of = addr; /* as the offsets of the kernel's frames */
		return;
	}
	cpu = (flags & KLOCK_SPIN) && e->ops->runqueue ? e->ops->runqueue(e, addr) : -1;
	if (cpu >= 0) {
		*what = KLOCK_RUNQUEUE;
		*of = (uint64_t)cpu;
	}
}
