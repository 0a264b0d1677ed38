// SPDX-License-Identifier: MIT
#include "record/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "symbol/symbol.h"
#include "wire/meta.h"

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

static uint64_t machine_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* A difference below a millisecond is only the time between the two readings. */
static uint64_t asleep_ns(void)
{
	uint64_t awake = machine_now(CLOCK_MONOTONIC), ns = machine_now(CLOCK_BOOTTIME) - awake;

	return ns < NSEC_PER_MSEC ? 0 : ns;
}

uint64_t machine_own_cpu_ns(void)
{
	return machine_now(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t machine_kernel_text(void)
{
	return symbols_kernel_text();
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
		writer_meta(w, META_HOST, u.nodename);
		writer_meta(w, META_KERNEL, u.release);
		writer_meta(w, META_MACHINE, u.machine);
	}
	machine_boot_id(boot, sizeof(boot));
	writer_meta(w, META_BOOT_ID, boot);
	writer_meta_number(w, META_ASLEEP_NS, asleep_ns());
	snprintf(text, sizeof(text), "0x%" PRIx64, kernel);
	if (kernel)
		writer_meta(w, META_KERNEL_TEXT, text);
	writer_meta(w, META_ENGINE, engine);
	writer_meta(w, META_THAW_VERSION, THAW_VERSION);
	writer_meta_number(w, META_THAW_PID, (uint64_t)getpid());
	writer_meta_number(w, META_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	writer_meta_number(w, META_FREQ_HZ, plan->freq_hz);
	writer_meta_number(w, META_MIN_WAIT_NS, plan->min_wait_ns);
	writer_meta_number(w, META_MAX_OVERHEAD, plan->max_overhead);
	writer_meta(w, META_SCOPE, scope_names[plan->scope]);
	for (size_t i = 0; plan->scope != SCOPE_COMMAND && i < plan->n_ids; i++)
		writer_meta_number(w, META_TARGET, plan->ids[i]);
	if (plan->scope == SCOPE_CGROUP)
		writer_meta(w, META_TARGET, plan->cgroup);
	for (size_t i = 0; plan->command && plan->command[i]; i++)
		writer_meta(w, META_COMMAND, plan->command[i]);
}
