// SPDX-License-Identifier: MIT
/* Who can use which engine, and what everybody else is told. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard/guard.h"

#define BIT(n) (1ull << (n))
#define ROOT 0x1ffffffffffull

static struct guard_facts facts;
static struct guard_features features;
static struct guard_verdict v;

static void machine(uint64_t caps)
{
	facts = (struct guard_facts){.release = "6.19.1",
				     .machine = "x86_64",
				     .btf = true,
				     .caps = caps,
				     .paranoid = 2,
				     .max_sample_rate = 100000};
	features = (struct guard_features){.have = (1u << FEATURES) - 1};
	guard_kernel_parse(&facts, "");
}

static void lacks(enum guard_feature what)
{
	features.have &= ~(1u << what);
}

/* "bpf perf ctimer", those that can be used. */
static const char *usable(void)
{
	static char text[64];

	verdict_make(&v, &facts, &features, 0);
	text[0] = '\0';
	for (unsigned e = 0; e < ENGINES; e++)
		if (v.engines[e].usable) {
			strcat(text, *text ? " " : "");
			strcat(text, guard_engine_name(e));
		}
	return text;
}

static const char *why(enum guard_engine_id e)
{
	assert_false(v.engines[e].usable);
	assert_true(v.engines[e].rc < 0);
	return v.engines[e].why;
}

static void test_root(void **state)
{
	machine(ROOT);
	assert_string_equal(usable(), "bpf perf ctimer");
	machine(BIT(CAP_BPF) | BIT(CAP_PERFMON));
	assert_string_equal(usable(), "bpf perf ctimer");
	machine(BIT(CAP_SYS_ADMIN));
	assert_string_equal(usable(), "bpf perf ctimer");
}

static void test_plain_user(void **state)
{
	machine(0);
	lacks(FEATURE_BPF_LOAD);
	assert_string_equal(usable(), "perf ctimer");
	assert_int_equal(v.engines[ENGINE_BPF].rc, -EPERM);
	assert_non_null(strstr(why(ENGINE_BPF), "CAP_BPF and CAP_PERFMON"));
	assert_non_null(strstr(why(ENGINE_BPF), "sudo"));
	machine(BIT(CAP_BPF));
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "needs CAP_PERFMON,"));
	machine(BIT(CAP_PERFMON));
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "needs CAP_BPF,"));
}

static void test_paranoid(void **state)
{
	machine(0);
	facts.paranoid = 3;
	lacks(FEATURE_CLOCK_SELF);
	features.clock_errno = EACCES;
	assert_string_equal(usable(), "ctimer");
	assert_non_null(strstr(why(ENGINE_PERF), "perf_event_paranoid is 3"));
	/* Permitted by the setting, and still refused: that is a filter of system calls. */
	facts.paranoid = 2;
	features.clock_errno = EPERM;
	assert_string_equal(usable(), "ctimer");
	assert_non_null(strstr(why(ENGINE_PERF), "container"));
	assert_non_null(strstr(why(ENGINE_PERF), "not permitted"));
	lacks(FEATURE_CPU_TIMER);
	assert_string_equal(usable(), "");
}

static void test_namespaces(void **state)
{
	/* Rootless containers: all capabilities, and none of them worth anything to the kernel. */
	machine(ROOT);
	facts.own_user_ns = true;
	lacks(FEATURE_BPF_LOAD);
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "user namespace"));
	facts.paranoid = 3;
	lacks(FEATURE_CLOCK_SELF);
	assert_string_equal(usable(), "ctimer");
	assert_non_null(strstr(why(ENGINE_PERF), "perf_event_paranoid is 3"));
	machine(ROOT);
	facts.own_pid_ns = true;
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "--pid=host"));
}

static void test_kernel_lacks(void **state)
{
	machine(ROOT);
	facts.btf = false;
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "/sys/kernel/btf/vmlinux"));
	machine(ROOT);
	lacks(FEATURE_BPF_TASK_REGS);
	assert_string_equal(usable(), "perf ctimer");
	assert_non_null(strstr(why(ENGINE_BPF), "registers (5.15)"));
	/* These it can do without. */
	machine(ROOT);
	lacks(FEATURE_BPF_LOOP);
	lacks(FEATURE_BPF_CAST);
	lacks(FEATURE_TP_CONTENTION);
	lacks(FEATURE_TP_SCHED_EXIT);
	lacks(FEATURE_PREEMPT_COUNT);
	lacks(FEATURE_TP_SWITCH_STATE);
	assert_string_equal(usable(), "bpf perf ctimer");
	assert_int_equal(verdict_level(&v, "bpf"), LEVEL_DEGRADED);
}

/* Bugs that the perf engine would meet, and the others not. */
static void test_perf_refused(void **state)
{
	static const struct {
		const char *release, *usable;
	} rows[] = {
		{"5.18.9", "bpf perf ctimer"},
		{"5.19.2", "bpf ctimer"},
		{"6.0.19", "bpf ctimer"},
		{"6.1.0", "bpf perf ctimer"},
		{"6.17.7", "bpf perf ctimer"},
		{"6.17.8", "bpf ctimer"},
		{"6.18.5", "bpf ctimer"},
		{"6.18.6", "bpf perf ctimer"},
		{"5.14.0-570.el9", "bpf perf ctimer"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		machine(ROOT);
		strcpy(facts.release, rows[i].release);
		guard_kernel_parse(&facts, "");
		assert_string_equal(usable(), rows[i].usable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root),	     cmocka_unit_test(test_plain_user),
		cmocka_unit_test(test_paranoid),     cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_kernel_lacks), cmocka_unit_test(test_perf_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
