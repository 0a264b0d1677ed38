/* SPDX-License-Identifier: MIT */
/*
 * A request, `name?key=value&key=value`, percent-encoded. Anyone who can reach the page can send
 * one: nothing in it is trusted. Each getter checks its value and fails with words for a person.
 */
#ifndef THAW_QUERY_REQUEST_H
#define THAW_QUERY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	REQUEST_BYTES = 1 << 20,
	REQUEST_KEYS = 32,
	REQUEST_LIST = 100000,
};

struct request {
	char *text; /* decoded, cut into strings */
	const char *name;
	const char *keys[REQUEST_KEYS], *values[REQUEST_KEYS];
	size_t n;
};

struct number_list {
	uint32_t *v;
	size_t n, room;
};

int request_parse(struct request *r, const char *text);
void request_done(struct request *r);

/* NULL: it is not there. */
const char *request_str(const struct request *r, const char *key);

/* A number from 0 to max. If it is missing, the first fails, and the second takes `otherwise`. */
int request_need(const struct request *r, const char *key, uint64_t max, uint64_t *ret);
int request_u64(const struct request *r, const char *key, uint64_t max, uint64_t otherwise,
		uint64_t *ret);

/*
 * The keys of a range of time (`from`, `to`), by default the whole recording. Neither needs to lie
 * within it, but from is before to.
 */
int request_range(const struct request *r, const char *from_key, const char *to_key,
		  uint64_t duration, uint64_t *ret_from, uint64_t *ret_to);

/* Numbers below `below` with commas between them. Missing: an empty list. The caller frees v. */
int request_list(const struct request *r, const char *key, uint64_t below, struct number_list *ret);

#endif
