// SPDX-License-Identifier: MIT
/*
 * The walls around the code that parses a target's files. Whoever takes that code over can read the
 * files that were open for it, compute for a while, and give wrong names: nothing else. It has no
 * user id that owns anything, no capability, no file system, no network, no other process; it ends
 * with the process that started it.
 *
 * A system call that is not on the list fails with EPERM rather than killing: libraries ask for
 * small things (the size of memory, a random number) in other ways from version to version, and
 * manage without. Where the kernel has no seccomp the other walls stand.
 *
 * The sanitizers reserve terabytes of addresses: builds with them have no limit of memory. They
 * also keep standard error, for their findings.
 */
#include "symbol/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

/* Above all places that they may have to go to. */
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
	/* Before 5.9 there is no such call; what stays open there cannot be written to. */
	(void)syscall(SYS_close_range, SANDBOX_FILES + (unsigned)n, ~0u, 0);
	return 0;
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

	/* In a user namespace without such users this fails; without capabilities root is nobody.
	 */
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
	/* Changing the user forgets these: they come last. */
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

static void limit(int resource, uint64_t value)
{
	struct rlimit r = {.rlim_cur = value, .rlim_max = value};

	(void)setrlimit(resource, &r);
}

static void limits(const struct sandbox_limits *l)
{
	uint64_t memory = address_space() + file_bytes() + l->memory;

	limit(RLIMIT_CPU, l->cpu_seconds);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, 0);
	if (!SANITIZED)
		limit(RLIMIT_AS, memory);
}

static const unsigned plain_calls[] = {
	SYS_read,	 SYS_pread64,	SYS_lseek,	 SYS_fstat,	    SYS_newfstatat,
	SYS_close,	 SYS_munmap,	SYS_mremap,	 SYS_brk,	    SYS_madvise,
	SYS_futex,	 SYS_exit,	SYS_exit_group,	 SYS_rt_sigreturn,  SYS_rt_sigprocmask,
	SYS_sigaltstack, SYS_getrandom, SYS_sysinfo,	 SYS_clock_gettime, SYS_gettimeofday,
	SYS_getpid,	 SYS_gettid,	SYS_sched_yield,
};

struct filter {
	struct sock_filter v[160];
	unsigned short n;
};

static void put(struct filter *f, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (f->n < ARRAY_LEN(f->v))
		f->v[f->n++] = (struct sock_filter)BPF_JUMP(code, k, jt, jf);
}

static void load(struct filter *f, size_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void answer_with(struct filter *f, uint32_t action)
{
	put(f, BPF_RET | BPF_K, 0, 0, action);
}

#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i)) /* its low half */

/* Memory may be had, but not run. */
static void allow_unless_bits(struct filter *f, uint32_t call, unsigned arg, uint32_t bits)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, call);
	load(f, ARG(arg));
	put(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
	answer_with(f, DENY);
	answer_with(f, SECCOMP_RET_ALLOW);
}

static void allow_if_equal(struct filter *f, uint32_t call, unsigned arg, uint32_t value)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, call);
	load(f, ARG(arg));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
	answer_with(f, DENY);
	answer_with(f, SECCOMP_RET_ALLOW);
}

static void calls(void)
{
	struct filter f = {.n = 0};
	struct sock_fprog prog;

	load(&f, offsetof(struct seccomp_data, arch));
	put(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	answer_with(&f, SECCOMP_RET_KILL_PROCESS);
	load(&f, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LEN(plain_calls); i++) {
		put(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, plain_calls[i]);
		answer_with(&f, SECCOMP_RET_ALLOW);
	}
	allow_unless_bits(&f, SYS_mmap, 2, PROT_EXEC);
	allow_unless_bits(&f, SYS_mprotect, 2, PROT_EXEC);
	allow_if_equal(&f, SYS_fcntl, 1, F_GETFD);
	if (!SANITIZED)
		allow_if_equal(&f, SYS_write, 0, SANDBOX_ANSWER);
	else
		allow_unless_bits(&f, SYS_write, 0, ~3u);
	answer_with(&f, DENY);
	prog = (struct sock_fprog){.len = f.n, .filter = f.v};
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

void sandbox_seal(const struct sandbox_limits *l)
{
	limits(l);
	calls();
}
