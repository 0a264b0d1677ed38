/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own code and data and those of its modules lie in the top 2 GiB of the addresses
 * (Documentation/arch/x86/x86_64/mm.rst). Nothing else lies below them there: allocated memory,
 * CPUs' variables included, is far lower.
 */
#ifndef THAW_ARCH_X86_64_KERNEL_H
#define THAW_ARCH_X86_64_KERNEL_H

#define X86_64_KERNEL_BEGIN 0xffffffff80000000ull
#define X86_64_KERNEL_END 0xffffffffff000000ull

#endif
