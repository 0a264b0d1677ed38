/* SPDX-License-Identifier: MIT */
/*
 * The tally's rows as formats for profiles want them: a stack with a value for each sample type, a
 * thread, and for waits a reason and a lock. Sums are the report's: samples those of the threads,
 * off_cpu their waiting time. Nothing here grows with the number of events.
 */
#ifndef THAW_EXPORT_PROFILE_H
#define THAW_EXPORT_PROFILE_H

#include "export/export.h"
#include "model/summary/blamed.h"

enum profile_value {
#define PROFILE_VALUE(UPPER, type, unit, kind) PROFILE_##UPPER,
#include "export/profile.def"
	PROFILE_VALUES,
};

struct profile {
	const struct export_job *job;
	unsigned values; /* bits by enum profile_value: those that this export has */
	uint64_t period; /* nanoseconds that a sample stands for; 0: not known */
	struct blamed_waits blamed;
};

struct profile_row {
	const struct thread *thread;
	uint32_t kstack, ustack;
	bool probed; /* names_probed_stack() */
	uint64_t value[PROFILE_VALUES];
	const char *reason;	     /* NULL: it ran */
	const struct lock_sum *lock; /* NULL: none */
	/* Held the lock for more than half of the time that this thread waited for it; or NULL. */
	const struct thread *holder;
};

void profile_init(struct profile *p, const struct export_job *job);
void profile_done(struct profile *p);

const char *profile_type(enum profile_value v);
const char *profile_unit(enum profile_value v);

static inline bool profile_has(const struct profile *p, enum profile_value v)
{
	return p->values >> v & 1;
}

/* Rows are 0 to profile_rows() - 1; false: the export leaves this one out. */
size_t profile_rows(const struct profile *p);
bool profile_row(const struct profile *p, size_t i, struct profile_row *ret);

#endif
