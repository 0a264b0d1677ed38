// SPDX-License-Identifier: MIT
/* Turns events into columns: see encode.h, and docs/format.md for the bytes. */
#include "store/encode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DICT_BITS_MIN = 6 };

static size_t dict_slot(const struct dict *d, uint64_t value)
{
	return (size_t)((value * 0x9e3779b97f4a7c15ull) >> (64 - d->bits));
}

static void dict_insert(struct dict *d, uint64_t value, uint32_t index)
{
	size_t mask = ((size_t)1 << d->bits) - 1, i = dict_slot(d, value);

	while (d->slots[i])
		i = (i + 1) & mask;
	d->slots[i] = index + 1;
}

static void dict_grow(struct dict *d)
{
	d->bits = d->bits ? d->bits + 1 : DICT_BITS_MIN;
	free(d->slots);
	d->slots = mem_zalloc(sizeof(*d->slots) << d->bits);
	d->values = mem_grow(d->values, (size_t)1 << d->bits, sizeof(*d->values));
	for (uint32_t i = 0; i < d->n; i++)
		dict_insert(d, d->values[i], i);
}

static uint32_t dict_find(struct dict *d, uint64_t value)
{
	size_t mask = ((size_t)1 << d->bits) - 1, i = dict_slot(d, value);

	for (; d->slots[i]; i = (i + 1) & mask)
		if (d->values[d->slots[i] - 1] == value)
			return d->slots[i] - 1;
	if (2 * (size_t)d->n > mask) {
		dict_grow(d);
		return dict_find(d, value);
	}
	d->values[d->n] = value;
	d->slots[i] = ++d->n;
	return d->n - 1;
}

static inline uint32_t dict_index(struct dict *d, uint64_t value)
{
	if (d->n && d->last == value)
		return d->last_index;
	if (!d->bits)
		dict_grow(d);
	d->last = value;
	return d->last_index = dict_find(d, value);
}

static void dict_clear(struct dict *d)
{
	if (d->n)
		memset(d->slots, 0, sizeof(*d->slots) << d->bits);
	d->n = 0;
}

static __attribute__((noinline)) uint32_t *running_grow(struct encoder *e, uint16_t cpu)
{
	size_t n = (size_t)cpu + 1;

	e->running = mem_grow(e->running, n, sizeof(*e->running));
	memset(e->running + e->n_running, 0, (n - e->n_running) * sizeof(*e->running));
	e->n_running = n;
	return &e->running[cpu];
}

static inline uint32_t *running_on(struct encoder *e, uint16_t cpu)
{
	return cpu < e->n_running ? &e->running[cpu] : running_grow(e, cpu);
}

static void push_text(struct encoder *e, struct encoder_column *c, const char *s)
{
	size_t before = c->text.len;

	buf_put_str(&c->text, s ? s : "");
	e->raw_bytes += c->text.len - before;
}

/* It was not the last value. */
static __attribute__((noinline)) uint32_t guess_again(struct encoder_column *c,
						      struct column_guess *g, uint64_t v)
{
	uint32_t i =
		c->dict.n && c->dict.values[g->before] == v ? g->before : dict_index(&c->dict, v);
	bool before = i == g->before;

	if (i == g->last) /* the first value of all */
		return 0;
	*g = (struct column_guess){.last = i, .before = g->last};
	return before ? 1 : 2 + i;
}

static inline uint32_t guess(struct encoder_column *c, uint64_t key, uint64_t v)
{
	struct column_guess *g = &c->guesses[guess_slot(key)];

	return c->dict.n && c->dict.values[g->last] == v ? 0 : guess_again(c, g, v);
}

/* ---- blocks ---- */

/* What an integer takes. Differences of narrow fields are narrow: readers cut them to their size.
 */
