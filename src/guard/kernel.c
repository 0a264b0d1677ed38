// SPDX-License-Identifier: MIT
/*
 * Which kernel is this, below what its distributor calls it?
 *
 * Debian's `uname -r` has only the series (6.1.0-54-amd64), and upstream's version is in `uname -v`
 * (Debian 6.1.190-1). Ubuntu's is in /proc/version_signature (Ubuntu 6.8.0-45.45-generic 6.8.12).
 * RHEL and SLE keep the version of years ago and pick fixes and features by the thousand: their
 * version says next to nothing.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard/facts.h"

/* The number at *s, which moves past it. */
static bool kernel_number(const char **s, uint32_t max, uint32_t *ret)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)**s))
		return false;
	v = strtoul(*s, &end, 10);
	*s = end;
	*ret = v > max ? max : (uint32_t)v;
	return true;
}

/* "6.18.44", "6.18", "6.18-rc3": 0 if it is none. */
static uint32_t kernel_parse(const char *s)
{
	uint32_t major, minor, patch = 0;

	if (!kernel_number(&s, 255, &major) || *s++ != '.' || !kernel_number(&s, 255, &minor))
		return 0;
	if (*s == '.') {
		s++;
		(void)kernel_number(&s, 0xffff, &patch);
	}
	return KERNEL(major, minor, patch);
}

/* SLE's build numbers have six digits (6.4.0-150600.23.25-default), no one else's have. */
static bool is_sle(const char *release)
{
	const char *dash = strchr(release, '-');

	return dash && strspn(dash + 1, "0123456789") >= 6 && strstr(release, "-default");
}

static bool is_rhel(const char *release)
{
	const char *el = strstr(release, ".el");

	return el && isdigit((unsigned char)el[3]);
}

static bool is_ubuntu(const struct guard_facts *f)
{
	return strstr(f->version, "-Ubuntu") || strstr(f->version, "Ubuntu ");
}

void guard_kernel_parse(struct guard_facts *f, const char *signature)
{
	const char *debian = strstr(f->version, "Debian ");
	const char *last = strrchr(signature, ' ');

	f->vendor = VENDOR_STABLE;
	f->kernel = kernel_parse(f->release);
	if (debian && kernel_parse(debian + strlen("Debian "))) {
		f->kernel = kernel_parse(debian + strlen("Debian "));
	} else if (is_ubuntu(f) || !strncmp(signature, "Ubuntu ", 7)) {
		f->vendor = VENDOR_SERIES;
		if (last && kernel_parse(last + 1))
			f->kernel = kernel_parse(last + 1);
	} else if (is_rhel(f->release) || is_sle(f->release)) {
		f->vendor = VENDOR_FROZEN;
	}
}

const char *guard_version_text(char *out, size_t room, uint32_t kernel)
{
	snprintf(out, room, "%u.%u.%u", KERNEL_MAJOR(kernel), KERNEL_MINOR(kernel),
		 KERNEL_PATCH(kernel));
	return out;
}
