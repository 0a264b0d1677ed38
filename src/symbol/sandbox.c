// SPDX-License-Identifier: MIT
/*
 * The walls around the code that parses a target's files. An attacker who takes that code over can
 * read the files that were open for it, compute for a while, and give wrong names: nothing else.
 * The process has no user id that owns anything, no capability, no file system, no network, no
 * other process; it ends with its parent.
 *
 * A system call that is not on the list fails with EPERM rather than killing: libraries ask for
 * small things (the size of memory, a random number) differently in each version, and manage
 * without. Where the kernel has no seccomp, the other walls stand.
 *
 * The sanitizers reserve terabytes of addresses: builds with them have no limit of memory. They
 * also keep standard error, for their findings.
 */
#include "symbol/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define NOBODY 65534

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

void sandbox_quiet(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < (SANITIZED ? 2 : 3); i++)
		(void)dup2(null, i);
}

/* Moves a descriptor above all its possible final places. */
static int out_of_the_way(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, SANDBOX_FILES + SANDBOX_FILES_MAX);
}

int sandbox_descriptors(int answer, const int *files, size_t n)
{
	int moved[SANDBOX_FILES_MAX], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (n > SANDBOX_FILES_MAX || null < 0)
		return -EINVAL;
	null = out_of_the_way(null);
	answer = out_of_the_way(answer);
	for (size_t i = 0; i < n; i++)
		moved[i] = out_of_the_way(files[i]);
	if (dup2(null, 0) < 0 || dup2(answer, SANDBOX_ANSWER) < 0)
		return -errno;
	if (!SANITIZED)
		(void)dup2(null, 2);
	for (size_t i = 0; i < n; i++)
		if (dup2(moved[i], SANDBOX_FILES + (int)i) < 0)
			return -errno;
	/* Before 5.9 there is no such call; files that stay open there cannot be written. */
	(void)syscall(SYS_close_range, SANDBOX_FILES + (unsigned)n, ~0u, 0);
	return 0;
}

void sandbox_shared_memory(void)
{
	struct {
		unsigned long begin, end;
	} found[64];
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], mode[8];
	size_t n;

	/* Unmapping changes the list that is being read: unmap some, then read it anew. */
	do {
		n = 0;
		while (f && n < ARRAY_LEN(found) && fgets(line, sizeof(line), f))
			if (sscanf(line, "%lx-%lx %7s", &found[n].begin, &found[n].end, mode) ==
				    3 &&
			    mode[1] == 'w' && mode[3] == 's')
				n++;
		for (size_t i = 0; i < n; i++)
			if (munmap((void *)found[i].begin, found[i].end - found[i].begin))
				_exit(2);
		if (f)
			rewind(f);
	} while (n);
	if (f)
		fclose(f);
}

static unsigned caller(const char *variable)
{
	const char *s = getenv(variable);
	unsigned long id = s ? strtoul(s, NULL, 10) : 0;

	return id > 0 && id < NOBODY ? (unsigned)id : NOBODY;
}

int sandbox_privileges(bool as_caller)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	/* May fail in a user namespace; dropping capabilities makes root harmless anyway. */
	if (geteuid() == 0) {
		unsigned uid = as_caller ? caller("SUDO_UID") : NOBODY;
		unsigned gid = as_caller ? caller("SUDO_GID") : NOBODY;

		(void)setgroups(0, NULL);
		(void)!setresgid(gid, gid, gid);
		(void)!setresuid(uid, uid, uid);
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none))
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* Last, because changing the user resets both. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return 0;
}

static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t file_bytes(void)
{
	uint64_t sum = 0;
	struct stat st;

	for (int fd = SANDBOX_FILES; fd < SANDBOX_FILES + SANDBOX_FILES_MAX; fd++)
		if (!fstat(fd, &st))
			sum += (uint64_t)st.st_size;
	return sum;
}

static void sandbox_limit(int resource, uint64_t value)
{
	struct rlimit r = {.rlim_cur = value, .rlim_max = value};

	(void)setrlimit(resource, &r);
}

static void limits(const struct sandbox_limits *l)
{
	uint64_t memory = address_space() + file_bytes() + l->memory;

	sandbox_limit(RLIMIT_CPU, l->cpu_seconds);
	sandbox_limit(RLIMIT_CORE, 0);
	sandbox_limit(RLIMIT_FSIZE, 0);
	sandbox_limit(RLIMIT_NOFILE, l->receives ? SANDBOX_FILES + 1 : 0);
	if (!SANITIZED)
		sandbox_limit(RLIMIT_AS, memory);
}

static const int plain_calls[] = {
	SCMP_SYS(read),		 SCMP_SYS(pread64),	 SCMP_SYS(lseek),
	SCMP_SYS(fstat),	 SCMP_SYS(newfstatat),	 SCMP_SYS(close),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),	 SCMP_SYS(brk),
	SCMP_SYS(madvise),	 SCMP_SYS(futex),	 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sigaltstack),	 SCMP_SYS(getrandom),	 SCMP_SYS(sysinfo),
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getpid),
	SCMP_SYS(gettid),	 SCMP_SYS(sched_yield),
};

static void allow(scmp_filter_ctx f, int call)
{
	(void)seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);
}

/* Allows the call only where these bits of an argument have this value. */
static void allow_if(scmp_filter_ctx f, int call, unsigned arg, uint32_t bits, uint32_t value)
{
	struct scmp_arg_cmp has = {arg, SCMP_CMP_MASKED_EQ, bits, value};

	(void)seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &has);
}

static void calls(const struct sandbox_limits *l)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!f)
		return;
	(void)seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_LEN(plain_calls); i++)
		allow(f, plain_calls[i]);
	/* Memory may be mapped, but not executed. */
	allow_if(f, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
	allow_if(f, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
	allow_if(f, SCMP_SYS(fcntl), 1, ~0u, F_GETFD);
	if (l->receives)
		allow_if(f, SCMP_SYS(recvmsg), 0, ~0u, SANDBOX_ANSWER);
	if (!SANITIZED)
		allow_if(f, SCMP_SYS(write), 0, ~0u, SANDBOX_ANSWER);
	else
		allow_if(f, SCMP_SYS(write), 0, ~3u, 0);
	(void)seccomp_load(f);
	seccomp_release(f);
}

void sandbox_seal(const struct sandbox_limits *l)
{
	limits(l);
	calls(l);
}
