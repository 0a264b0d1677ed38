// SPDX-License-Identifier: MIT
/* Lines that kernels have really printed, lines that only look like them, and lines meant to hurt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "guard/distress.h"

#define NONE (-1)

/* From a copy of exactly that size, so that a read beyond it is seen. */
static int find_bytes(const char *record, size_t len, char *text, size_t room)
{
	char *copy = malloc(len ? len : 1);
	enum alarm alarm = (enum alarm)77;
	bool found;

	memcpy(copy, record, len);
	found = distress_find(copy, len, &alarm, text, room);
	free(copy);
	assert_true(found || alarm == (enum alarm)77);
	return found ? (int)alarm : NONE;
}

static int find(const char *record)
{
	char text[80];

	return find_bytes(record, strlen(record), text, sizeof(text));
}

static void test_real_lines(void **state)
{
	static const struct {
		const char *text;
		int alarm;
	} lines[] = {
		{"watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [async-profiler:412]",
		 ALARM_GRAVE},
		{"NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:92]",
		 ALARM_GRAVE},
		{"watchdog: Watchdog detected hard LOCKUP on cpu 3", ALARM_GRAVE},
		{"watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", ALARM_GRAVE},
		{"NMI watchdog: Watchdog detected hard LOCKUP on cpu 5", ALARM_GRAVE},
		{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", ALARM_GRAVE},
		{"rcu: INFO: rcu_sched self-detected stall on CPU", ALARM_GRAVE},
		{"rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-...D }",
		 ALARM_GRAVE},
		{"rcu: rcu_sched kthread starved for 5252 jiffies! g1 f0x0 RCU_GP_WAIT_FQS(5)",
		 ALARM_GRAVE},
		{"INFO: rcu_sched self-detected stall on CPU", ALARM_GRAVE},
		{"BUG: workqueue lockup - pool cpus=1 node=0 flags=0x0 nice=0 stuck for 33s!",
		 ALARM_GRAVE},
		{"BUG: kernel NULL pointer dereference, address: 0000000000000008", ALARM_GRAVE},
		{"BUG: unable to handle page fault for address: ffffc90000a1f000", ALARM_GRAVE},
		{"Oops: 0002 [#1] PREEMPT SMP NOPTI", ALARM_GRAVE},
		{"general protection fault, probably for non-canonical address 0x6b6b: 0000 [#1]",
		 ALARM_GRAVE},
		{"WARNING: CPU: 2 PID: 0 at kernel/events/core.c:1893 perf_group_detach+0x1b",
		 ALARM_GRAVE},
		{"INFO: NMI handler (perf_event_nmi_handler) took too long to run: 250.424 msecs",
		 ALARM_SAMPLING},
		{"perf: interrupt took too long (2513 > 2500), lowering "
		 "kernel.perf_event_max_sample_rate to 79000",
		 ALARM_SAMPLING},
		{"hrtimer: interrupt took 501441082 ns", ALARM_SAMPLING},
		{"sched: RT throttling activated", ALARM_LOAD},
		{"INFO: task postgres:4711 blocked for more than 120 seconds.", ALARM_NOTE},
		{"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as "
		 "unstable because the skew is too large:",
		 ALARM_NOTE},
		/* Nothing of the kind. */
		{"rcu: Hierarchical RCU implementation.", NONE},
		{"rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.", NONE},
		{"NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.", NONE},
		{"watchdog: Delayed init of the lockup detector failed: -2", NONE},
		{"perf: Dynamic interrupt throttling disabled, can hang your system!", NONE},
		{"WARNING: CPU: 0 PID: 1 at drivers/gpu/drm/drm_vblank.c:728", NONE},
		{"systemd[1]: watchdog: BUG: soft lockup detector enabled", NONE},
		{"my watchdog: BUG: soft lockup", NONE},
		{"hrtimer", NONE},
		{"", NONE},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char record[300], text[200];
		int got;

		snprintf(record, sizeof(record), "4,1234,987654321,-,caller=T412;%s\n",
			 lines[i].text);
		got = find_bytes(record, strlen(record), text, sizeof(text));
		if (got != lines[i].alarm)
			fail_msg("'%s': %d, not %d", lines[i].text, got, lines[i].alarm);
		if (got != NONE)
			assert_string_equal(text, lines[i].text);
	}
}

static void test_only_the_first_line_counts(void **state)
{
	/* Details that a driver attaches are in further lines, and are somebody's data. */
	assert_int_equal(find("6,1,2,-;usb 1-1: new device\n DEVICE=;Oops: 1\n"), NONE);
	assert_int_equal(find("6,1,2,-;fine\nwatchdog: BUG: soft lockup\n"), NONE);
	assert_int_equal(find("4,1,2,-;Oops: 0002\n SUBSYSTEM=x\n"), ALARM_GRAVE);
}

static void test_hostile_records(void **state)
{
	static const char *const odd[] = {
		"",
		";",
		";;",
		"\n",
		";\n",
		"Oops: without a head",
		"4,1,2,-\n;Oops: 1",
		"4,1,2,-",
		"4;watchdog:",
		"4;watchdog: hard LOCKU",
		"4;rcu: INFO:",
		"4; Oops: 1",
		"999999999999999999999999,,,,;x",
		"\xff\xfe;\xc3\x28",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(find(odd[i]), NONE);
	/* A text that begins with a semicolon, zeros within. */
	assert_int_equal(find(";Oops: 1"), ALARM_GRAVE);
	assert_int_equal(find("1;;Oops: 1"), NONE);
	char zeros[] = "4;watchdog:\0\0 hard LOCKUP\0 on cpu 1\n";
	char text[64];

	assert_int_equal(find_bytes(zeros, sizeof(zeros) - 1, text, sizeof(text)), ALARM_GRAVE);
	assert_string_equal(text, "watchdog:?? hard LOCKUP? on cpu 1");
}

static void test_text_is_safe_to_show(void **state)
{
	char text[24], one[1] = {'x'};
	static const char record[] = "4,1,2,-;Oops: \033[2J\a\xc3\xa4\x7f\r";

	assert_int_equal(find_bytes(record, sizeof(record) - 1, text, sizeof(text)), ALARM_GRAVE);
	assert_string_equal(text, "Oops: ?[2J?????");
	assert_int_equal(find_bytes("4;general protection fault, and so on", 37, text, 11),
			 ALARM_GRAVE);
	assert_string_equal(text, "general pr");
	assert_int_equal(find_bytes("4;Oops: 1", 9, one, 1), ALARM_GRAVE);
	assert_int_equal(one[0], '\0');
}

/* Every beginning of a real record, and every single byte changed: never beyond its end. */
static void test_cut_and_changed(void **state)
{
	static const char record[] =
		"4,1,2,-;INFO: NMI handler (x) took too long to run: 1 msecs\n";
	char text[32], other[sizeof(record)];

	for (size_t n = 0; n < sizeof(record); n++)
		(void)find_bytes(record, n, text, sizeof(text));
	for (size_t i = 0; i < sizeof(record) - 1; i++) {
		for (unsigned b = 0; b < 256; b += 5) {
			memcpy(other, record, sizeof(record));
			other[i] = (char)b;
			(void)find_bytes(other, sizeof(record) - 1, text, sizeof(text));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_lines),
		cmocka_unit_test(test_only_the_first_line_counts),
		cmocka_unit_test(test_hostile_records),
		cmocka_unit_test(test_text_is_safe_to_show),
		cmocka_unit_test(test_cut_and_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
