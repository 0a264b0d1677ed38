// SPDX-License-Identifier: MIT
/*
 * Which finding on which kernel. The truth is written down here by hand, from the release mails of
 * the stable branches, at the edges of each range; it is not read from bugs.def.
 */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/guard.h"

#define ALL_CAPS 0x1ffffffffffull

/* A kernel as its series comes: what its programs can do follows from the version. */
static void machine(struct guard_facts *f, struct guard_features *k, const char *release)
{
	*f = (struct guard_facts){.machine = "x86_64",
				  .btf = true,
				  .caps = ALL_CAPS,
				  .hardened_usercopy = SETTING_YES,
				  .uprobes = SETTING_YES,
				  .realtime = SETTING_NO,
				  .paranoid = 2,
				  .max_sample_rate = 100000};
	*k = (struct guard_features){0};
	snprintf(f->release, sizeof(f->release), "%s", release);
	guard_kernel_parse(f, "");
	k->have = (1u << FEATURES) - 1;
	if (f->kernel < KERNEL(5, 15, 0))
		k->have &= ~(1u << FEATURE_BPF_TASK_REGS);
	if (f->kernel < KERNEL(5, 17, 0))
		k->have &= ~(1u << FEATURE_BPF_LOOP);
	if (f->kernel < KERNEL(5, 19, 0))
		k->have &= ~(1u << FEATURE_TP_CONTENTION);
}

/* "H1 R4" */
static const char *found(const struct guard_verdict *v)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < v->n_findings; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
					v->findings[i].row->id);
	return text;
}

static void expect(const char *release, const char *want)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	machine(&f, &k, release);
	verdict_make(&v, &f, &k, 0);
	if (strcmp(found(&v), want))
		fail_msg("%s: found '%s', not '%s'", release, found(&v), want);
}

static void test_every_series(void **state)
{
	expect("5.4.0", "H25 F1 F2");
	expect("5.4.300", "H25 F1 F2");
	expect("5.9.16", "H25 F1 F2");
	expect("5.10.0", "F1 F2");
	expect("5.15.199", "F1 F2");
	expect("5.17.0", "F2");
	expect("5.18.19", "F2");
	expect("6.4.0", "R4");
	expect("6.6.54", "R4");
	expect("6.8.12", "R4");
	expect("6.12.115", "R4");
	expect("6.13.0", "R4");
	expect("6.14.11", "R4");
	expect("6.19.0", "");
	expect("6.19.14", "");
	expect("7.0.0", "");
	expect("7.1.5", "");
	expect("7.2.13", "");
}

static void test_user_reads(void **state)
{
	expect("5.18.19", "F2");
	expect("5.19.0", "H1 R4 H26");
	expect("6.0.19", "H1 R4 H26");
	expect("6.1.0", "H1 R4");
	expect("6.1.25", "H1 R4"); /* Amazon's, with which it was first seen */
	expect("6.1.35", "H1 R4");
	expect("6.1.36", "R4");
	expect("6.2.0", "H1 R4");
	expect("6.2.16", "H1 R4");
	expect("6.3.9", "H1 R4");
	expect("6.3.10", "R4");
	expect("6.4.0", "R4");
}

static void test_user_chains(void **state)
{
	expect("6.1.112", "R4");
	expect("6.1.113", "H2 R4");
	expect("6.1.130", "H2 R4");
	expect("6.1.131", "R4");
	expect("6.6.55", "H2 R4");
	expect("6.6.58", "H2 R4");
	expect("6.6.82", "H2 R4");
	expect("6.6.83", "R4");
	expect("6.10.13", "R4");
	expect("6.10.14", "H2 R4");
	expect("6.11.2", "R4");
	expect("6.11.3", "H2 R4");
	expect("6.11.11", "H2 R4");
	expect("6.12.0", "H2 R4");
	expect("6.12.18", "H2 R4");
	expect("6.12.19", "R4");
}

static void test_clocks(void **state)
{
	expect("6.16.7", "R1 R2");
	expect("6.16.8", "C1 R2");
	expect("6.16.12", "C1 R2");
	expect("6.17.0", "C1 R2");
	expect("6.17.7", "C1 R2");
	expect("6.17.8", "C2 R2 C3");
	expect("6.17.12", "C2 R2 C3");
	expect("6.17.13", "C2 R3 C3");
	expect("6.18.0", "C2 R2 C3");
	expect("6.18.1", "C2 R2 C3");
	expect("6.18.2", "C2 R3 C3");
	expect("6.18.5", "C2 R3 C3");
	expect("6.18.6", "R3");
	expect("6.18.44", "R3");
}

static void test_rings(void **state)
{
	expect("6.14.11", "R4");
	expect("6.15.0", "R1 R2");
	expect("6.15.11", "R1 R2");
	expect("6.16.3", "R1 R2");
}

