/* SPDX-License-Identifier: MIT */
/* `thaw locks`: locks ranked, and a few of them in detail; or as JSON ("thaw.locks/1"). */
#ifndef THAW_REPORT_LOCKS_H
#define THAW_REPORT_LOCKS_H

#include <stdio.h>

#include "model/summary/summary.h"

#define LOCKS_SCHEMA "thaw.locks/1"

enum locks_order { LOCKS_BY_TOTAL, LOCKS_BY_MAX, LOCKS_BY_WAITS };

struct locks_opts {
	enum locks_order order;
	uint64_t top;	  /* rows; 0: ten (text), all (JSON) */
	uint64_t details; /* how many of them in detail */
	const char *lock; /* NULL: all; else a name, a part of one, or an address 0x... */
	const char *kind; /* NULL: all; as lock_kind_parse() knows it */
	bool signals;	  /* also what no thread holds: condition variables, joins */
	bool colour;
	size_t width;
};

typedef VEC(const struct lock_sum *) lock_list;

/*
 * The locks that match the options, in the order asked for. -ENOENT with words if a named lock is
 * not there.
 */
int locks_pick(const struct summary *s, const struct locks_opts *o, lock_list *ret);

void locks_text(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		FILE *out);
void locks_json(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		FILE *out);

/* The table alone, at most `lines` lines of it. */
void locks_table(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		 size_t lines, FILE *out);

/* locks_detail.c: one lock in detail. */
void locks_detail(const struct summary *s, const struct locks_opts *o, const struct lock_sum *l,
		  FILE *out);

/* By its word: "total", "max", "waits". -EINVAL with the list of them. */
int locks_order_parse(const char *word, enum locks_order *ret);
/* The i-th word, NULL after the last. */
const char *locks_order_word(size_t i);

#endif
