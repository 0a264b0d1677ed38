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
	found = distress_find(copy, len, DISTRESS_DEFAULT_LEVEL, &alarm, text, room);
	free(copy);
	assert_true(found || alarm == (enum alarm)77);
	return found ? (int)alarm : NONE;
}

static int find(const char *record)
{
	char text[80];

	return find_bytes(record, strlen(record), text, sizeof(text));
}

struct line {
	int level;
	const char *text;
	int alarm;
};

static void check_lines(const struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char record[600], text[500];
		int got;

		snprintf(record, sizeof(record), "%d,1234,987654321,-,caller=T412;%s\n",
			 lines[i].level, lines[i].text);
		got = find_bytes(record, strlen(record), text, sizeof(text));
		if (got != lines[i].alarm)
			fail_msg("<%d>'%s': %d, not %d", lines[i].level, lines[i].text, got,
				 lines[i].alarm);
		if (got != NONE)
			assert_string_equal(text, lines[i].text);
	}
}

static void test_real_lines(void **state)
{
	static const struct line lines[] = {
		{0, "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [async-profiler:412]",
		 ALARM_GRAVE},
		{0, "NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:92]",
		 ALARM_GRAVE},
		{3, "BUG: soft lockup - CPU#0 stuck for 61s! [modprobe:1145]", ALARM_GRAVE},
		{0, "watchdog: Watchdog detected hard LOCKUP on cpu 3", ALARM_GRAVE},
		{0, "watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", ALARM_GRAVE},
		{0, "NMI watchdog: Watchdog detected hard LOCKUP on cpu 5", ALARM_GRAVE},
		{3, "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", ALARM_GRAVE},
		{3, "rcu: INFO: rcu_sched self-detected stall on CPU", ALARM_GRAVE},
		{3,
		 "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-...D } 21 "
		 "jiffies s: 1337 root: 0x2/.",
		 ALARM_GRAVE},
		{3, "rcu: INFO: rcu_tasks detected stalls on tasks:", ALARM_GRAVE},
		{3,
		 "rcu: rcu_preempt kthread starved for 16253 jiffies! g12377 f0x0 "
		 "RCU_GP_WAIT_FQS(5) ->state=0x402 ->cpu=1",
		 ALARM_GRAVE},
		{3,
		 "rcu: rcu_preempt kthread timer wakeup didn't happen for 64995 jiffies! g64137 "
		 "f0x0 RCU_GP_WAIT_FQS(5) ->state=0x402",
		 ALARM_GRAVE},
		{3, "INFO: rcu_sched self-detected stall on CPU", ALARM_GRAVE},
		{3,
		 "INFO: rcu_sched self-detected stall on CPU { 0}  (t=60000 jiffies g=3 c=2 q=7)",
		 ALARM_GRAVE},
		{0, "BUG: workqueue lockup - pool cpus=1 node=0 flags=0x0 nice=0 stuck for 33s!",
		 ALARM_GRAVE},
		{1,
		 "smp: csd: Detected non-responsive CSD lock (#1) on CPU#0, waiting 5000000042 ns "
		 "for CPU#01 do_flush_tlb_all+0x0/0x30(0x0).",
		 ALARM_GRAVE},
		{3, "BUG: scheduling while atomic: swapper/1/0/0x00010000", ALARM_GRAVE},
		{0, "BUG: spinlock lockup suspected on CPU#3, swapper/3/0", ALARM_GRAVE},
		{1, "BUG: kernel NULL pointer dereference, address: 0000000000000008", ALARM_GRAVE},
		{1, "BUG: unable to handle page fault for address: ffffc90000a1f000", ALARM_GRAVE},
		{2, "kernel BUG at mm/slub.c:4383!", ALARM_GRAVE},
		{4, "Oops: 0002 [#1] PREEMPT SMP NOPTI", ALARM_GRAVE},
		{4, "Oops: 0000 [#12] PREEMPT_RT SMP DEBUG_PAGEALLOC KASAN PTI", ALARM_GRAVE},
		{4, "Oops: Oops: 0000 [#1] SMP NOPTI", ALARM_GRAVE},
		{4,
		 "Oops: general protection fault, probably for non-canonical address "
		 "0xdead000000000122: 0000 [#1] SMP PTI",
		 ALARM_GRAVE},
		{4,
		 "general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b: "
		 "0000 [#1] PREEMPT SMP",
		 ALARM_GRAVE},
		{4, "general protection fault: 0000 [#1] SMP", ALARM_GRAVE},
		{4, "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI", ALARM_GRAVE},
		{4, "Oops: invalid opcode: 0000 [#1] SMP NOPTI", ALARM_GRAVE},
		{4,
		 "WARNING: CPU: 2 PID: 0 at kernel/events/core.c:1893 "
		 "perf_group_detach+0x1b2/0x260",
		 ALARM_GRAVE},
		{4, "WARNING: CPU: 2 PID: 0 at /src/linux/kernel/bpf/core.c:12 bpf_x+0x1/0x2",
		 ALARM_GRAVE},
		{4,
		 "WARNING: kernel/trace/bpf_trace.c:541 at bpf_x+0x1b/0x50, CPU#1: thaw-drain/812",
		 ALARM_GRAVE},
		{6,
		 "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 250.424 msecs",
		 ALARM_SAMPLING},
		{6,
		 "NMI: INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.424 "
		 "msecs",
		 ALARM_SAMPLING},
		{6,
		 "perf: interrupt took too long (2513 > 2500), lowering "
		 "kernel.perf_event_max_sample_rate to 79000",
		 ALARM_SAMPLING},
		{4, "hrtimer: interrupt took 501441082 ns", ALARM_SAMPLING},
		{4, "sched: RT throttling activated", ALARM_LOAD},
		{3, "INFO: task postgres:4711 blocked for more than 120 seconds.", ALARM_NOTE},
		{3, "INFO: task a b: 1:4711 blocked for more than 120 seconds.", ALARM_NOTE},
		{4,
		 "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as "
		 "unstable because the skew is too large:",
		 ALARM_NOTE},
		/* Nothing of the kind. */
		{6, "rcu: Hierarchical RCU implementation.", NONE},
		{6, "rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.", NONE},
		{6, "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.", NONE},
		{3, "watchdog: Delayed init of the lockup detector failed: -2", NONE},
		{6, "perf: Dynamic interrupt throttling disabled, can hang your system!", NONE},
		{4, "WARNING: CPU: 0 PID: 1 at drivers/gpu/drm/drm_vblank.c:728 x+0x1/0x2", NONE},
		{4, "my watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:1]", NONE},
		{4, "hrtimer", NONE},
		{4, "", NONE},
	};

	check_lines(lines, sizeof(lines) / sizeof(lines[0]));
}