static void test_newer_than_known(void **state)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	expect("7.2.200", "");
	expect("7.3.0", "NEW R5");
	expect("8.0.1", "NEW R5");
	expect("unheard of", "NEW F1 F2 R5");
	machine(&f, &k, "7.3.0");
	verdict_make(&v, &f, &k, 0);
	assert_true(v.engines[ENGINE_BPF].usable);
	assert_int_equal(v.mechanisms[MECHANISM_BPF], GUARD_ALLOW);
	assert_int_equal(v.mechanisms[MECHANISM_USER_READ], GUARD_DEGRADE);
	assert_int_equal(v.mechanisms[MECHANISM_KERNEL_LOCKS], GUARD_DEGRADE);
	assert_int_equal(verdict_stacks(&v), STACKS_FRAME_POINTERS);
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_DEGRADED);
}

/* What a bug needs is missing, or the fix itself is there: the version does not matter. */
static void test_probes_before_versions(void **state)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	machine(&f, &k, "6.1.20");
	f.hardened_usercopy = SETTING_NO;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "R4");
	machine(&f, &k, "6.12.5");
	f.uprobes = SETTING_NO;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "R4");
	/* A setting that cannot be read is as bad as one that is on. */
	f.uprobes = SETTING_UNKNOWN;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "H2 R4");

	machine(&f, &k, "6.18.3");
	f.symbols_read = true;
	f.symbols = 1u << SYMBOL_RQSPINLOCK | 1u << SYMBOL_CHECK_DEADLOCK_AA |
		    1u << SYMBOL_CHECK_DEADLOCK;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "C2 R3 C3");
	f.symbols |= 1u << SYMBOL_CLOCK_DESTROY;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "R3");
	f.symbols &= ~(1u << SYMBOL_CHECK_DEADLOCK);
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "");
	/* A 6.16 whose ring buffer was put back to its old lock. */
	machine(&f, &k, "6.16.2");
	f.symbols_read = true;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "");
}

static void distro(const char *release, const char *version, const char *signature,
		   const char *want_kernel, const char *want)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;
	char text[32];

	machine(&f, &k, "6.19.0");
	snprintf(f.release, sizeof(f.release), "%s", release);
	snprintf(f.version, sizeof(f.version), "%s", version);
	guard_kernel_parse(&f, signature);
	assert_string_equal(guard_version_text(text, sizeof(text), f.kernel), want_kernel);
	verdict_make(&v, &f, &k, 0);
	if (strcmp(found(&v), want))
		fail_msg("%s: found '%s', not '%s'", release, found(&v), want);
}

static void test_distributions(void **state)
{
	/* Debian hides upstream's version behind its series. */
	distro("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "", "6.1.27",
	       "H1 R4");
	distro("6.1.0-54-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.190-1 (2026-10-01)", "",
	       "6.1.190", "R4");
	distro("6.16.12+deb13-amd64",
	       "#1 SMP PREEMPT_DYNAMIC Debian 6.16.12-1~bpo13+1 (2025-10-20)", "", "6.16.12",
	       "C1 R2");
	/* Fedora, Arch and Amazon ship stable releases. */
	distro("6.17.4-200.fc42.x86_64", "#1 SMP PREEMPT_DYNAMIC Sun Oct 19 2025", "", "6.17.4",
	       "C1 R2");
	distro("6.1.25-37.47.amzn2023.x86_64", "#1 SMP", "", "6.1.25", "H1 R4");
	distro("6.17.1-arch1-1", "#1 SMP PREEMPT_DYNAMIC", "", "6.17.1", "C1 R2");
	/* Ubuntu picks: the fix of 6.17.8 may be in its 6.17.0, with what it broke. */
	distro("6.17.0-8-generic", "#8-Ubuntu SMP PREEMPT_DYNAMIC", "", "6.17.0", "C1 C2 R2 C3");
	distro("6.8.0-45-generic", "#45-Ubuntu SMP PREEMPT_DYNAMIC",
	       "Ubuntu 6.8.0-45.45-generic 6.8.12", "6.8.12", "R4");
	distro("6.11.0-19-generic", "#19~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC",
	       "Ubuntu 6.11.0-19.19~24.04.1-generic 6.11.11", "6.11.11", "H2 R4");
	/* RHEL and SLE: the version tells nothing, and nothing is taken for good. */
	distro("5.14.0-570.12.1.el9_6.x86_64", "#1 SMP PREEMPT_DYNAMIC", "", "5.14.0",
	       "H1 H2 C2 R1 R2");
	distro("6.4.0-150600.23.25-default", "#1 SMP PREEMPT_DYNAMIC", "", "6.4.0",
	       "H1 H2 C2 R1 R2");
	distro("6.17.1-1-default", "#1 SMP PREEMPT_DYNAMIC", "", "6.17.1", "C1 R2");
	distro("6.18-rc3", "#1 SMP", "", "6.18.0", "C2 R2 C3");
}

