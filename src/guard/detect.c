// SPDX-License-Identifier: MIT
/*
 * What bugs.def looks for: is the fix there, or is what the bug needs missing? Each says good, bad,
 * or that only the version can decide.
 */
#include "guard/verdict.h"

#include <string.h>

#include "arch/host.h"

static bool symbol(const struct guard_facts *f, enum guard_symbol s)
{
	return f->symbols >> s & 1;
}

/* A condition that must hold for the bug to be there. */
static enum guess needs(enum guard_setting condition)
{
	return condition == SETTING_NO ? GUESS_GOOD : GUESS_VERSION;
}

enum guess detect_none(const struct guard_facts *f, const struct guard_features *k)
{
	return GUESS_VERSION;
}

enum guess detect_usercopy(const struct guard_facts *f, const struct guard_features *k)
{
	return needs(f->hardened_usercopy);
}

enum guess detect_uprobes(const struct guard_facts *f, const struct guard_features *k)
{
	return needs(f->uprobes);
}

enum guess detect_realtime(const struct guard_facts *f, const struct guard_features *k)
{
	return f->realtime == SETTING_YES ? GUESS_VERSION : GUESS_GOOD;
}

enum guess detect_realtime_any(const struct guard_facts *f, const struct guard_features *k)
{
	return f->realtime == SETTING_YES ? GUESS_BAD : GUESS_GOOD;
}

/* 999 is thaw's own rate, unless another is asked for. */
enum guess detect_sample_rate(const struct guard_facts *f, const struct guard_features *k)
{
	return f->max_sample_rate > 0 && f->max_sample_rate < 999 ? GUESS_BAD : GUESS_GOOD;
}

enum guess detect_lockdown(const struct guard_facts *f, const struct guard_features *k)
{
	return f->lockdown == LOCKDOWN_CONFIDENTIALITY ? GUESS_BAD : GUESS_GOOD;
}

enum guess detect_machine(const struct guard_facts *f, const struct guard_features *k)
{
	return strcmp(f->machine, ARCH_NAME) ? GUESS_BAD : GUESS_GOOD;
}

enum guess detect_old(const struct guard_facts *f, const struct guard_features *k)
{
	return f->kernel && f->kernel < KERNEL(5, 10, 0) ? GUESS_BAD : GUESS_GOOD;
}

/* Also true of a version that kernel.c cannot parse. */
enum guess detect_newer(const struct guard_facts *f, const struct guard_features *k)
{
	return !f->kernel || f->kernel > GUARD_NEWEST ? GUESS_BAD : GUESS_GOOD;
}

enum guess detect_clock_destroy(const struct guard_facts *f, const struct guard_features *k)
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

enum guess detect_ring_stall(const struct guard_facts *f, const struct guard_features *k)
{
	return new_locks(f);
}

enum guess detect_ring_old(const struct guard_facts *f, const struct guard_features *k)
{
	return f->symbols_read && symbol(f, SYMBOL_RQSPINLOCK) ? GUESS_GOOD : GUESS_VERSION;
}

enum guess detect_no_loop(const struct guard_facts *f, const struct guard_features *k)
{
	return guard_has(k, FEATURE_BPF_LOAD) && !guard_has(k, FEATURE_BPF_LOOP) ? GUESS_BAD
										 : GUESS_GOOD;
}

enum guess detect_no_contention(const struct guard_facts *f, const struct guard_features *k)
{
	return guard_has(k, FEATURE_TP_SWITCH) && !guard_has(k, FEATURE_TP_CONTENTION) ? GUESS_BAD
										       : GUESS_GOOD;
}

/* RHEL and SLE ship and test perf, which does the same: do not suspect their kernels. */
static bool perf_is_tested(const struct guard_facts *f)
{
	return f->vendor == VENDOR_FROZEN;
}

enum guess detect_perf_usercopy(const struct guard_facts *f, const struct guard_features *k)
{
	return perf_is_tested(f) ? GUESS_GOOD : detect_usercopy(f, k);
}

enum guess detect_perf_clocks(const struct guard_facts *f, const struct guard_features *k)
{
	return perf_is_tested(f) ? GUESS_GOOD : detect_clock_destroy(f, k);
}
