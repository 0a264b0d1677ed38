/* SPDX-License-Identifier: MIT */
/*
 * The names of the kernel's functions, and of its data, kept for the next recording. /proc/kallsyms
 * must be read as a whole, and the kernel writes it line by line: that takes a tenth of a second,
 * for the few dozen functions of a recording.
 *
 * An entry belongs to one kernel, by its build id, and counts places from the kernel's beginning,
 * which changes with every boot. It has nothing of modules: a recording that needs one of their
 * functions reads /proc/kallsyms. BPF programs and trampolines come and go, and have no name here:
 * the engine knows those that are loaded (engine/bpf_own.c).
 */
#ifndef THAW_SYMBOL_KERNEL_KEPT_H
#define THAW_SYMBOL_KERNEL_KEPT_H

#include "kept/folder.h"
#include "symbol/table.h"

#define KERNEL_ID_MAX 64

struct kernel_ref {
	uint8_t id[KERNEL_ID_MAX];
	size_t id_len;
	uint64_t text; /* the address of _text */
};

enum kernel_part { KERNEL_CODE, KERNEL_DATA };

/* This machine's kernel. False: it does not tell us. */
bool kernel_ref_here(struct kernel_ref *ret);

/*
 * What is at these (ascending) addresses. NULL if one of them is in a module: `modules` is the text
 * of /proc/modules. *ret_kept: there is a whole entry of this kernel, whatever the addresses are.
 */
struct symbols *kernel_kept_get(struct kept *k, const struct kernel_ref *ref, enum kernel_part part,
				const uint64_t *at, size_t n, const char *modules, bool *ret_kept);
/* Keeps all symbols, except those past `end` and those of modules. */
void kernel_kept_put(struct kept *k, const struct kernel_ref *ref, enum kernel_part part,
		     const struct symbols *all, uint64_t end);

#endif
