/* SPDX-License-Identifier: MIT */
/*
 * What this machine says about itself and about what this process may do: read from files, nothing
 * is tried out (features.h does that). One plain struct, so that a test can make its own machine.
 */
#ifndef THAW_GUARD_FACTS_H
#define THAW_GUARD_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel's version as one number that can be compared. */
#define KERNEL(major, minor, patch) ((uint32_t)(major) << 24 | (uint32_t)(minor) << 16 | (patch))
#define KERNEL_MAJOR(v) ((v) >> 24)
#define KERNEL_MINOR(v) ((v) >> 16 & 0xff)
#define KERNEL_PATCH(v) ((v)&0xffff)

/* How far a kernel's version tells which fixes are in it. */
enum guard_vendor {
	VENDOR_STABLE, /* upstream's stable releases, as they are: Debian, Fedora, Arch, Amazon */
	VENDOR_SERIES, /* fixes are picked; only the series is certain: Ubuntu */
	VENDOR_FROZEN, /* the version is that of years ago, the code is not: RHEL, SLE */
};

enum guard_setting { SETTING_UNKNOWN, SETTING_NO, SETTING_YES };

enum guard_lockdown { LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

/* Functions whose presence or absence tells of a fix: symbol.def. */
enum guard_symbol {
#define SYMBOL(id, UPPER, name) SYMBOL_##UPPER = id,
#include "guard/symbol.def"
	SYMBOLS,
};

#define GUARD_UNKNOWN INT32_MIN

struct guard_facts {
	char release[80];  /* uname -r */
	char version[160]; /* uname -v */
	char machine[24];
	char distro[80]; /* "" if not known */
	uint32_t kernel; /* upstream's version below all of that; 0: not understood */
	enum guard_vendor vendor;

	char config[96]; /* where the kernel's configuration was found, or "" */
	enum guard_setting hardened_usercopy, uprobes, realtime, bpf_syscall;

	bool btf;
	uint64_t caps;	  /* effective, a bit each */
	bool own_user_ns; /* not the first: capabilities do not count for the machine */
	bool own_pid_ns;
	char container[24]; /* "docker" and such, or "" */
	enum guard_lockdown lockdown;

	/* sysctls; GUARD_UNKNOWN if they cannot be read */
	int32_t paranoid, kptr_restrict, unprivileged_bpf, max_sample_rate, cpu_percent, mlock_kb;

	bool symbols_read;
	uint32_t symbols; /* a bit for each enum guard_symbol that is there */
};

/*
 * `root` stands before every path: "" for this machine. Nothing fails: what is not there is
 * unknown.
 */
void guard_facts_read(struct guard_facts *f, const char *root);
/* The symbols; apart, since it takes a twentieth of a second. */
void guard_facts_symbols(struct guard_facts *f, const char *root);

bool guard_capable(const struct guard_facts *f, int cap);
/* CAP_SYS_ADMIN also counts. */
bool guard_can_bpf(const struct guard_facts *f);
bool guard_can_perfmon(const struct guard_facts *f);

/* "6.1.190"; the caller owns the buffer. */
const char *guard_version_text(char *out, size_t room, uint32_t kernel);

/* ---- kernel.c ---- */

/* Fills kernel and vendor from release, version and a distribution's signature ("" if none). */
void guard_kernel_parse(struct guard_facts *f, const char *signature);

#endif
