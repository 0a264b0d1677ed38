// SPDX-License-Identifier: MIT
#include "capture/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

void machine_boot_id(char *out, size_t room)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	out[0] = '\0';
	if (!f)
		return;
	if (!fgets(out, (int)room, f))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Less than a millisecond is the time between the two readings. */
static uint64_t asleep_ns(void)
{
	uint64_t awake = now(CLOCK_MONOTONIC), ns = now(CLOCK_BOOTTIME) - awake;

	return ns < NSEC_PER_MSEC ? 0 : ns;
}

uint64_t machine_own_cpu_ns(void)
{
	return now(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t machine_kernel_text(void)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	uint64_t addr, found = 0;
	char line[256], name[200];

	while (in && !found && fgets(line, sizeof(line), in))
		if (sscanf(line, "%" SCNx64 " %*c %199s", &addr, name) == 2 &&
		    !strcmp(name, "_text"))
			found = addr;
	if (in)
		fclose(in);
	return found;
}

static void number(struct writer *w, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	writer_meta(w, key, text);
}

static const char *const scope_names[] = {
	[SCOPE_COMMAND] = "command", [SCOPE_PROCESS] = "process", [SCOPE_THREAD] = "thread",
	[SCOPE_CGROUP] = "cgroup",   [SCOPE_SYSTEM] = "system",
};

void machine_describe(struct writer *w, const struct plan *plan, const char *engine)
{
	uint64_t kernel = machine_kernel_text();
	struct utsname u;
	char boot[64], text[24];

	if (!uname(&u)) {
		writer_meta(w, "host", u.nodename);
		writer_meta(w, "kernel", u.release);
		writer_meta(w, "machine", u.machine);
	}
	machine_boot_id(boot, sizeof(boot));
	writer_meta(w, "boot_id", boot);
	number(w, "asleep_ns", asleep_ns());
	snprintf(text, sizeof(text), "0x%" PRIx64, kernel);
	if (kernel)
		writer_meta(w, "kernel_text", text);
	writer_meta(w, "engine", engine);
	writer_meta(w, "thaw_version", THAW_VERSION);
	number(w, "thaw_pid", (uint64_t)getpid());
	number(w, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	number(w, "freq_hz", plan->freq_hz);
	number(w, "min_wait_ns", plan->min_wait_ns);
	number(w, "max_overhead", plan->max_overhead);
	writer_meta(w, "scope", scope_names[plan->scope]);
	for (size_t i = 0; plan->scope != SCOPE_COMMAND && i < plan->n_ids; i++)
		number(w, "target", plan->ids[i]);
	if (plan->scope == SCOPE_CGROUP)
		writer_meta(w, "target", plan->cgroup);
	for (size_t i = 0; plan->command && plan->command[i]; i++)
		writer_meta(w, "command", plan->command[i]);
}
