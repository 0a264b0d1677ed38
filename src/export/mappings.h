/* SPDX-License-Identifier: MIT */
/*
 * Modules as mappings with addresses. A capture knows a frame by its file and the offset in it, not
 * by where some process had mapped that; formats want one address space. So each file gets a range
 * of its own, one after another in the order of use, as if it were mapped there from its first
 * byte: tools that read the file for names find the right place. Addresses of the kernel and of
 * generated code stay as they were.
 *
 *   mappings_add() for each address; mappings_place(); then the rest.
 */
#ifndef THAW_EXPORT_MAPPINGS_H
#define THAW_EXPORT_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/number.h"
#include "model/wait/names.h"

struct profile_mapping {
	const struct module *module;
	uint64_t low, high;    /* offsets that are used */
	uint64_t start, limit; /* addresses: [start, limit) */
	uint64_t shift;	       /* from offset to address */
	bool named;	       /* some of it has names */
	bool inlined;	       /* and inlined functions */
};

struct mappings {
	const struct names *names;
	struct numbers modules;
	VEC(struct profile_mapping) list; /* by number - 1 */
};

void mappings_init(struct mappings *m, const struct names *names);
void mappings_done(struct mappings *m);

/* The mapping's number; 0: nothing was mapped there. */
uint32_t mappings_add(struct mappings *m, const struct known_frame *k);
void mappings_place(struct mappings *m);
/* Its number and the address in it. */
uint64_t mappings_address(struct mappings *m, const struct known_frame *k, uint32_t *ret_number);

/* "/usr/bin/server", "[kernel]", "[jit 412]" */
void mapping_name(const struct profile_mapping *m, struct buf *out);
/* In hexadecimal; false: it has none. */
bool mapping_build_id(const struct profile_mapping *m, struct buf *out);

#endif
