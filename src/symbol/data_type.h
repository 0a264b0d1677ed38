/* SPDX-License-Identifier: MIT */
/* Finds, from a variable's type and an offset, the member that lies there. Private to symbol/. */
#ifndef THAW_SYMBOL_DATA_TYPE_H
#define THAW_SYMBOL_DATA_TYPE_H

#include <stdbool.h>

#include "elf/dwarf.h"
#include "symbol/table.h"

struct data_path {
	char text[TABLE_NAME_MAX];
	size_t len;
	uint64_t begin, size; /* of what the path names, from the start of the variable */
	bool whole;	      /* it is a lock: see symbols_data */
};

/* The size of a variable or a member; 0 if it has no type, or one without a size. */
uint64_t data_size(const struct dw_die *die);

/* Goes from the variable to the innermost member at the offset. text and len hold its name. */
void data_descend(const struct dw_die *variable, uint64_t offset, struct data_path *path);

#endif
