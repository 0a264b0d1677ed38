/* SPDX-License-Identifier: MIT */
/*
 * What one thread, or one CPU, did from its first to its last moment: stretches that tile the time
 * between, sixteen bytes each, in blocks of 32 with the sums of all that came before at each block.
 * So the sums between any two moments take a search and at most two blocks, however long the
 * recording is.
 *
 * Times are nanoseconds since the start of the recording, once the lane is sealed; a moment before
 * that is taken as 0, and one beyond 2.2 years as that.
 */
#ifndef THAW_QUERY_LANE_H
#define THAW_QUERY_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* What a stretch is: an enum reason (waiting; RUN_QUEUE and THROTTLED: could run), or */
enum {
	CLASS_REASONS = 48,
#define CLASS(id, UPPER, name, label, words, look, level, light, dark) CLASS_##UPPER = id,
#include "query/class.def"
	CLASS_WAIT = 255, /* only before it is sealed: the row has the reason */
};

/* Classes numbered without holes, for arrays of sums. */
enum { SLOT_RUNNING = CLASS_REASONS, SLOT_LOST, SLOT_GONE, SLOT_IDLE, SLOTS };

static inline unsigned class_slot(unsigned class)
{
	return class < CLASS_REASONS ? class : class - CLASS_RUNNING + SLOT_RUNNING;
}

static inline unsigned slot_class(unsigned slot)
{
	return slot < CLASS_REASONS ? slot : slot - SLOT_RUNNING + CLASS_RUNNING;
}

#define LANE_TIME_MAX ((1ull << 56) - 1)

struct stretch {
	uint64_t at;  /* start << 8 | class */
	uint32_t row; /* waiting: of the tally; running: the CPU; of a CPU: the thread */
	uint32_t by;  /* waiting: who ended it, into columns.wakers, + 1; 0: not known */
};

enum { LANE_BLOCK = 32 };

struct lane {
	struct stretch **blocks;
	size_t n, room;	  /* stretches; blocks that there is room for */
	uint64_t end;	  /* of the last stretch */
	uint64_t *starts; /* sealed: of the blocks, for a search that touches little memory */
	uint64_t slots;	  /* which are in it, as bits */
	uint64_t *sums;	  /* sealed: of each block, of those slots, in their order */
};

/* Blocks are allocated here, and freed all at once. */
struct arena {
	VEC(void *) slabs;
	size_t used; /* of the last */
};

void arena_done(struct arena *a);

/* Appends a stretch: what overlaps earlier ones is cut off, and a hole becomes CLASS_GONE. */
void lane_push(struct lane *l, struct arena *a, uint64_t start, uint64_t end, unsigned class,
	       uint32_t row, uint32_t by);
/* Makes the sums; all its classes are final. */
void lane_seal(struct lane *l);
void lane_done(struct lane *l);

static inline struct stretch *lane_at(const struct lane *l, size_t i)
{
	return &l->blocks[i / LANE_BLOCK][i % LANE_BLOCK];
}

static inline unsigned lane_class(const struct lane *l, size_t i)
{
	return lane_at(l, i)->at & 0xff;
}

static inline uint64_t lane_start(const struct lane *l, size_t i)
{
	return lane_at(l, i)->at >> 8;
}

static inline uint64_t lane_end(const struct lane *l, size_t i)
{
	return i + 1 < l->n ? lane_start(l, i + 1) : l->end;
}

/* The stretch at that moment; SIZE_MAX: there is none. */
size_t lane_find(const struct lane *l, uint64_t ts);

/*
 * Sums from the first moment to ever later ones. lane_walk_to() sets sums by slot; slots that the
 * lane does not have stay as they are.
 */
struct lane_walk {
	const struct lane *lane;
	size_t at;		    /* the stretch that it stands in */
	size_t stride;		    /* blocks, of the last step */
	size_t ahead, ahead_stride; /* the same of lane_walk_soon() */
	uint64_t before[SLOTS];	    /* of all before that one */
	uint8_t slots[SLOTS];
	unsigned n;
};

void lane_walk_init(struct lane_walk *w, const struct lane *l);
/* Prefetches what lane_walk_to() will need for that moment. */
void lane_walk_soon(struct lane_walk *w, uint64_t ts);
void lane_walk_to(struct lane_walk *w, uint64_t ts, uint64_t sums[SLOTS]);

/* Adds to sums how long each class lasted in [from, to), without CLASS_GONE. */
void lane_sums(const struct lane *l, uint64_t from, uint64_t to, uint64_t sums[SLOTS]);

#endif
