/* SPDX-License-Identifier: MIT */
/* Names of data: (module, virtual address) -> the innermost named piece. Private to store/. */
#ifndef THAW_STORE_SYMDATA_H
#define THAW_STORE_SYMDATA_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "store/pool.h"
#include "store/types.h"

struct symbol_piece {
	uint32_t module;
	uint32_t around; /* the index of the one that it lies in */
	struct data_symbol d;
};

struct symdata {
	VEC(struct symbol_piece) v;
	bool in_order;
	struct pool pool;
};

void symdata_add(struct symdata *s, uint32_t module, const struct data_symbol *d);
const struct data_symbol *symdata_find(struct symdata *s, uint32_t module, uint64_t address);
size_t symdata_count(struct symdata *s);
void symdata_done(struct symdata *s);

/* DATA: as many pieces as fit in `bytes`, from the one numbered `first` on; returns how many. */
size_t symdata_put(struct buf *out, struct symdata *s, size_t first, size_t bytes);
int symdata_read(struct symdata *s, struct cursor c);

#endif
