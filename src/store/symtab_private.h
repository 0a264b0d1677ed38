/* SPDX-License-Identifier: MIT */
/* The addresses of a symbol table one by one, in no order, for writing them to a file. */
#ifndef THAW_STORE_SYMTAB_PRIVATE_H
#define THAW_STORE_SYMTAB_PRIVATE_H

#include "store/symdata.h"
#include "store/symtab.h"

struct symtab_entry {
	uint32_t module;
	uint32_t n;
	uint64_t offset;
	const struct symbol *syms;
};

/* symtab_count() of them. */
const struct symtab_entry *symtab_entries(const struct symtab *st);
struct symdata *symtab_data(struct symtab *st);

#endif
