// SPDX-License-Identifier: MIT
/* Facts are read from files; here from those of machines that are made up. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "guard/facts.h"

static char root[64];

static void folders(const char *path)
{
	char part[256];

	for (const char *s = strchr(path + strlen(root) + 1, '/'); s; s = strchr(s + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(s - path), path);
		mkdir(part, 0755);
	}
}

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	folders(path);
	return path;
}

static void file(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	strcpy(root, "/tmp/thaw-facts-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void test_nothing_there(void **state)
{
	struct guard_facts f;

	guard_facts_read(&f, root);
	guard_facts_symbols(&f, root);
	assert_int_equal(f.kernel, 0);
	assert_false(f.btf);
	assert_false(f.symbols_read);
	assert_int_equal(f.paranoid, GUARD_UNKNOWN);
	assert_int_equal(f.max_sample_rate, GUARD_UNKNOWN);
	assert_int_equal(f.hardened_usercopy, SETTING_UNKNOWN);
	assert_int_equal(f.caps, 0);
}

static void test_a_server(void **state)
{
	struct guard_facts f;
	gzFile gz;

	file("/proc/sys/kernel/osrelease", "6.1.0-54-amd64\n");
	file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.190-1 (2026-10-01)\n");
	file("/proc/sys/kernel/arch", "x86_64\n");
	file("/proc/sys/kernel/perf_event_paranoid", "3\n");
	file("/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	file("/proc/sys/kernel/kptr_restrict", "1\n");
	file("/proc/self/status", "Name:\tx\nCapPrm:\t0\nCapEff:\t0000004000000000\n");
	file("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
	file("/sys/kernel/btf/vmlinux", "x");
	file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	file("/boot/config-6.1.0-54-amd64",
	     "# CONFIG_PREEMPT_RT is not set\nCONFIG_HARDENED_USERCOPY=y\n"
	     "CONFIG_HARDENED_USERCOPY_DEFAULT_ON=y\nCONFIG_BPF_SYSCALL=y\n");
	folders(at("/proc/self/ns/x"));
	assert_int_equal(symlink("pid:[4026531836]", at("/proc/self/ns/pid")), 0);
	assert_int_equal(symlink("user:[4026532001]", at("/proc/self/ns/user")), 0);
	file("/proc/kallsyms", "0000000000000000 T perf_swevent_destroy_hrtimer_x\n"
			       "0000000000000000 t check_deadlock\n"
			       "0000000000000000 t resilient_queued_spin_lock_slowpath\t[mod]\n");
	guard_facts_read(&f, root);
	guard_facts_symbols(&f, root);
	assert_int_equal(f.kernel, KERNEL(6, 1, 190));
	assert_int_equal(f.vendor, VENDOR_STABLE);
	assert_string_equal(f.distro, "Debian GNU/Linux 12");
	assert_string_equal(f.config, "/boot/config-6.1.0-54-amd64");
	assert_int_equal(f.hardened_usercopy, SETTING_YES);
	assert_int_equal(f.uprobes, SETTING_NO);
	assert_int_equal(f.realtime, SETTING_NO);
	assert_int_equal(f.paranoid, 3);
	assert_int_equal(f.kptr_restrict, 1);
	assert_int_equal(f.lockdown, LOCKDOWN_INTEGRITY);
	assert_true(f.btf);
	assert_true(guard_capable(&f, CAP_PERFMON));
	assert_true(guard_can_perfmon(&f));
	assert_false(guard_can_bpf(&f));
	assert_false(f.own_pid_ns);
	assert_true(f.own_user_ns);
	assert_true(f.symbols_read);
	assert_int_equal(f.symbols, 1u << SYMBOL_CHECK_DEADLOCK | 1u << SYMBOL_RQSPINLOCK);

	/* The running kernel's own configuration goes before a file's, and the boot line's before
	 * both. */
	gz = gzopen(at("/proc/config.gz"), "wb");
	assert_true(
		gzputs(gz, "CONFIG_PREEMPT_RT=y\nCONFIG_UPROBES=y\nCONFIG_HARDENED_USERCOPY=y\n") >
		0);
	gzclose(gz);
	file("/proc/cmdline", "quiet hardened_usercopy=off\n");
	guard_facts_read(&f, root);
	assert_string_equal(f.config, "/proc/config.gz");
	assert_int_equal(f.hardened_usercopy, SETTING_NO);
	assert_int_equal(f.uprobes, SETTING_YES);
	assert_int_equal(f.realtime, SETTING_YES);
}

static void test_containers(void **state)
{
	struct guard_facts f;
	FILE *env;

	env = fopen(at("/proc/1/environ"), "w");
	fwrite("HOME=/\0container=lxc\0", 1, 21, env);
	fclose(env);
	guard_facts_read(&f, root);
	assert_string_equal(f.container, "lxc");
	file("/run/.containerenv", "");
	guard_facts_read(&f, root);
	assert_string_equal(f.container, "podman");
	file("/.dockerenv", "");
	guard_facts_read(&f, root);
	assert_string_equal(f.container, "docker");
}

/* Lines longer than any buffer, and files without an end. */
static void test_odd_files(void **state)
{
	struct guard_facts f;
	char *line = malloc(100000);

	memset(line, 'x', 99999);
	line[99999] = '\0';
	file("/proc/sys/kernel/osrelease", line);
	file("/proc/sys/kernel/version", line);
	file("/proc/kallsyms", line);
	file("/etc/os-release", "PRETTY_NAME=\n");
	file("/proc/sys/kernel/perf_event_paranoid", "many\n");
	file("/boot/config", line);
	guard_facts_read(&f, root);
	guard_facts_symbols(&f, root);
	assert_int_equal(f.kernel, 0);
	assert_int_equal(f.paranoid, GUARD_UNKNOWN);
	assert_string_equal(f.distro, "");
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_server, setup, teardown),
		cmocka_unit_test_setup_teardown(test_containers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
