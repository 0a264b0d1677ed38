/* SPDX-License-Identifier: MIT */
/* The kinds of locks: the rows of lock.def. */
#ifndef THAW_MODEL_LOCK_KIND_H
#define THAW_MODEL_LOCK_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/reason.h"

enum lock_class { LOCK_CLASS_HELD, LOCK_CLASS_SIGNAL, LOCK_CLASS_KERNEL, LOCK_CLASS_SPIN };

enum lock_kind {
#define LOCK_KIND(id, UPPER, name, words, class, reason) LOCK_##UPPER = id,
#include "model/lock/lock.def"
	LOCK_KINDS,
};

const char *lock_kind_name(enum lock_kind k);  /* "mutex" */
const char *lock_kind_words(enum lock_kind k); /* "kernel mutex" */
enum lock_class lock_kind_class(enum lock_kind k);
enum reason lock_kind_reason(enum lock_kind k);
/* By name; -EINVAL with the list of them. */
int lock_kind_parse(const char *word, enum lock_kind *ret);
/* A wait on it is contention: somebody has what others want. */
bool lock_kind_contended(enum lock_kind k);
/* By KLOCK.flags and KLOCKED.flags. */
enum lock_kind klock_kind(uint32_t flags);

#endif
