/* SPDX-License-Identifier: MIT */
/*
 * Where unwind tables lie (wire/probe.h): shelves of 8 MiB, of which there are as many as the
 * tables in use need, up to a limit. A table is split into the parts that must be in one piece: its
 * dir, its rules and each of its leaves. So a freed part leaves no hole that cannot be used.
 *
 * A freed part rests before it is written to again: any walk that saw it is over by then. One
 * thread places tables, and waits for the kernel when it needs another shelf: not the one that
 * drains the rings. Any thread may call the rest, and never waits for a shelf.
 */
#ifndef THAW_UNWIND_TABLES_SHELVES_H
#define THAW_UNWIND_TABLES_SHELVES_H

#include "base/units.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "unwind/table.h"

/* How long a freed part rests. */
#define SHELVES_REST_NS NSEC_PER_SEC

struct shelves;

/* A part of one shelf, in words. */
struct shelf_part {
	uint32_t at, n;
};

struct shelf_parts {
	VEC(struct shelf_part) list;
	uint32_t dir, rules; /* as struct unwind_object has them */
	size_t words;
};

struct shelves *shelves_new(const struct unwind_arrays *a);
void shelves_free(struct shelves *s);
/* -ENOSPC: no room beside the other tables; -EFBIG: too large even without them. */
int shelves_place(struct shelves *s, const struct unwind_table *t, struct shelf_parts *ret);
void shelves_give_back(struct shelves *s, struct shelf_parts *p, uint64_t now);
/* The table as it is on the shelves. `t` is the one that was placed. */
struct unwind_table shelves_view(struct shelves *s, const struct unwind_table *t,
				 const struct shelf_parts *p);
/* Words that are still free, resting ones included; and how many there may be in all. */
size_t shelves_left(struct shelves *s);
size_t shelves_limit(struct shelves *s);

#endif