static void test_other_rows(void **state)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	machine(&f, &k, "6.19.0");
	f.lockdown = LOCKDOWN_INTEGRITY;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "");
	f.lockdown = LOCKDOWN_CONFIDENTIALITY;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "H12");
	assert_false(v.engines[ENGINE_BPF].usable);
	assert_true(v.engines[ENGINE_PERF].usable);

	machine(&f, &k, "6.19.0");
	strcpy(f.machine, "aarch64");
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "H16");
	assert_false(v.engines[ENGINE_BPF].usable);

	machine(&f, &k, "6.19.0");
	f.max_sample_rate = 999;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "");
	f.max_sample_rate = 998;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "H10");
	f.max_sample_rate = GUARD_UNKNOWN;
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "");
}

static void realtime(const char *release, const char *want)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	machine(&f, &k, release);
	f.realtime = SETTING_YES;
	verdict_make(&v, &f, &k, 0);
	if (strcmp(found(&v), want))
		fail_msg("%s: found '%s', not '%s'", release, found(&v), want);
}

static void test_real_time(void **state)
{
	realtime("5.15.0", "H6 RT F1 F2");
	realtime("6.1.114", "H2 H6 R4 RT");
	realtime("6.1.115", "H2 R4 RT");
	realtime("6.6.83", "H6 R4 RT");
	realtime("6.6.84", "R4 RT");
	realtime("6.11.5", "H2 H6 R4 RT");
	realtime("6.11.6", "H2 R4 RT");
	realtime("6.12.30", "R4 RT");
	realtime("6.19.0", "RT");
}

static void test_levels(void **state)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;

	/* What costs nothing, and what concerns others only, is still good. */
	machine(&f, &k, "6.18.3");
	verdict_make(&v, &f, &k, 0);
	assert_string_equal(found(&v), "C2 R3 C3");
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_GOOD);
	assert_int_equal(verdict_level(&v, "perf"), LEVEL_DEGRADED);
	assert_int_equal(verdict_level(&v, NULL), LEVEL_REFUSED);
	machine(&f, &k, "6.12.5");
	verdict_make(&v, &f, &k, 0);
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_GOOD);
	assert_int_equal(verdict_stacks(&v), STACKS_TABLES);
	machine(&f, &k, "6.1.20");
	verdict_make(&v, &f, &k, 0);
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_DEGRADED);
	assert_int_equal(verdict_stacks(&v), STACKS_FRAME_POINTERS);
	/* Both ways to walk a user stack are closed. */
	machine(&f, &k, "6.12.5");
	f.vendor = VENDOR_FROZEN;
	verdict_make(&v, &f, &k, 0);
	assert_int_equal(verdict_stacks(&v), STACKS_NONE);
	assert_true(v.findings[0].unsure);
}

static void test_accept(void **state)
{
	struct guard_facts f;
	struct guard_features k;
	struct guard_verdict v;
	uint32_t accepted = 0;

	assert_int_equal(guard_accept("h1", &accepted), 0);
	machine(&f, &k, "6.1.20");
	verdict_make(&v, &f, &k, accepted);
	assert_string_equal(found(&v), "H1 R4"); /* it is still told */
	assert_true(v.findings[0].accepted);
	assert_int_equal(verdict_stacks(&v), STACKS_TABLES);
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_ACCEPTED);
	/* It accepts that one and no other. */
	assert_int_equal(guard_accept("H12", &accepted), 0);
	machine(&f, &k, "5.4.0");
	f.lockdown = LOCKDOWN_CONFIDENTIALITY;
	verdict_make(&v, &f, &k, accepted);
	assert_false(v.engines[ENGINE_BPF].usable);
	assert_non_null(strstr(v.engines[ENGINE_BPF].why, "H25"));
	machine(&f, &k, "6.18.3");
	verdict_make(&v, &f, &k, accepted);
	assert_false(v.engines[ENGINE_PERF].usable);
	assert_int_equal(guard_accept("C3", &accepted), 0);
	verdict_make(&v, &f, &k, accepted);
	assert_true(v.engines[ENGINE_PERF].usable);
	assert_int_equal(guard_accept("H99", &accepted), -EINVAL);
	assert_non_null(strstr(err_msg(), "H1, "));
	/* There is nothing to accept in what concerns others, or cannot be had. */
	assert_int_equal(guard_accept("C1", &accepted), -EINVAL);
	assert_int_equal(guard_accept("F1", &accepted), -EINVAL);
	assert_int_equal(guard_accept("H10", &accepted), -EINVAL);
}

static void test_rates(void **state)
{
	struct guard g = {.facts = {.max_sample_rate = 500}};

	assert_int_equal(guard_rate(&g, 999), 500);
	assert_int_equal(guard_rate(&g, 99), 99);
	assert_int_equal(guard_rate(&g, 0), 0);
	g.facts.max_sample_rate = GUARD_UNKNOWN;
	assert_int_equal(guard_rate(&g, 999), 999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_series),
		cmocka_unit_test(test_user_reads),
		cmocka_unit_test(test_user_chains),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_newer_than_known),
		cmocka_unit_test(test_probes_before_versions),
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_other_rows),
		cmocka_unit_test(test_real_time),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
