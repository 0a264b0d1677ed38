// SPDX-License-Identifier: MIT
#include "capture/klocks.h"

#include "wire/state.h"

/*
 * The kernel's own data and that of its modules lie in the top 2 GiB of the addresses (x86-64,
 * Documentation/arch/x86/x86_64/mm.rst), where nothing else does but what is behind them: whatever
 * is allocated, a CPU's variables among it, lies far below.
 */
#define IMAGE_BEGIN 0xffffffff80000000ull
#define MODULES_END 0xffffffffff000000ull

void klock_settle(struct engine *e, uint64_t addr, uint32_t flags, uint32_t *what, uint64_t *of)
{
	int cpu;

	if (*what != KLOCK_ANY)
		return;
	if (addr >= IMAGE_BEGIN && addr < MODULES_END) {
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
