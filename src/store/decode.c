// SPDX-License-Identifier: MIT
/* Turns columns into events: see decode.h, and docs/format.md for the bytes. */
#include "store/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/format.h"

enum { COLUMNS_MAX = 4096 };

struct head {
	uint64_t kind, field, len;
	uint8_t codec;
};

static struct decoder_column *find_column(struct decoder *d, const struct head *h)
{
	if (h->kind == 0 && h->field == COMMON_KIND && h->codec == CODEC_VARINT)
		return &d->kind;
	if (h->kind == 0 && h->field == COMMON_CPU && h->codec == CODEC_VARINT)
		return &d->cpu;
	if (h->field == FIELD_TIME && h->kind < DECODER_KINDS && h->codec == CODEC_STEP) {
		if (!d->steps[h->kind])
			d->steps[h->kind] = mem_zalloc(sizeof(*d->steps[0]));
		return d->steps[h->kind];
	}
	if (!kind_known(h->kind))
		return NULL;
	for (unsigned i = kinds[h->kind].first; i < kinds[h->kind].end; i++)
		if (columns[i].field == h->field)
			return columns[i].codec == h->codec ? &d->cols[i] : NULL;
	return NULL;
}

static bool read_dict(struct decoder *d, struct decoder_column *c, struct cursor *bytes)
{
	uint64_t n = cur_varint(bytes);

	/* Each takes at least a byte, which bounds what a file can make us allocate. */
	if (n > cur_left(bytes))
		return false;
	if (d->dict_room - d->dict_n < n) {
		d->dict_room = 2 * (d->dict_n + (size_t)n);
		d->dict = mem_grow(d->dict, d->dict_room, sizeof(*d->dict));
	}
	c->dict_first = d->dict_n;
	c->dict_n = (size_t)n;
	for (uint64_t i = 0; i < n; i++)
		d->dict[d->dict_n++] = cur_varint(bytes);
	return cur_ok(bytes);
}

static bool read_column(struct decoder *d, struct decoder_column *c, const struct head *h,
			struct cursor bytes, size_t n)
{
	c->present = true;
	if (h->codec == CODEC_STRING) {
		c->text = bytes;
		buf_reserve(&d->text, bytes.len + 1);
		d->text.len += bytes.len + 1; /* room for all; see take_text() */
		return true;
	}
	if (codec_guesses(h->codec)) {
		if (!c->guesses)
			c->guesses = mem_alloc(GUESS_SLOTS * sizeof(*c->guesses));
		memset(c->guesses, 0, GUESS_SLOTS * sizeof(*c->guesses));
	}
	if (codec_has_dict(h->codec)) {
		if (!read_dict(d, c, &bytes))
			return false;
		bytes = cur_take(&bytes, cur_left(&bytes));
	}
	return unpack_init(&c->values, bytes, n);
}

static void count_kinds(struct unpack kind, size_t *counts)
{
	uint64_t ahead[DECODER_AHEAD];
	size_t n;

	while ((n = unpack_block(&kind, ahead, DECODER_AHEAD)))
		for (size_t i = 0; i < n; i++)
			if (ahead[i] < DECODER_KINDS)
				counts[ahead[i]]++;
}

static const char *decode_complain(const struct decoder *d, const size_t *counts)
{
	if (!d->kind.present)
		return "the kinds of the events are missing";
	for (unsigned k = 0; k < DECODER_KINDS; k++)
		if (counts[k] && !(d->steps[k] && d->steps[k]->present))
			return "the times of events are missing";
	return NULL;
}

static int read_columns(struct decoder *d, struct cursor *c, uint64_t n_columns)
{
	struct cursor heads = *c;
	size_t counts[DECODER_KINDS] = {0};
	const char *words;

	for (uint64_t i = 0; i < n_columns; i++) {
		cur_varint(c);
		cur_varint(c);
		cur_u8(c);
		cur_varint(c);
	}
	for (uint64_t i = 0; i < n_columns && cur_ok(c); i++) {
		struct head h = {.kind = cur_varint(&heads), .field = cur_varint(&heads)};
		struct decoder_column *col;
		struct cursor bytes;

		h.codec = cur_u8(&heads);
		h.len = cur_varint(&heads);
		bytes = cur_take(c, (size_t)h.len);
		col = find_column(d, &h);
		if (!cur_ok(c) || !col)
			continue;
		if (col->present || !read_column(d, col, &h, bytes,
						 (size_t)(h.kind ? counts[h.kind] : d->n_events)))
			return err_set(-EBADMSG, "column %u of event %u is malformed",
				       (unsigned)h.field, (unsigned)h.kind);
		if (col == &d->kind)
			count_kinds(col->values, counts);
	}
	if (!cur_ok(c))
		return err_set(-EBADMSG, "the list of columns is malformed");
	words = decode_complain(d, counts);
	return words ? err_set(-EBADMSG, "%s", words) : 0;
}

