/* SPDX-License-Identifier: MIT */
/*
 * The chunks that are not events: for each the bytes it is written as, and the table it is read
 * into. A read returns 0 or -EBADMSG with words, and may then have taken a part of what it read.
 * `max` is the largest index that a file of that size can have.
 */
#ifndef THAW_STORE_TABLES_H
#define THAW_STORE_TABLES_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "store/pool.h"
#include "store/ranges.h"
#include "store/symtab.h"
#include "store/types.h"

/* META */
struct fact {
	const char *key, *value;
};

struct capture_facts {
	VEC(struct fact) list;
	struct pool pool;
};

void facts_put(struct buf *out, const char *key, const char *value);
int facts_read(struct capture_facts *f, struct cursor c);
void facts_done(struct capture_facts *f);

/* MODULES: modules_put_head() goes in front of what modules_put() made. */
struct modules {
	VEC(struct module) list;
	struct ranges ranges;
	struct pool pool;
	size_t guesses; /* of the kind MODULE_GUESS */
};

void modules_put_head(struct buf *out, uint32_t first, uint32_t n);
void modules_put(struct buf *out, const struct module *m);
int modules_read(struct modules *m, struct cursor c, uint64_t max);
void modules_done(struct modules *m);

/* STACKS */
struct stacks_out {
	struct buf depths, modules, offsets;
	uint32_t first, n;
	uint64_t prev_offset;
};

struct stored_stacks {
	VEC(struct frame) frames;
	VEC(size_t) ends; /* of the frames of each stack */
	VEC(uint8_t) stops;
	struct ranges ranges;
};

void stacks_put(struct stacks_out *s, const struct frame *frames, size_t n, uint32_t stop);
size_t stacks_out_bytes(const struct stacks_out *s);
/* Appends the payload; what comes next starts a chunk whose first index is the next one. */
void stacks_finish(struct stacks_out *s, struct buf *out);
void stacks_out_done(struct stacks_out *s);
int stacks_read(struct stored_stacks *s, struct cursor c, uint64_t max);
size_t stacks_get(const struct stored_stacks *s, uint32_t index, const struct frame **ret_frames);
uint32_t stacks_stop(const struct stored_stacks *s, uint32_t index);
void stacks_done(struct stored_stacks *s);

enum { SYMBOL_CHUNK_BYTES = 1 << 20 };

/* SYMBOLS: as many addresses as fit in `bytes`, sorted; `pos` remembers where it was. */
struct symtab_entry;
void symbols_sort(const struct symtab *st, struct symtab_entry **ret_sorted);
size_t symbols_put(struct buf *out, const struct symtab_entry *sorted, size_t n, size_t bytes);
int symbols_read(struct symtab *st, struct cursor c);

#endif