/*
 * What any user can have the kernel write: as this machine and others wrote it, with names that
 * were chosen with care. A name is of 15 bytes at most; a file's or a control group's may be
 * longer.
 */
static void test_lines_with_names(void **state)
{
	static const struct line lines[] = {
		{6, "Oops:[27891]: segfault at 8 ip 000055ae0192a16a sp 00007ffc56211f60 error 6",
		 NONE},
		{6,
		 "Oops: 0 [#1] X[27892]: segfault at 8 ip 00005626c8c2616a sp 00007ffc21aab250 "
		 "error 6 in crash[116a,5626c8c26000+1000] likely on CPU 1 (core 1, socket 0)",
		 NONE},
		{6, "Oops: 1 [#1] A[1]: segfault at 8 ip 0 sp 0 error 6 in x: 0000 [#1] SMP[1,2+3]",
		 NONE},
		{6, "watchdog: BUG: [1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "BUG: soft looku[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "BUG: unable to [1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "kernel BUG at x[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "general protec[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6,
		 "rcu: INFO: a[1]: segfault at 8 ip 0 sp 0 error 6 in x self-detected stall on "
		 "CPU[1,2+3]",
		 NONE},
		{6, "INFO: task a:1[77]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6,
		 "INFO: task a[7]: segfault at 8 ip 0 sp 0 error 6 in b:1 blocked for more than "
		 "120 seconds.",
		 NONE},
		{6, "perf: interrupt[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "hrtimer: interr[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "WARNING: CPU: 0[1]: segfault at 8 ip 0 sp 0 error 6 in kernel/bpf/", NONE},
		{6, "Oops:\\x0aOops: 1[1]: segfault at 8 ip 0 sp 0 error 6", NONE},
		{6, "traps: Oops: 0 [#1] [1] general protection fault ip:1 sp:2 error:0", NONE},
		/* With the level of a warning: */
		{4,
		 "Oops: 0 [#1] X[1] misaligned vsyscall (exploit attempt or buggy program) -- look "
		 "up the vsyscall kernel parameter if you need a workaround "
		 "ip:ffffffffff600009 cs:33 sp:7fff0450e390 ax:0 si:7fff0450e370 di:0",
		 NONE},
		{4, "Oops: 0 [#1] A invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0", NONE},
		{4,
		 "Oops: 0 [#1] A: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), "
		 "nodemask=(null),cpuset=x: 0000 [#1] SMP,mems_allowed=0",
		 NONE},
		{4, "Oops: x [#1] AB (77): Attempt to access syslog with CAP_SYS_ADMIN", NONE},
		{4, "WARNING: drivers/x.c:7 at fn+0x1b/0x50, CPU#1: kernel/bpf/a.c:/812", NONE},
		{4, "WARNING: CPU: 1 PID: 2 at drivers/x.c:7 fn+0x1b/0x50 kernel/bpf/core.c:12 a",
		 NONE},
		{4, "hrtimer: inter invoked oom-killer: gfp_mask=0xcc0, order=0", NONE},
		{4, "CPU: 0 PID: 812 Comm: Oops: 0 [#1] Not tainted 6.1.0 #1", NONE},
		/* A bridge may be named so, by a user in a network of their own: */
		{6, "Oops: port 1(veth0) entered blocking state", NONE},
		{6, "rcu: port 1(veth0) entered blocking state", NONE},
		{6, "hrtimer: port 1(veth0) entered blocking state", NONE},
		{6, "Oops: received packet on veth0 with own address as source address", NONE},
	};

	check_lines(lines, sizeof(lines) / sizeof(lines[0]));
}

/* The kernel's own words at another level than its own are somebody else's. */
static void test_level_counts(void **state)
{
	static const struct line lines[] = {
		{4, "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:412]", NONE},
		{6, "rcu: INFO: rcu_sched self-detected stall on CPU", NONE},
		{5, "Oops: 0002 [#1] PREEMPT SMP NOPTI", NONE},
		{7,
		 "perf: interrupt took too long (2513 > 2500), lowering "
		 "kernel.perf_event_max_sample_rate to 79000",
		 NONE},
		{0, "rcu: INFO: rcu_sched self-detected stall on CPU", ALARM_GRAVE},
		/* What programs write has who they are in front: 1 for any, by eights. */
		{8, "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:412]", NONE},
		{11, "rcu: INFO: rcu_sched self-detected stall on CPU", NONE},
		{12, "Oops: 0002 [#1] PREEMPT SMP NOPTI", NONE},
		{14,
		 "perf: interrupt took too long (2513 > 2500), lowering "
		 "kernel.perf_event_max_sample_rate to 79000",
		 NONE},
		{184, "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:412]", NONE},
	};
	static const char oops[] = "7,1,2,-;Oops: 0002 [#1] SMP\n";
	enum alarm alarm;
	char text[80];

	check_lines(lines, sizeof(lines) / sizeof(lines[0]));
	/* kernel.printk may give another level to what is printed without one. */
	assert_true(distress_find(oops, strlen(oops), 7, &alarm, text, sizeof(text)));
	assert_false(distress_find(oops, strlen(oops), 6, &alarm, text, sizeof(text)));
}

/* All lines of an oops of 6.12, by a process with a name that was chosen for it: its own count. */
static void test_whole_oops(void **state)
{
	static const struct line lines[] = {
		{1, "BUG: kernel NULL pointer dereference, address: 0000000000000000", ALARM_GRAVE},
		{1, "#PF: supervisor write access in kernel mode", NONE},
		{1, "#PF: error_code(0x0002) - not-present page", NONE},
		{6, "PGD 0 P4D 0 ", NONE},
		{4, "Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI", ALARM_GRAVE},
		{4,
		 "CPU: 0 UID: 0 PID: 812 Comm: Oops: 1 [#1] A Not tainted 6.12.9-amd64 #1  Debian "
		 "6.12.9-1",
		 NONE},
		{4, "Hardware name: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.16.3", NONE},
		{4, "RIP: 0010:sysrq_handle_crash+0x16/0x20", NONE},
		{4, "Code: 90 90 90 0f 1f 44 00 00 c7 04 25 00 00 00 00 01 00 00 00 <c6> 04", NONE},
		{4, "RSP: 0018:ffffb2b0c0a3bdb8 EFLAGS: 00010246", NONE},
		{4, "Call Trace:", NONE},
		{4, " <TASK>", NONE},
		{4, " __handle_sysrq+0xa5/0x190", NONE},
		{4, " ? asm_exc_page_fault+0x26/0x30", NONE},
		{4, " entry_SYSCALL_64_after_hwframe+0x76/0x7e", NONE},
		{4, " </TASK>", NONE},
		{4, "Modules linked in: intel_rapl_msr kvm_amd ccp", NONE},
		{4, "CR2: 0000000000000000", NONE},
		{4, "---[ end trace 0000000000000000 ]---", NONE},
	};

	check_lines(lines, sizeof(lines) / sizeof(lines[0]));
}

static void test_only_the_first_line_counts(void **state)
{
	/* Details that a driver attaches are in further lines, and are somebody's data. */
	assert_int_equal(find("6,1,2,-;usb 1-1: new device\n DEVICE=;Oops: 1\n"), NONE);
	assert_int_equal(find("6,1,2,-;fine\nwatchdog: BUG: soft lockup\n"), NONE);
	assert_int_equal(find("4,1,2,-;Oops: 0002 [#1]\n SUBSYSTEM=x\n"), ALARM_GRAVE);
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
		"18446744073709551616,1;Oops: 1 [#1]",
		"4294967296,1;Oops: 1 [#1]",
		";Oops: 1 [#1]",
		",1;Oops: 1 [#1]",
		"-4,1;Oops: 1 [#1]",
		"+4,1;Oops: 1 [#1]",
		" 4,1;Oops: 1 [#1]",
		"4;Oops: 1 [#1]",
		"Oops: 1 [#1]",
		"\xff\xfe;\xc3\x28",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(find(odd[i]), NONE);
	/* A text that begins with a semicolon, zeros within. */
	assert_int_equal(find("4,1;Oops: 1 [#1]"), ALARM_GRAVE);
	assert_int_equal(find("4,1;;Oops: 1 [#1]"), NONE);
	char zeros[] = "0,1;watchdog: BUG: soft lockup - CPU#\0 stuck\0 for 1s\n";
	char text[64];

	assert_int_equal(find_bytes(zeros, sizeof(zeros) - 1, text, sizeof(text)), ALARM_GRAVE);
	assert_string_equal(text, "watchdog: BUG: soft lockup - CPU#? stuck? for 1s");
}

static void test_text_is_safe_to_show(void **state)
{
	char text[24], one[1] = {'x'};
	static const char record[] = "2,1,2,-;kernel BUG at \033[2J\a\xc3\xa4\x7f\r";
	static const char plain[] = "4,1;general protection fault: 0000 [#1]";

	assert_int_equal(find_bytes(record, sizeof(record) - 1, text, sizeof(text)), ALARM_GRAVE);
	assert_string_equal(text, "kernel BUG at ?[2J?????");
	assert_int_equal(find_bytes(plain, sizeof(plain) - 1, text, 11), ALARM_GRAVE);
	assert_string_equal(text, "general pr");
	assert_int_equal(find_bytes("4,1;Oops: 1 [#1]", 16, one, 1), ALARM_GRAVE);
	assert_int_equal(one[0], '\0');
}

/* Every beginning of a real record, and every single byte changed: never beyond its end. */
static void test_cut_and_changed(void **state)
{
	static const char record[] =
		"4,1,2,-;INFO: NMI handler (x) took too long to run: 1.1 msecs\n";
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
		cmocka_unit_test(test_lines_with_names),
		cmocka_unit_test(test_level_counts),
		cmocka_unit_test(test_whole_oops),
		cmocka_unit_test(test_only_the_first_line_counts),
		cmocka_unit_test(test_hostile_records),
		cmocka_unit_test(test_text_is_safe_to_show),
		cmocka_unit_test(test_cut_and_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
