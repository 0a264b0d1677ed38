// SPDX-License-Identifier: MIT
#include "model/lock/kind.h"
#include "model/lock/sum.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"

static const struct {
	const char *name, *words;
	enum lock_class class;
	enum reason reason;
} kinds[LOCK_KINDS] = {
#define LOCK_KIND(id, UPPER, name, words, class, reason)                                           \
	[id] = {name, words, LOCK_CLASS_##class, REASON_##reason},
#include "model/lock/lock.def"
};

const char *lock_kind_name(enum lock_kind k)
{
	return kinds[k].name;
}

const char *lock_kind_words(enum lock_kind k)
{
	return kinds[k].words;
}

enum lock_class lock_kind_class(enum lock_kind k)
{
	return kinds[k].class;
}

enum reason lock_kind_reason(enum lock_kind k)
{
	return kinds[k].reason;
}

bool lock_kind_contended(enum lock_kind k)
{
	return kinds[k].class != LOCK_CLASS_SIGNAL;
}

int lock_kind_parse(const char *word, enum lock_kind *ret)
{
	struct buf known = {0};
	int rc;

	for (unsigned k = 0; k < LOCK_KINDS; k++) {
		if (!strcmp(kinds[k].name, word)) {
			*ret = k;
			buf_done(&known);
			return 0;
		}
		buf_printf(&known, "%s%s", k ? ", " : "", kinds[k].name);
	}
	rc = err_set(-EINVAL, "there is no kind of lock '%s'; those known are: %s", word,
		     buf_cstr(&known));
	buf_done(&known);
	return rc;
}

/* 0, 1, then [2^k, 1.5 * 2^k) and [1.5 * 2^k, 2^(k+1)) for k = 1, 2, ... */
unsigned hist_bucket(uint64_t ns)
{
	unsigned log, i;

	if (ns < 2)
		return (unsigned)ns;
	log = 63u - (unsigned)__builtin_clzll(ns);
	i = 2 * log + (unsigned)(ns >> (log - 1) & 1);
	return i < HIST_BUCKETS ? i : HIST_BUCKETS - 1;
}

uint64_t hist_from(unsigned bucket)
{
	if (bucket < 2)
		return bucket;
	return bucket & 1 ? 3ull << (bucket / 2 - 1) : 1ull << bucket / 2;
}

enum lock_kind klock_kind(uint32_t flags)
{
	if (flags & KLOCK_RT)
		return LOCK_RTMUTEX;
	if (flags & KLOCK_PERCPU)
		return LOCK_PERCPU_RWSEM;
	if (flags & KLOCK_MUTEX)
		return LOCK_KMUTEX;
	if (flags & KLOCK_SPIN)
		return flags & (KLOCK_READ | KLOCK_WRITE) ? LOCK_KRWLOCK : LOCK_SPINLOCK;
	return flags & (KLOCK_READ | KLOCK_WRITE) ? LOCK_RWSEM : LOCK_KSEMAPHORE;
}
