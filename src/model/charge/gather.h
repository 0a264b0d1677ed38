/* SPDX-License-Identifier: MIT */
/*
 * What crowd.c and crowd_parts.c share: the time of one lock in parts, while its waits are charged.
 */
#ifndef THAW_MODEL_GATHER_H
#define THAW_MODEL_GATHER_H

#include "model/charge/charge.h"

struct gathered {
	uint64_t start, end;
	uint32_t charge; /* UINT32_MAX: none */
	uint32_t hold;
	uint32_t row;	  /* of the wait in which the holder was: see hold_doing */
	uint32_t culprit; /* index + 1; 0: not known */
	uint32_t lock;	  /* at the end of the chain */
	uint32_t run;	  /* of parts behind one culprit without a gap */
	uint8_t hold_doing;
	uint8_t depth; /* of the chain; 1: the holder is the culprit */
};

/* Parts without a gap behind one culprit and lock. */
struct part_run {
	size_t first, n;
	uint64_t start, end;
	bool summed;
	struct piece_part sums[PIECE_PARTS]; /* by charge, of those that took most */
};

struct at_part {
	uint32_t key, part;
};

struct gather {
	struct holder_walk *w;
	uint32_t lock;
	uint64_t to; /* the end of the last wait */
	VEC(struct gathered) parts;
	VEC(struct part_run) runs;
	VEC(uint32_t) long_runs;
	uint64_t long_min;	    /* what they are longer than */
	VEC(struct at_part) chains; /* threads on the chain of a part, by thread and time */
	VEC(struct at_part) by_of;  /* charges and holds as in struct vote, the same */
	bool has_by_of;
	VEC(struct crowd_wait) waits; /* what goes to the crowd */
	VEC(struct crowd_missed) missed;
	size_t start_at, end_at; /* parts: where waits began and ended last */
	size_t wait_from;	 /* in waits: the first of the current wait */
	uint32_t hold, hold_row; /* the part that is being told */
	uint8_t hold_doing;
};

/* crowd_parts.c */

/* Cuts the times in which anybody waited into parts. */
void gather_parts(struct gather *g, const struct charged_wait *waits, size_t n);
/*
 * The part that this moment is in. gather_near() starts at the place found last, since waits mostly
 * come in the order of time.
 */
size_t gather_at(const struct gather *g, uint64_t ts);
size_t gather_near(const struct gather *g, size_t *place, uint64_t ts);
/* The first with this key at or after that part; v is sorted by gather_sort(). */
size_t gather_find(const struct at_part *v, size_t n, uint32_t key, uint32_t part);
void gather_sort(struct at_part *v, size_t n);
/* Makes the pieces of [from, to) of the current wait, which goes to the crowd. */
void gather_pieces(struct gather *g, uint64_t from, uint64_t to);

#endif
