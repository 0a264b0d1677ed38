// SPDX-License-Identifier: MIT
#include "store/values.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ROOM_MIN = 256 };

static bool values_fit(unsigned shift, uint64_t v)
{
	return v <= UINT64_MAX >> (64 - (8u << shift));
}

static void values_widen(struct values *c, unsigned shift)
{
	c->p = mem_grow(c->p, c->room, (size_t)1 << shift);
	/* From the last on: what is written lies behind what is still to be read. */
	for (size_t i = c->n; i-- > 0;) {
		uint64_t v = 0;

		memcpy(&v, c->p + (i << c->shift), (size_t)1 << c->shift);
		memcpy(c->p + (i << shift), &v, (size_t)1 << shift);
	}
	c->shift = shift;
}

static void values_make_room(struct values *c, size_t more, uint64_t widest)
{
	unsigned shift = c->shift;

	if (c->room - c->n < more) {
		while (c->room - c->n < more)
			c->room = c->room ? 2 * c->room : ROOM_MIN;
		c->p = mem_grow(c->p, c->room, (size_t)1 << shift);
	}
	while (!values_fit(shift, widest))
		shift++;
	if (shift > c->shift)
		values_widen(c, shift);
}

/* The compiler makes a loop of its own of each pair of types. */
#define VALUES_ANY(type)                                                                           \
	for (size_t i = 0; i < n; i++)                                                             \
	any |= ((const type *)v)[i]
#define VALUES_COPY(to, from)                                                                      \
	for (size_t i = 0; i < n; i++)                                                             \
	((to *)at)[i] = (to)((const from *)v)[i]
#define VALUES_COPY_TO(to)                                                                         \
	do {                                                                                       \
		if (size == 8)                                                                     \
			VALUES_COPY(to, uint64_t);                                                 \
		else if (size == 4)                                                                \
			VALUES_COPY(to, uint32_t);                                                 \
		else if (size == 2)                                                                \
			VALUES_COPY(to, uint16_t);                                                 \
		else                                                                               \
			VALUES_COPY(to, uint8_t);                                                  \
	} while (0)

static uint64_t values_any(const void *v, size_t size, size_t n)
{
	uint64_t any = 0;

	if (size == 8)
		VALUES_ANY(uint64_t);
	else if (size == 4)
		VALUES_ANY(uint32_t);
	else if (size == 2)
		VALUES_ANY(uint16_t);
	else
		VALUES_ANY(uint8_t);
	return any;
}

void values_append(struct values *c, const void *v, size_t size, size_t n)
{
	void *at;

	values_make_room(c, n, values_any(v, size, n));
	at = c->p + (c->n << c->shift);
	c->n += n;
	if (c->shift == 0)
		VALUES_COPY_TO(uint8_t);
	else if (c->shift == 1)
		VALUES_COPY_TO(uint16_t);
	else if (c->shift == 2)
		VALUES_COPY_TO(uint32_t);
	else
		VALUES_COPY_TO(uint64_t);
}

void values_set(struct values *c, size_t i, uint64_t v)
{
	values_make_room(c, 0, v);
	memcpy(c->p + (i << c->shift), &v, (size_t)1 << c->shift);
}

/* One step narrower than before: what is too narrow is found out early, when few are to be moved.
 */
void values_clear(struct values *c)
{
	if (c->n && c->shift)
		c->shift--;
	c->n = 0;
}

void values_done(struct values *c)
{
	free(c->p);
	*c = (struct values){0};
}
