/* SPDX-License-Identifier: MIT */
/*
 * A growable array of any type: `VEC(struct foo) foos = {0};`, then vec_push(&foos, x),
 * foos.v[i], foos.n, vec_done(&foos).
 */
#ifndef THAW_BASE_VEC_H
#define THAW_BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n;                                                                          \
		size_t room;                                                                       \
	}

#define vec_reserve(vec, want)                                                                     \
	do {                                                                                       \
		if ((vec)->room < (size_t)(want)) {                                                \
			(vec)->room = (vec)->room * 2 > (size_t)(want)                             \
					      ? (vec)->room * 2                                    \
					      : ((size_t)(want) < 8 ? 8 : (want));                 \
			(vec)->v = mem_grow((vec)->v, (vec)->room, sizeof(*(vec)->v));             \
		}                                                                                  \
	} while (0)

#define vec_push(vec, ...)                                                                         \
	do {                                                                                       \
		vec_reserve((vec), (vec)->n + 1);                                                  \
		(vec)->v[(vec)->n++] = (__VA_ARGS__);                                              \
	} while (0)

/* Appends a zeroed element and evaluates to its address. */
#define vec_add(vec)                                                                               \
	({                                                                                         \
		vec_reserve((vec), (vec)->n + 1);                                                  \
		memset(&(vec)->v[(vec)->n], 0, sizeof(*(vec)->v));                                 \
		&(vec)->v[(vec)->n++];                                                             \
	})

#define vec_done(vec)                                                                              \
	do {                                                                                       \
		free((vec)->v);                                                                    \
		(vec)->v = NULL;                                                                   \
		(vec)->n = 0;                                                                      \
		(vec)->room = 0;                                                                   \
	} while (0)

#endif
