/* SPDX-License-Identifier: MIT */
/*
 * A streaming JSON writer. It places commas and escapes strings; bytes that are not UTF-8 (a thread
 * may be named anything) become U+FFFD, so that the output is always valid JSON. It is written to a
 * file piece by piece, the last when the outermost object or array is closed; or into a buffer.
 */
#ifndef THAW_BASE_JSON_H
#define THAW_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

struct json {
	FILE *out;
	/* fwrite(), if there is a file: programs without one need not link it. */
	size_t (*write)(const void *p, size_t size, size_t n, FILE *out);
	struct buf *into;
	struct buf kept; /* on its way to the file */
	bool tight;	 /* set it for no space between the words */
	bool need_comma;
	int depth;
};

void json_init(struct json *j, FILE *out);
/* Appends to what is in the buffer already. */
void json_init_buf(struct json *j, struct buf *into);
/* key is NULL inside an array and at the top. */
void json_obj(struct json *j, const char *key);
void json_obj_end(struct json *j);
void json_arr(struct json *j, const char *key);
void json_arr_end(struct json *j);
/* NULL is written as null. */
void json_str(struct json *j, const char *key, const char *val);
void json_u64(struct json *j, const char *key, uint64_t val);
void json_i64(struct json *j, const char *key, int64_t val);
/* An array of numbers, in one line. */
void json_i64s(struct json *j, const char *key, const int64_t *v, size_t n);
void json_f64(struct json *j, const char *key, double val);
/* val / 10^digits, exactly: nanoseconds as milliseconds (6), or as microseconds (3). */
void json_decimal(struct json *j, const char *key, uint64_t val, unsigned digits);
void json_bool(struct json *j, const char *key, bool val);
void json_null(struct json *j, const char *key);
/* null unless it is known. */
void json_u64_if(struct json *j, const char *key, bool known, uint64_t val);
/* A value that is JSON already. */
void json_raw(struct json *j, const char *key, const void *text, size_t len);

#endif
