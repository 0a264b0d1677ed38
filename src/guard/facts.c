// SPDX-License-Identifier: MIT
#include "guard/facts.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/config.h"

static void path_of(char *out, size_t room, const char *root, const char *path)
{
	snprintf(out, room, "%s%s", root, path);
}

/* The first line of a small file, without its end; false and "" if there is none. */
static bool line_of(const char *root, const char *path, char *out, size_t room)
{
	char full[512];
	FILE *f;
	bool got;

	out[0] = '\0';
	path_of(full, sizeof(full), root, path);
	f = fopen(full, "re");
	if (!f)
		return false;
	got = fgets(out, (int)room, f);
	fclose(f);
	if (!got)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return got;
}

static int32_t sysctl_of(const char *root, const char *path)
{
	char text[32], *end;
	long v;

	if (!line_of(root, path, text, sizeof(text)))
		return GUARD_UNKNOWN;
	v = strtol(text, &end, 10);
	return end == text ? GUARD_UNKNOWN : (int32_t)v;
}

static bool is_there(const char *root, const char *path, int how)
{
	char full[512];

	path_of(full, sizeof(full), root, path);
	return !access(full, how);
}

/* ---- the kernel ---- */

static void read_distro(struct guard_facts *f, const char *root)
{
	char full[512], line[256];
	FILE *in;

	path_of(full, sizeof(full), root, "/etc/os-release");
	in = fopen(full, "re");
	while (in && fgets(line, sizeof(line), in)) {
		char *value = strchr(line, '=');

		if (!value || strncmp(line, "PRETTY_NAME=", 12))
			continue;
		value += 1 + (value[1] == '"');
		value[strcspn(value, "\"\n")] = '\0';
		snprintf(f->distro, sizeof(f->distro), "%.*s", (int)sizeof(f->distro) - 1, value);
	}
	if (in)
		fclose(in);
}

static void read_kernel(struct guard_facts *f, const char *root)
{
	char signature[160];
	struct utsname u;

	line_of(root, "/proc/sys/kernel/osrelease", f->release, sizeof(f->release));
	line_of(root, "/proc/sys/kernel/version", f->version, sizeof(f->version));
	line_of(root, "/proc/version_signature", signature, sizeof(signature));
	/* The file is there since 6.1. */
	if (!line_of(root, "/proc/sys/kernel/arch", f->machine, sizeof(f->machine)) && !uname(&u))
		snprintf(f->machine, sizeof(f->machine), "%.*s", (int)sizeof(f->machine) - 1,
			 u.machine);
	read_distro(f, root);
	guard_kernel_parse(f, signature);
}

static void read_config(struct guard_facts *f, const char *root)
{
	static const char *const places[] = {"/proc/config.gz", "/boot/config-%s",
					     "/lib/modules/%s/config", "/usr/lib/modules/%s/config",
					     "/usr/lib/ostree-boot/config-%s"};
	char path[256], full[512], cmdline[4096];

	for (size_t i = 0; i < ARRAY_LEN(places) && !f->config[0]; i++) {
		const char *hole = strstr(places[i], "%s");
		int before = (int)(hole ? (size_t)(hole - places[i]) : strlen(places[i]));

		snprintf(path, sizeof(path), "%.*s%s%s", before, places[i], hole ? f->release : "",
			 hole ? hole + 2 : "");
		path_of(full, sizeof(full), root, path);
		if (guard_config_read(full, f))
			snprintf(f->config, sizeof(f->config), "%.*s", (int)sizeof(f->config) - 1,
				 path);
	}
	if (strstr(f->version, "PREEMPT_RT") || sysctl_of(root, "/sys/kernel/realtime") == 1)
		f->realtime = SETTING_YES;
	else if (f->realtime == SETTING_UNKNOWN && strstr(f->version, "PREEMPT"))
		f->realtime = SETTING_NO;
	if (line_of(root, "/proc/cmdline", cmdline, sizeof(cmdline)) &&
	    (strstr(cmdline, "hardened_usercopy=off") || strstr(cmdline, "hardened_usercopy=0")))
		f->hardened_usercopy = SETTING_NO;
}

/* ---- what this process may do ---- */

/* The inodes of the first namespaces: include/linux/proc_ns.h. */
static bool in_first(const char *root, const char *path, const char *first)
{
	char full[512], target[64];
	ssize_t n;

	path_of(full, sizeof(full), root, path);
	n = readlink(full, target, sizeof(target) - 1);
	if (n < 0)
		return true;
	target[n] = '\0';
	return !strcmp(target, first);
}

