// SPDX-License-Identifier: MIT
/* Turns events into columns: see encode.h, and docs/format.md for the bytes. */
#include "store/encode.h"

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

static void encode_grow(struct encoder_column *c)
{
	c->room = c->room ? 2 * c->room : 256;
	c->v = mem_grow(c->v, c->room, sizeof(*c->v));
}

static inline void encode_push(struct encoder_column *c, uint64_t v)
{
	if (c->n == c->room)
		encode_grow(c);
	c->v[c->n++] = v;
}

static uint32_t *running_grow(struct encoder *e, uint16_t cpu)
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
	c->n++;
}

/* Mostly it is one of the two guesses, and then the dictionary need not be searched. */
static inline uint64_t guess(struct encoder_column *c, uint64_t key, uint64_t v)
{
	struct column_guess *g;
	uint32_t i;

	if (!c->guesses)
		c->guesses = mem_zalloc(GUESS_SLOTS * sizeof(*c->guesses));
	g = &c->guesses[guess_slot(key)];
	if (c->dict.n && c->dict.values[g->last] == v)
		return 0;
	i = c->dict.n && c->dict.values[g->before] == v ? g->before : dict_index(&c->dict, v);
	if (i == g->last) /* the first value of all */
		return 0;
	v = i == g->before ? 1 : 2 + (uint64_t)i;
	*g = (struct column_guess){.last = i, .before = g->last};
	return v;
}

/*
 * What a value of each codec becomes. The compiler sees codec and size as constants: encoder_add()
 * is unrolled from event.def, and that halves its time against a loop over columns[].
 */
static inline __attribute__((always_inline)) void put_field(struct encoder *e, unsigned column,
							    unsigned codec, unsigned size,
							    const void *at, uint16_t cpu,
							    struct field_context *x, unsigned first)
{
	struct encoder_column *c = &e->cols[column];
	uint64_t v = 0;

	if (codec == CODEC_STRING) {
		const char *s;

		memcpy(&s, at, sizeof(s));
		push_text(e, c, s);
		return;
	}
	memcpy(&v, at, size);
	switch (codec) {
	case CODEC_DELTA: {
		uint64_t step = v - c->prev;

		c->prev = v;
		encode_push(c, zigzag((int64_t)step));
		break;
	}
	case CODEC_DICT:
		encode_push(c, dict_index(&c->dict, v));
		break;
	case CODEC_RUNNING:
		encode_push(c, zigzag((int64_t)(v - *running_on(e, cpu))));
		break;
	case CODEC_NEXT:
		encode_push(c, dict_index(&c->dict, v));
		*running_on(e, cpu) = (uint32_t)v;
		break;
	case CODEC_AGAIN_HERE:
		x->running = *running_on(e, cpu);
		/* fall through */
	case CODEC_AGAIN:
	case CODEC_AGAIN_BOTH:
		encode_push(c, guess(c, guess_key(codec, x), v));
		break;
	case CODEC_NEAR:
		encode_push(c, zigzag((int64_t)(v - x->before)));
		break;
	default:
		encode_push(c, v);
	}
	x->before = v;
	if (column == first)
		x->first = v;
}

void encoder_add(struct encoder *e, const struct event *ev)
{
	struct field_context x = {0};

	if (!e->n_events) {
		e->ts_first = e->ts_last = e->ts_min = e->ts_max = ev->ts;
		e->first = &e->steps[ev->kind];
	}
	e->ts_min = ev->ts < e->ts_min ? ev->ts : e->ts_min;
	e->ts_max = ev->ts > e->ts_max ? ev->ts : e->ts_max;
	encode_push(&e->steps[ev->kind], ev->ts - e->ts_last);
	e->ts_last = ev->ts;
	encode_push(&e->kind, ev->kind);
	encode_push(&e->cpu, ev->cpu);
	e->n_events++;
	e->counts[ev->kind]++;
	e->raw_bytes += 4u + kinds[ev->kind].end - kinds[ev->kind].first;
	switch (ev->kind) {
#define EVENT(id, UPPER, lower, text, words, group) case EV_##UPPER:
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	put_field(e, COL_##UPPER##_##name, CODEC_##codec, sizeof(ctype), &ev->lower.name, ev->cpu, \
		  &x, COL_FIRST_##UPPER);
#define EVENT_END(UPPER, lower) break;
#include "wire/event.def"
	}
}

/* A column that is absent reads as zeros. RUNNING and DELTA have zeros that mean something else. */
static bool all_zero(const struct encoder_column *c, unsigned codec)
{
	if (codec_has_dict(codec))
		return c->dict.n == 1 && c->dict.values[0] == 0;
	if (codec != CODEC_VARINT)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i])
			return false;
	return true;
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
		pack_put(body, c->v, c->n, codec == CODEC_STEP, seams);
	}
	buf_put_varint(heads, kind);
	buf_put_varint(heads, field);
	buf_put_u8(heads, (uint8_t)codec);
	buf_put_varint(heads, body->len - start);
}

static void column_clear(struct encoder_column *c)
{
	c->n = 0;
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
		if (e->cols[i].n)
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

	if (e->n_events)
		e->first->v[0] = e->ts_first - e->ts_min;
	put_column(&heads, &body, seams, &e->kind, 0, COMMON_KIND, CODEC_VARINT);
	put_column(&heads, &body, seams, &e->cpu, 0, COMMON_CPU, CODEC_VARINT);
	for (unsigned k = 0; k < EV_KINDS; k++) {
		if (!e->steps[k].n)
			continue;
		put_column(&heads, &body, seams, &e->steps[k], k, FIELD_TIME, CODEC_STEP);
		n++;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column_desc *d = &columns[i];

		if (!e->cols[i].n || all_zero(&e->cols[i], d->codec))
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
	free(c->v);
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
	for (size_t i = 0; i < COLUMNS; i++)
		column_done(&e->cols[i]);
	free(e->running);
	*e = (struct encoder){0};
}
