/* SPDX-License-Identifier: MIT */
/*
 * The names of the kernel's functions, kept for the next recording. /proc/kallsyms must be read as
 * a whole, and the kernel writes it line by line: that takes a tenth of a second, for the few dozen
 * functions of a recording.
 *
 * An entry belongs to one kernel, by its build id, and counts places from the kernel's beginning,
 * which changes with every boot. It covers _text to _etext: modules and BPF programs come and go,
 * and a recording that needs one of their functions reads /proc/kallsyms.
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

/* This machine's kernel. False: it does not tell us. */
bool kernel_ref_here(struct kernel_ref *ret);

/*
 * The functions at these (ascending) addresses. NULL if one address is in no kept function.
 * *ret_kept: there is a whole entry of this kernel, whatever the addresses are.
 */
struct symbols *kernel_kept_get(struct kept *k, const struct kernel_ref *ref, const uint64_t *at,
				size_t n, bool *ret_kept);
/* All functions, and where _etext is. */
void kernel_kept_put(struct kept *k, const struct kernel_ref *ref, const struct symbols *all,
		     uint64_t etext);

#endif