#define BLOCK_VALUE(codec, ctype)                                                                  \
	typeof(__builtin_choose_expr(sizeof(ctype) == 8 && CODEC_##codec != CODEC_STRING &&        \
					     !codec_with_dict(CODEC_##codec),                      \
				     (uint64_t)0, (uint32_t)0))
#define codec_with_dict(codec)                                                                     \
	((codec) == CODEC_DICT || (codec) == CODEC_NEXT ||                                         \
	 ((codec) >= CODEC_AGAIN && (codec) <= CODEC_AGAIN_HERE))

#define EVENT(id, UPPER, lower, text, words, group)                                                \
	struct block_##lower {                                                                     \
		uint64_t after[ENCODER_ROWS]; /* the event before */
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	BLOCK_VALUE(codec, ctype) name[CODEC_##codec == CODEC_STRING ? 0 : ENCODER_ROWS];
#define EVENT_END(UPPER, lower)                                                                    \
	}                                                                                          \
	;
#include "wire/event.def"

static void *block_new(struct encoder *e, unsigned kind)
{
	for (unsigned i = kinds[kind].first; i < kinds[kind].end; i++)
		if (codec_guesses(columns[i].codec))
			e->cols[i].guesses = mem_zalloc(GUESS_SLOTS * sizeof(struct column_guess));
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	case EV_##UPPER:                                                                           \
		return mem_alloc(sizeof(struct block_##lower));
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	}
	return NULL;
}

static __attribute__((noinline)) void block_empty(struct encoder *e, unsigned kind)
{
	size_t n = e->in_block[kind];

	e->in_block[kind] = 0;
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	case EV_##UPPER: {                                                                         \
		const struct block_##lower *b = e->blocks[kind];                                   \
		values_append(&e->steps[kind].values, b->after, sizeof(b->after[0]), n);
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	if (CODEC_##codec != CODEC_STRING)                                                         \
		values_append(&e->cols[COL_##UPPER##_##name].values, b->name, sizeof(b->name[0]),  \
			      n);
#define EVENT_END(UPPER, lower)                                                                    \
	break;                                                                                     \
	}
#include "wire/event.def"
	}
}

static __attribute__((noinline)) void common_empty(struct encoder *e)
{
	values_append(&e->kind.values, e->block_kinds, sizeof(e->block_kinds[0]), e->in_common);
	values_append(&e->cpu.values, e->block_cpus, sizeof(e->block_cpus[0]), e->in_common);
	e->in_common = 0;
}

/*
 * What a value of each codec becomes. The compiler sees codec and size as constants: encoder_add()
 * is unrolled from event.def, and that halves its time against a loop over columns[].
 */
static inline __attribute__((always_inline)) uint64_t
coded(struct encoder *e, struct encoder_column *c, unsigned codec, unsigned size, uint64_t v,
      uint32_t *running, struct field_context *x)
{
	uint64_t from;

	switch (codec) {
	case CODEC_DELTA:
		from = c->prev;
		c->prev = v;
		break;
	case CODEC_RUNNING:
		from = *running;
		break;
	case CODEC_NEAR:
		from = x->before;
		break;
	case CODEC_NEXT:
		*running = (uint32_t)v;
		/* fall through */
	case CODEC_DICT:
		return dict_index(&c->dict, v);
	case CODEC_AGAIN_HERE:
		x->running = *running;
		/* fall through */
	case CODEC_AGAIN:
	case CODEC_AGAIN_BOTH:
		return guess(c, guess_key(codec, x), v);
	default:
		return v;
	}
	return size < 8 ? zigzag32((int32_t)(v - from)) : zigzag((int64_t)(v - from));
}

static inline uint64_t integer_at(const void *at, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, at, size);
	return v;
}

static __attribute__((noinline)) void push_field(struct encoder *e, unsigned column, const void *at)
{
	const char *s;

	memcpy(&s, at, sizeof(s));
	push_text(e, &e->cols[column], s);
}

void encoder_add(struct encoder *e, const struct event *ev)
{
	struct field_context x = {0};
	unsigned kind = ev->kind;
	uint32_t *running = running_on(e, ev->cpu), at = e->in_block[kind];
	uint64_t ts = ev->ts, step, v;

	if (!e->n_events) {
		e->ts_first = e->ts_last = e->ts_min = e->ts_max = ts;
		e->first_kind = kind;
	}
	if (!e->blocks[kind])
		e->blocks[kind] = block_new(e, kind);
	step = ts - e->ts_last;
	e->ts_last = ts;
	e->ts_min = ts < e->ts_min ? ts : e->ts_min;
	e->ts_max = ts > e->ts_max ? ts : e->ts_max;
	e->block_kinds[e->in_common] = (uint8_t)kind;
	e->block_cpus[e->in_common] = ev->cpu;
	if (++e->in_common == ENCODER_ROWS)
		common_empty(e);
	e->n_events++;
	e->counts[kind]++;
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	case EV_##UPPER: {                                                                         \
		struct block_##lower *b = e->blocks[EV_##UPPER];                                   \
		e->raw_bytes += 4u + COL_END_##UPPER - COL_FIRST_##UPPER;                          \
		b->after[at] = step;
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	if (CODEC_##codec == CODEC_STRING) {                                                       \
		push_field(e, COL_##UPPER##_##name, &ev->lower.name);                              \
	} else {                                                                                   \
		v = integer_at(&ev->lower.name, sizeof(ctype));                                    \
		b->name[at] =                                                                      \
			(typeof(b->name[0]))coded(e, &e->cols[COL_##UPPER##_##name],               \
						  CODEC_##codec, sizeof(ctype), v, running, &x);   \
		x.before = v;                                                                      \
		if (COL_##UPPER##_##name == COL_FIRST_##UPPER)                                     \
			x.first = v;                                                               \
	}
#define EVENT_END(UPPER, lower)                                                                    \
	break;                                                                                     \
	}
#include "wire/event.def"
	}
	e->in_block[kind] = ++at;
	if (at == ENCODER_ROWS)
		block_empty(e, kind);
}

/* A column that is absent reads as zeros. RUNNING and DELTA have zeros that mean something else. */
static bool all_zero(const struct encoder_column *c, unsigned codec)
{
	const uint8_t *p = c->values.p;

	if (codec_has_dict(codec))
		return c->dict.n == 1 && c->dict.values[0] == 0;
	/* Each byte is like the one before it, and the first is zero. */
	return codec == CODEC_VARINT && !p[0] &&
	       !memcmp(p, p + 1, (c->values.n << c->values.shift) - 1);
}

static bool column_used(const struct encoder_column *c)
{
	return c->values.n || c->text.len;
}

static void put_column(struct buf *heads, struct buf *body, struct seams *seams,
		       const struct encoder_column *c, unsigned kind, unsigned field,
		       unsigned codec)
{
	size_t start = body->len;

	if (codec == CODEC_STRING) {
		buf_put(body, c->text.p, c->text.len);
	} else {
		if (codec_has_dict(codec)) {
			buf_put_varint(body, c->dict.n);
			for (uint32_t i = 0; i < c->dict.n; i++)
				buf_put_varint(body, c->dict.values[i]);
		}
		pack_put(body, &c->values, codec == CODEC_STEP, seams);
	}
	buf_put_varint(heads, kind);
	buf_put_varint(heads, field);
	buf_put_u8(heads, (uint8_t)codec);
	buf_put_varint(heads, body->len - start);
}

static void column_clear(struct encoder_column *c)
{
	values_clear(&c->values);
	c->prev = 0;
	dict_clear(&c->dict);
	if (c->guesses)
		memset(c->guesses, 0, GUESS_SLOTS * sizeof(*c->guesses));
	buf_clear(&c->text);
}

static void start_afresh(struct encoder *e)
{
	column_clear(&e->kind);
	column_clear(&e->cpu);
	for (size_t i = 0; i < EV_KINDS; i++)
		column_clear(&e->steps[i]);
	for (size_t i = 0; i < COLUMNS; i++)
		if (column_used(&e->cols[i]))
			column_clear(&e->cols[i]);
	if (e->n_running)
		memset(e->running, 0, e->n_running * sizeof(*e->running));
	memset(e->counts, 0, sizeof(e->counts));
	e->n_events = 0;
	e->raw_bytes = 0;
}

void encoder_finish(struct encoder *e, struct buf *out, struct seams *seams)
{
	struct buf heads = {0}, body = {0};
	unsigned n = 2;

	common_empty(e);
	for (unsigned k = 0; k < EV_KINDS; k++)
		if (e->in_block[k])
			block_empty(e, k);
	if (e->n_events)
		values_set(&e->steps[e->first_kind].values, 0, e->ts_first - e->ts_min);
	put_column(&heads, &body, seams, &e->kind, 0, COMMON_KIND, CODEC_VARINT);
	put_column(&heads, &body, seams, &e->cpu, 0, COMMON_CPU, CODEC_VARINT);
	for (unsigned k = 0; k < EV_KINDS; k++) {
		if (!column_used(&e->steps[k]))
			continue;
		put_column(&heads, &body, seams, &e->steps[k], k, FIELD_TIME, CODEC_STEP);
		n++;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column_desc *d = &columns[i];

		if (!column_used(&e->cols[i]) || all_zero(&e->cols[i], d->codec))
			continue;
		put_column(&heads, &body, seams, &e->cols[i], d->kind, d->field, d->codec);
		n++;
	}
	buf_reserve(out, 20 + heads.len + body.len);
	buf_put_varint(out, e->n_events);
	buf_put_varint(out, n);
	buf_put(out, heads.p, heads.len);
	for (size_t i = 0; seams && i < seams->at.n; i++)
		seams->at.v[i] += out->len;
	buf_put(out, body.p, body.len);
	buf_done(&heads);
	buf_done(&body);
	start_afresh(e);
}

void encoder_init(struct encoder *e)
{
	*e = (struct encoder){0};
}

static void column_done(struct encoder_column *c)
{
	values_done(&c->values);
	free(c->dict.values);
	free(c->dict.slots);
	free(c->guesses);
	buf_done(&c->text);
}

void encoder_done(struct encoder *e)
{
	column_done(&e->kind);
	column_done(&e->cpu);
	for (size_t i = 0; i < EV_KINDS; i++)
		column_done(&e->steps[i]);
	for (size_t i = 0; i < EV_KINDS; i++)
		free(e->blocks[i]);
	for (size_t i = 0; i < COLUMNS; i++)
		column_done(&e->cols[i]);
	free(e->running);
	*e = (struct encoder){0};
}
