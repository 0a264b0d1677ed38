/* SPDX-License-Identifier: MIT */
/* Durations, sizes and counts as people write them: 50us, 10ms, 2s; 4K, 16M; 12.3k. */
#ifndef THAW_BASE_UNITS_H
#define THAW_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull

/* "50us", "10ms", "2s", "1.5m"; a bare number counts `unit_ns`. */
int units_parse_duration(const char *s, uint64_t unit_ns, uint64_t *ret_ns);
/* "4096", "64K", "16M", "1G". */
int units_parse_size(const char *s, uint64_t *ret_bytes);
/* The names of units that these know: the i-th, NULL after the last. */
const char *units_duration_name(size_t i);
const char *units_size_name(size_t i);
int units_parse_u64(const char *s, uint64_t *ret);

/* At most eight characters: "950ns", "12.3us", "80.1ms", "2.50s", "12m03s". */
const char *units_duration(char *out, size_t room, uint64_t ns);
const char *units_size(char *out, size_t room, uint64_t bytes);
const char *units_count(char *out, size_t room, uint64_t n);

uint64_t clock_mono_ns(void);

#endif
