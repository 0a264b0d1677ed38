// SPDX-License-Identifier: MIT
/*
 * The probes of bugs.def: is the fix there, or is what the bug needs missing? Each says good, bad,
 * or that only the version is left to judge by.
 */
#include "guard/verdict.h"

#include <string.h>

static bool symbol(const struct guard_facts *f, enum guard_symbol s)
{
	return f->symbols >> s & 1;
}

/* A condition that must hold for the bug to be there. */
static enum guess needs(enum guard_setting condition)
{
	return condition == SETTING_NO ? GUESS_GOOD : GUESS_VERSION;
}

PROBE(none)
{
	return GUESS_VERSION;
}

PROBE(usercopy)
{
	return needs(f->hardened_usercopy);
}

PROBE(uprobes)
{
	return needs(f->uprobes);
}

PROBE(realtime)
{
	return f->realtime == SETTING_YES ? GUESS_VERSION : GUESS_GOOD;
}

PROBE(realtime_any)
{
	return f->realtime == SETTING_YES ? GUESS_BAD : GUESS_GOOD;
}

/* thaw's own rate, unless another is asked for. */
PROBE(sample_rate)
{
	return f->max_sample_rate > 0 && f->max_sample_rate < 999 ? GUESS_BAD : GUESS_GOOD;
}

PROBE(lockdown)
{
	return f->lockdown == LOCKDOWN_CONFIDENTIALITY ? GUESS_BAD : GUESS_GOOD;
}

PROBE(machine)
{
	return strcmp(f->machine, "x86_64") ? GUESS_BAD : GUESS_GOOD;
}

PROBE(old)
{
	return f->kernel && f->kernel < KERNEL(5, 10, 0) ? GUESS_BAD : GUESS_GOOD;
}

/* Or none that can be understood. */
PROBE(newer)
{
	return !f->kernel || f->kernel > GUARD_NEWEST ? GUESS_BAD : GUESS_GOOD;
}

PROBE(clock_destroy)
{
	return f->symbols_read && symbol(f, SYMBOL_CLOCK_DESTROY) ? GUESS_GOOD : GUESS_VERSION;
}

/*
 * With the last of its fixes (5860f5ce479f) check_deadlock() is gone, while check_deadlock_AA()
 * stays. A kernel without the new kind of lock has none of this.
 */
static enum guess new_locks(const struct guard_facts *f)
{
	if (!f->symbols_read)
		return GUESS_VERSION;
	if (!symbol(f, SYMBOL_RQSPINLOCK))
		return GUESS_GOOD;
	if (symbol(f, SYMBOL_CHECK_DEADLOCK_AA) && !symbol(f, SYMBOL_CHECK_DEADLOCK))
		return GUESS_GOOD;
	return GUESS_VERSION;
}

PROBE(ring_lockup)
{
	return new_locks(f);
}

PROBE(ring_stall)
{
	return new_locks(f);
}

PROBE(ring_old)
{
	return f->symbols_read && symbol(f, SYMBOL_RQSPINLOCK) ? GUESS_GOOD : GUESS_VERSION;
}

PROBE(no_loop)
{
	return guard_has(k, FEATURE_BPF_LOAD) && !guard_has(k, FEATURE_BPF_LOOP) ? GUESS_BAD
										 : GUESS_GOOD;
}

PROBE(no_contention)
{
	return guard_has(k, FEATURE_TP_SWITCH) && !guard_has(k, FEATURE_TP_CONTENTION) ? GUESS_BAD
										       : GUESS_GOOD;
}
