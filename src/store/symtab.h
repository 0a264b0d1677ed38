/* SPDX-License-Identifier: MIT */
/*
 * Names of frames, (module, offset) -> symbols, and of data, (module, virtual address) -> symbol.
 * Written at the end of a recording, or made later.
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

/* Copies it. The same piece may be added again. */
void symtab_add_data(struct symtab *st, uint32_t module, const struct data_symbol *d);
/* The innermost piece that holds the address, or NULL. Valid until the next symtab_add_data(). */
const struct data_symbol *symtab_find_data(struct symtab *st, uint32_t module, uint64_t address);
size_t symtab_data_count(struct symtab *st);

#endif