static void read_caps(struct guard_facts *f, const char *root)
{
	char full[512], line[256];
	FILE *in;

	path_of(full, sizeof(full), root, "/proc/self/status");
	in = fopen(full, "re");
	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "CapEff:", 7))
			f->caps = strtoull(line + 7, NULL, 16);
	if (in)
		fclose(in);
}

static void read_container(struct guard_facts *f, const char *root)
{
	char full[512], env[4096];
	FILE *in;
	size_t n;

	if (is_there(root, "/.dockerenv", F_OK)) {
		strcpy(f->container, "docker");
		return;
	}
	if (is_there(root, "/run/.containerenv", F_OK)) {
		strcpy(f->container, "podman");
		return;
	}
	/* systemd-nspawn, lxc and others say it in the first process's environment. */
	path_of(full, sizeof(full), root, "/proc/1/environ");
	in = fopen(full, "re");
	if (!in)
		return;
	n = fread(env, 1, sizeof(env) - 1, in);
	fclose(in);
	env[n] = '\0';
	for (size_t i = 0; i < n; i += strlen(env + i) + 1)
		if (!strncmp(env + i, "container=", 10))
			snprintf(f->container, sizeof(f->container), "%.*s",
				 (int)sizeof(f->container) - 1, env + i + 10);
}

/* "none [integrity] confidentiality" */
static void read_lockdown(struct guard_facts *f, const char *root)
{
	char text[80];

	if (!line_of(root, "/sys/kernel/security/lockdown", text, sizeof(text)))
		return;
	if (strstr(text, "[integrity]"))
		f->lockdown = LOCKDOWN_INTEGRITY;
	else if (strstr(text, "[confidentiality]"))
		f->lockdown = LOCKDOWN_CONFIDENTIALITY;
}

void guard_facts_read(struct guard_facts *f, const char *root)
{
	memset(f, 0, sizeof(*f));
	read_kernel(f, root);
	read_config(f, root);
	f->btf = is_there(root, "/sys/kernel/btf/vmlinux", R_OK);
	read_caps(f, root);
	f->own_user_ns = !in_first(root, "/proc/self/ns/user", "user:[4026531837]");
	f->own_pid_ns = !in_first(root, "/proc/self/ns/pid", "pid:[4026531836]");
	read_container(f, root);
	read_lockdown(f, root);
	f->paranoid = sysctl_of(root, "/proc/sys/kernel/perf_event_paranoid");
	f->kptr_restrict = sysctl_of(root, "/proc/sys/kernel/kptr_restrict");
	f->unprivileged_bpf = sysctl_of(root, "/proc/sys/kernel/unprivileged_bpf_disabled");
	f->max_sample_rate = sysctl_of(root, "/proc/sys/kernel/perf_event_max_sample_rate");
	f->cpu_percent = sysctl_of(root, "/proc/sys/kernel/perf_cpu_time_max_percent");
	f->mlock_kb = sysctl_of(root, "/proc/sys/kernel/perf_event_mlock_kb");
}

static void note_symbol(struct guard_facts *f, const char *name)
{
	static const char *const names[SYMBOLS] = {
#define SYMBOL(id, UPPER, name_) [id] = (name_),
#include "guard/symbol.def"
	};

	for (unsigned i = 0; i < SYMBOLS; i++)
		if (!strcmp(name, names[i]))
			f->symbols |= 1u << i;
}

void guard_facts_symbols(struct guard_facts *f, const char *root)
{
	char full[512], line[512], *name;
	FILE *in;

	path_of(full, sizeof(full), root, "/proc/kallsyms");
	in = fopen(full, "re");
	while (in && fgets(line, sizeof(line), in)) {
		/* "address type name", and for modules "\t[module]". */
		name = strchr(line, ' ');
		name = name ? strchr(name + 1, ' ') : NULL;
		if (!name)
			continue;
		name[1 + strcspn(name + 1, "\t\n ")] = '\0';
		note_symbol(f, name + 1);
		f->symbols_read = true;
	}
	if (in)
		fclose(in);
}

bool guard_capable(const struct guard_facts *f, int cap)
{
	return f->caps >> cap & 1;
}

bool guard_can_bpf(const struct guard_facts *f)
{
	return guard_capable(f, CAP_SYS_ADMIN) || guard_capable(f, CAP_BPF);
}

bool guard_can_perfmon(const struct guard_facts *f)
{
	return guard_capable(f, CAP_SYS_ADMIN) || guard_capable(f, CAP_PERFMON);
}
