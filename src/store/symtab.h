/* SPDX-License-Identifier: MIT */
/* Names of frames: (module, offset) -> symbols. Written at the end of a recording, or made later.
 */
#ifndef THAW_STORE_SYMTAB_H
#define THAW_STORE_SYMTAB_H

#include "store/types.h"

struct symtab;

struct symtab *symtab_new(void);
void symtab_free(struct symtab *st);

/* Copies everything. n is 1 plus the inlined ones; a second add of the same address is ignored. */
void symtab_add(struct symtab *st, uint32_t module, uint64_t offset, const struct symbol *syms,
		size_t n);

/* The number of symbols at that address and the first of them, or 0. Valid as long as `st`. */
size_t symtab_find(const struct symtab *st, uint32_t module, uint64_t offset,
		   const struct symbol **ret_syms);
size_t symtab_count(const struct symtab *st);

#endif