static void decode_reset(struct decoder_column *c)
{
	c->present = c->constant = false;
	c->prev = 0;
}

int decoder_start(struct decoder *d, const void *payload, size_t len, uint64_t ts_min)
{
	struct cursor c = cur_init(payload, len);
	uint64_t n_columns;
	int rc;

	decode_reset(&d->kind);
	decode_reset(&d->cpu);
	d->common = (struct decoder_lane){0};
	memset(d->lanes, 0, sizeof(d->lanes));
	for (unsigned i = 0; i < DECODER_KINDS; i++)
		if (d->steps[i])
			decode_reset(d->steps[i]);
	for (unsigned i = 0; i < COLUMNS; i++)
		decode_reset(&d->cols[i]);
	d->dict_n = 0;
	buf_clear(&d->text);
	if (d->n_running)
		memset(d->running, 0, d->n_running * sizeof(*d->running));
	d->at = 0;
	d->ts_now = ts_min;
	d->bad = false;
	d->n_events = cur_varint(&c);
	n_columns = cur_varint(&c);
	if (!cur_ok(&c) || d->n_events > EVENTS_PER_CHUNK_MAX || n_columns > COLUMNS_MAX)
		rc = err_set(-EBADMSG, "its head is malformed");
	else
		rc = read_columns(d, &c, n_columns);
	if (rc)
		d->n_events = 0;
	return rc;
}

static uint32_t *more_running(struct decoder *d, uint16_t cpu)
{
	size_t n = (size_t)cpu + 1;

	d->running = mem_grow(d->running, n, sizeof(*d->running));
	memset(d->running + d->n_running, 0, (n - d->n_running) * sizeof(*d->running));
	d->n_running = n;
	return &d->running[cpu];
}

static inline uint32_t *running_on(struct decoder *d, uint16_t cpu)
{
	return cpu < d->n_running ? &d->running[cpu] : more_running(d, cpu);
}

/* The buffer has room for all strings of the chunk, so that it does not move while it fills. */
static const char *take_text(struct decoder *d, struct decoder_column *c)
{
	size_t n;
	const char *s = cur_str_ref(&c->text, &n);
	char *out = (char *)d->text.p + d->text.len;

	if (!s) {
		d->bad = true;
		return "";
	}
	memcpy(out, s, n);
	out[n] = '\0';
	d->text.len += n + 1;
	return out;
}

/* Looks up values to the first that is not in the dictionary: only those before it are good. */
static size_t look_up(const struct decoder *d, struct decoder_column *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c->ahead[i] >= c->dict_n) {
			c->values = (struct unpack){0};
			return i;
		}
		c->ahead[i] = d->dict[c->dict_first + c->ahead[i]];
	}
	return n;
}

/*
 * Decodes what does not depend on other columns; a missing column holds zeros. Returns how many
 * values there are; 0: the column is too short.
 */
static unsigned read_ahead(const struct decoder *d, struct decoder_column *c, unsigned codec)
{
	size_t n = DECODER_AHEAD;

	if (c->constant)
		return DECODER_AHEAD;
	c->constant = codec != CODEC_DELTA && (!c->present || unpack_constant(&c->values));
	if (c->present)
		n = unpack_block(&c->values, c->ahead, DECODER_AHEAD);
	else
		memset(c->ahead, 0, sizeof(c->ahead));
	if (c->present && (codec == CODEC_DICT || codec == CODEC_NEXT))
		n = look_up(d, c, n);
	if (codec == CODEC_DELTA || codec == CODEC_RUNNING || codec == CODEC_NEAR)
		for (size_t i = 0; i < n; i++)
			c->ahead[i] = (uint64_t)unzigzag(c->ahead[i]);
	if (codec == CODEC_DELTA)
		for (size_t i = 0; i < n; i++)
			c->prev = c->ahead[i] += c->prev;
	return (unsigned)n;
}

static bool fill_lane(struct decoder *d, struct decoder_lane *l, unsigned n)
{
	*l = (struct decoder_lane){.n = n};
	d->bad |= !n;
	return n;
}

static bool read_common(struct decoder *d)
{
	unsigned kinds = read_ahead(d, &d->kind, CODEC_VARINT);
	unsigned cpus = read_ahead(d, &d->cpu, CODEC_VARINT);

	return fill_lane(d, &d->common, kinds < cpus ? kinds : cpus);
}

