// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = {
	{"ns", 1},
	{"us", NSEC_PER_USEC},
	{"ms", NSEC_PER_MSEC},
	{"s", NSEC_PER_SEC},
	{"m", 60 * NSEC_PER_SEC},
	{"min", 60 * NSEC_PER_SEC},
	{"h", 3600 * NSEC_PER_SEC},
};
static const struct unit sizes[] = {
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30},
};

static int units_parse(const char *s, const struct unit *units, size_t n, uint64_t bare,
		       uint64_t *ret)
{
	uint64_t factor = 0;
	double v;
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '.')
		return -EINVAL;
	v = strtod(s, &end);
	/* strtod() also knows hexadecimal and exponents: nobody means them here. */
	if (end != s + strspn(s, "0123456789."))
		return -EINVAL;
	if (!*end)
		factor = bare;
	for (size_t i = 0; i < n && !factor; i++)
		if (!strcmp(end, units[i].name))
			factor = units[i].factor;
	if (!factor || !isfinite(v) || v * (double)factor >= 9.2e18)
		return -EINVAL;
	*ret = (uint64_t)(v * (double)factor + 0.5);
	return 0;
}

int units_parse_duration(const char *s, uint64_t unit_ns, uint64_t *ret_ns)
{
	if (units_parse(s, durations, ARRAY_LEN(durations), unit_ns, ret_ns))
		return err_set(-EINVAL, "'%s' is not a duration; write it like 50us, 10ms or 2s",
			       s);
	return 0;
}

int units_parse_size(const char *s, uint64_t *ret_bytes)
{
	if (units_parse(s, sizes, ARRAY_LEN(sizes), 1, ret_bytes))
		return err_set(-EINVAL, "'%s' is not a size; write it like 4096, 64K or 16M", s);
	return 0;
}

const char *units_duration_name(size_t i)
{
	return i < ARRAY_LEN(durations) ? durations[i].name : NULL;
}

const char *units_size_name(size_t i)
{
	return i < ARRAY_LEN(sizes) ? sizes[i].name : NULL;
}

int units_parse_u64(const char *s, uint64_t *ret)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = isdigit((unsigned char)*s) ? strtoull(s, &end, 10) : 0;
	if (!isdigit((unsigned char)*s) || *end || errno)
		return err_set(-EINVAL, "'%s' is not a number", s);
	*ret = v;
	return 0;
}

const char *units_duration(char *out, size_t room, uint64_t ns)
{
	static const struct unit steps[] = {
		{"us", NSEC_PER_USEC},
		{"ms", NSEC_PER_MSEC},
		{"s", NSEC_PER_SEC},
	};
	size_t i = 0;
	double v;

	if (ns < NSEC_PER_USEC) {
		snprintf(out, room, "%" PRIu64 "ns", ns);
		return out;
	}
	/* Rounding must not reach the next unit: 99.95s is 1m40s, 999.6us is 1.00ms. */
	if (ns >= 99950 * NSEC_PER_MSEC) {
		uint64_t s = ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC >= NSEC_PER_SEC / 2);

		if (s < 3600)
			snprintf(out, room, "%" PRIu64 "m%02us", s / 60, (unsigned)(s % 60));
		else if (s >= 1000 * 3600)
			snprintf(out, room, "%" PRIu64 "h", s / 3600);
		else
			snprintf(out, room, "%" PRIu64 "h%02um", s / 3600, (unsigned)(s / 60 % 60));
		return out;
	}
	while (i + 1 < ARRAY_LEN(steps) && ns >= steps[i + 1].factor - steps[i].factor / 2)
		i++;
	v = (double)ns / (double)steps[i].factor;
	snprintf(out, room, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, steps[i].name);
	return out;
}

static const char *scaled(char *out, size_t room, double v, double step, const char *const *names)
{
	size_t i = 0;

	/* From 999.5k on it would be written 1000k. Without a unit there is nothing to round. */
	while (v >= (i ? step - 0.5 : step) && names[i + 1]) {
		v /= step;
		i++;
	}
	snprintf(out, room, "%.*f%s", i == 0 || v >= 99.95 ? 0 : 1, v, names[i]);
	return out;
}

const char *units_size(char *out, size_t room, uint64_t bytes)
{
	static const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB", NULL};

	return scaled(out, room, (double)bytes, 1024, names);
}

const char *units_count(char *out, size_t room, uint64_t n)
{
	static const char *const names[] = {"", "k", "M", "G", NULL};

	return scaled(out, room, (double)n, 1000, names);
}

uint64_t clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}
