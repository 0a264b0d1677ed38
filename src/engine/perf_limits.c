// SPDX-License-Identifier: MIT
#include "engine/perf_limits.h"

#include <dirent.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MLOCK "/proc/sys/kernel/perf_event_mlock_kb"
#define FILES_SPARE 64 /* the capture, tables that are built, files that are named */

int perf_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int read_number(const char *path, int *ret)
{
	FILE *f = fopen(path, "re");
	int rc = f && fscanf(f, "%d", ret) == 1 ? 0 : -ENOTSUP;

	if (f)
		fclose(f);
	return rc;
}

static bool capable(int cap)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	syscall(SYS_capget, &head, data);
	return data[cap / 32].effective >> (cap % 32) & 1;
}

/* Tries, because distributions, containers and security modules have rules of their own. */
static int try_event(bool kernel, bool cpus)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = !kernel,
	};
	int fd = perf_event(&attr, cpus ? -1 : 0, cpus ? 0 : -1);
	int rc = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

int perf_limits_find(struct perf_limits *ret)
{
	struct perf_limits l = {0};
	int rc;

	if (read_number(PARANOID, &l.paranoid))
		return err_set(-ENOTSUP,
			       "this kernel has no perf events (%s is missing: "
			       "CONFIG_PERF_EVENTS)",
			       PARANOID);
	l.privileged = capable(CAP_SYS_ADMIN) || capable(CAP_PERFMON);
	rc = try_event(false, false);
	if (rc == -ENOSYS || (rc && l.privileged))
		return err_set(rc,
			       "the kernel refuses perf events, here even to this user (%s): a "
			       "container's seccomp profile or a security module forbids them",
			       strerror(-rc));
	if (rc)
		return err_set(rc,
			       "the kernel refuses perf events to this user "
			       "(kernel.perf_event_paranoid is %d; a container or a security "
			       "module may forbid them too). Run it as root, or let users look at "
			       "their own processes: sysctl kernel.perf_event_paranoid=2",
			       l.paranoid);
	l.kernel = !try_event(true, false);
	l.cpus = !try_event(l.kernel, true);
	*ret = l;
	return 0;
}

size_t perf_limits_memory(const struct perf_limits *l, size_t cpus)
{
	struct rlimit lim = {0};
	int free_kb = 0;

	if (l->paranoid < 0 || capable(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &lim) ||
	    lim.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	(void)read_number(MLOCK, &free_kb);
	return (size_t)free_kb * 1024 + (size_t)lim.rlim_cur / cpus;
}

size_t perf_limits_files(void)
{
	struct rlimit lim;
	size_t used = FILES_SPARE;
	DIR *d;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return 0;
	lim.rlim_cur = lim.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &lim);
	if (getrlimit(RLIMIT_NOFILE, &lim))
		return 0;
	d = opendir("/proc/self/fd");
	while (d && readdir(d))
		used++;
	if (d)
		closedir(d);
	return lim.rlim_cur > used ? (size_t)lim.rlim_cur - used : 0;
}
