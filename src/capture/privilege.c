// SPDX-License-Identifier: MIT
#include "capture/privilege.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

/* The inode of the first pid namespace: PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define INIT_PID_NS 0xeffffffcull

static bool have(const struct __user_cap_data_struct *data, int cap)
{
	return data[cap / 32].effective >> (cap % 32) & 1;
}

int privilege_check(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct stat ns;
	bool admin, bpf, perfmon;

	syscall(SYS_capget, &head, data);
	admin = have(data, CAP_SYS_ADMIN);
	bpf = admin || have(data, CAP_BPF);
	perfmon = admin || have(data, CAP_PERFMON);
	if (!bpf || !perfmon)
		return err_set(
			-EPERM,
			"recording needs %s%s%s, which this user does not have. Run it as root "
			"(sudo thaw record ...), or let the binary have them: "
			"setcap cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace+ep thaw",
			bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			perfmon ? "" : "CAP_PERFMON");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(
			-ENOTSUP,
			"this kernel does not describe its types (/sys/kernel/btf/vmlinux is "
			"missing: CONFIG_DEBUG_INFO_BTF), so the probes cannot be fitted to it");
	if (!stat("/proc/self/ns/pid", &ns) && ns.st_ino != INIT_PID_NS)
		return err_set(
			-ENOTSUP,
			"thaw runs in a pid namespace of its own (a container), where the thread "
			"numbers are not the kernel's. Run it on the host, or start the container "
			"with --pid=host");
	return 0;
}