static bool read_kind(struct decoder *d, uint64_t kind)
{
	unsigned n = read_ahead(d, d->steps[kind], CODEC_STEP);

	for (unsigned i = kind_known(kind) ? kinds[kind].first : 0;
	     kind_known(kind) && i < kinds[kind].end; i++) {
		unsigned here = columns[i].codec == CODEC_STRING
					? n
					: read_ahead(d, &d->cols[i], columns[i].codec);

		n = here < n ? here : n;
	}
	return fill_lane(d, &d->lanes[kind], n);
}

static inline uint64_t take_again(struct decoder *d, struct decoder_column *c, uint64_t code,
				  uint64_t key)
{
	struct column_guess *g = &c->guesses[guess_slot(key)];
	uint64_t i = code > 1 ? code - 2 : code ? g->before : g->last;

	if (i >= c->dict_n) {
		d->bad = true;
		return 0;
	}
	if (i != g->last)
		*g = (struct column_guess){.last = (uint32_t)i, .before = g->last};
	return d->dict[c->dict_first + i];
}

/* As in the encoder, codec and size are constants to the compiler. */
static inline __attribute__((always_inline)) void
take_field(struct decoder *d, unsigned column, unsigned codec, unsigned size, void *at,
	   unsigned place, uint16_t cpu, struct field_context *x, unsigned first)
{
	struct decoder_column *c = &d->cols[column];
	uint64_t v;

	if (codec == CODEC_STRING) {
		const char *s = c->present ? take_text(d, c) : "";

		memcpy(at, &s, sizeof(s));
		return;
	}
	v = c->ahead[place];
	if (codec == CODEC_RUNNING && c->present)
		v += *running_on(d, cpu);
	if (codec == CODEC_NEAR && c->present)
		v += x->before;
	if (codec == CODEC_NEXT)
		*running_on(d, cpu) = (uint32_t)v;
	if (codec == CODEC_AGAIN_HERE)
		x->running = *running_on(d, cpu);
	if (codec_guesses(codec) && c->present)
		v = take_again(d, c, v, guess_key(codec, x));
	memcpy(at, &v, size);
	v = 0;
	memcpy(&v, at, size);
	x->before = v;
	if (column == first)
		x->first = v;
}

static inline __attribute__((always_inline)) bool take_event(struct decoder *d, struct event *ev)
{
	struct field_context x = {0};
	struct decoder_lane *lane;
	uint64_t kind, cpu;
	unsigned place;

	d->at++;
	if (d->common.at == d->common.n && !read_common(d))
		return false;
	kind = d->kind.ahead[d->common.at];
	cpu = d->cpu.ahead[d->common.at++];
	if (cpu > UINT16_MAX || kind >= DECODER_KINDS) {
		d->bad = true;
		return false;
	}
	lane = &d->lanes[kind];
	if (lane->at == lane->n && !read_kind(d, kind))
		return false;
	place = lane->at++;
	d->ts_now += d->steps[kind]->ahead[place];
	ev->ts = d->ts_now;
	ev->kind = (uint16_t)kind;
	ev->cpu = (uint16_t)cpu;
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group) case EV_##UPPER:
#define FIELD(UPPER, lower, id, name, ctype, codec, role)                                          \
	take_field(d, COL_##UPPER##_##name, CODEC_##codec, sizeof(ctype), &ev->lower.name, place,  \
		   (uint16_t)cpu, &x, COL_FIRST_##UPPER);
#define EVENT_END(UPPER, lower) return true;
#include "wire/event.def"
	}
	d->unknown++;
	return false;
}

int decoder_next_many(struct decoder *d, struct event *evs, size_t room, size_t *ret_n)
{
	size_t n = 0;

	buf_clear(&d->text);
	while (d->at < d->n_events && !d->bad && n < room && !d->text.len)
		if (take_event(d, &evs[n]) && !d->bad)
			n++;
	*ret_n = n;
	if (n)
		return 1;
	return d->bad ? err_set(-EBADMSG, "event %llu of it is malformed",
				(unsigned long long)d->at)
		      : 0;
}

int decoder_next(struct decoder *d, struct event *ret_ev)
{
	size_t n;

	return decoder_next_many(d, ret_ev, 1, &n);
}

void decoder_init(struct decoder *d)
{
	memset(d, 0, sizeof(*d));
}

void decoder_done(struct decoder *d)
{
	for (unsigned i = 0; i < DECODER_KINDS; i++)
		free(d->steps[i]);
	for (unsigned i = 0; i < COLUMNS; i++)
		free(d->cols[i].guesses);
	free(d->dict);
	free(d->running);
	buf_done(&d->text);
	memset(d, 0, sizeof(*d));
}
