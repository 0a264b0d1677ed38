// SPDX-License-Identifier: MIT
#include "symbol/answer.h"

#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "symbol/table.h"

enum { TAG_STRING = 1, TAG_RUN = 2, TAG_END = 3, TAG_DATA = 4 };

#define FLUSH_BYTES (256u << 10)

/* ---- the child's side ---- */

void answer_init(struct answer *a, int fd)
{
	*a = (struct answer){.fd = fd};
}

/* If the parent does not read any more, end. */
static void answer_flush(struct answer *a)
{
	for (size_t done = 0; done < a->out.len;) {
		ssize_t n = write(a->fd, a->out.p + done, a->out.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(1);
		done += (size_t)n;
	}
	buf_clear(&a->out);
}

uint32_t answer_string(struct answer *a, const char *s)
{
	size_t len = s ? strnlen(s, TABLE_NAME_MAX - 1) : 0;
	uint64_t *slot;
	bool fresh;

	if (!len)
		return 0;
	slot = map_put(&a->known, map_hash_bytes(s, len), &fresh);
	if (!fresh) {
		const char *old = (const char *)a->kept.p + a->at.v[*slot - 1];

		if (!strncmp(old, s, len) && !old[len])
			return (uint32_t)*slot;
	}
	vec_push(&a->at, a->kept.len);
	buf_put(&a->kept, s, len);
	buf_put_u8(&a->kept, 0);
	*slot = a->at.n;
	buf_put_u8(&a->out, TAG_STRING);
	buf_put_varint(&a->out, len + 1);
	buf_put(&a->out, s, len);
	buf_put_u8(&a->out, 0);
	return (uint32_t)a->at.n;
}

void answer_run(struct answer *a, size_t first, size_t count, const struct answer_frame *frames,
		size_t n)
{
	buf_put_u8(&a->out, TAG_RUN);
	buf_put_varint(&a->out, first - a->next);
	buf_put_varint(&a->out, count);
	buf_put_varint(&a->out, n);
	for (size_t i = 0; i < n; i++) {
		buf_put_varint(&a->out, frames[i].name);
		buf_put_varint(&a->out, frames[i].file);
		buf_put_varint(&a->out, frames[i].line);
	}
	a->next = first + count;
	if (a->out.len >= FLUSH_BYTES)
		answer_flush(a);
}

void answer_data(struct answer *a, size_t first, size_t count, const struct answer_data *d)
{
	buf_put_u8(&a->out, TAG_DATA);
	buf_put_varint(&a->out, first - a->next);
	buf_put_varint(&a->out, count);
	buf_put_varint(&a->out, d->name);
	buf_put_varint(&a->out, d->begin);
	buf_put_varint(&a->out, d->size);
	buf_put_varint(&a->out, d->whole);
	a->next = first + count;
	if (a->out.len >= FLUSH_BYTES)
		answer_flush(a);
}

int answer_end(struct answer *a)
{
	buf_put_u8(&a->out, TAG_END);
	answer_flush(a);
	buf_done(&a->out);
	buf_done(&a->kept);
	vec_done(&a->at);
	map_done(&a->known);
	return 0;
}

/* ---- the parent's side ---- */

typedef VEC(char *) strings;

/* Names are printed on terminals: strip escape sequences. */
static void take_string(struct cursor *c, strings *s)
{
	uint64_t len = cur_varint(c);
	char *p = len && len <= TABLE_NAME_MAX ? (char *)cur_bytes(c, (size_t)len) : NULL;

	if (!p || p[len - 1]) {
		c->bad = true;
		return;
	}
	for (size_t i = 0; i + 1 < len; i++)
		if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
			p[i] = '?';
	vec_push(s, p);
}

static const char *string_of(const strings *s, uint64_t number)
{
	return number && number <= s->n ? s->v[number - 1] : NULL;
}

static void take_frame(struct cursor *c, const strings *s, struct symbols_frame *ret)
{
	uint64_t name = cur_varint(c), file = cur_varint(c), line = cur_varint(c);

	*ret = (struct symbols_frame){
		.name = string_of(s, name), .file = string_of(s, file), .line = (uint32_t)line};
	if (!ret->name || (file && !ret->file) || line > UINT32_MAX)
		c->bad = true;
}

static void take_run(struct cursor *c, const strings *s, size_t n, size_t *next, symbols_fn *fn,
		     void *ctx)
{
	uint64_t skip = cur_varint(c), count = cur_varint(c), n_frames = cur_varint(c);
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];

	if (skip > n - *next || !count || count > n - *next - skip || !n_frames ||
	    n_frames > SYMBOLS_FRAMES_MAX) {
		c->bad = true;
		return;
	}
	for (size_t i = 0; i < n_frames && cur_ok(c); i++) {
		take_frame(c, s, &frames[i]);
		frames[i].inlined = i + 1 < n_frames;
	}
	if (!cur_ok(c))
		return;
	fn(ctx, *next + (size_t)skip, (size_t)count, frames, (size_t)n_frames);
	*next += (size_t)(skip + count);
}

/* What was asked, and the one of two callbacks that gets the answer. */
struct answer_listener {
	size_t n, next;
	const uint64_t *asked; /* of data only */
	symbols_fn *fn;
	symbols_data_fn *data_fn;
	void *ctx;
};

static void take_data(struct cursor *c, const strings *s, struct answer_listener *l)
{
	uint64_t skip = cur_varint(c), count = cur_varint(c), name = cur_varint(c);
	struct symbols_data d = {.name = string_of(s, name)};
	uint64_t whole;

	d.begin = cur_varint(c);
	d.size = cur_varint(c);
	whole = cur_varint(c);
	d.whole = whole;
	if (!cur_ok(c) || skip > l->n - l->next || !count || count > l->n - l->next - skip ||
	    !d.name || whole > 1 || !d.size || d.begin > UINT64_MAX - d.size) {
		c->bad = true;
		return;
	}
	l->next += (size_t)skip;
	for (uint64_t i = 0; i < count; i++)
		if (l->asked[l->next + i] < d.begin || l->asked[l->next + i] - d.begin >= d.size)
			c->bad = true;
	if (cur_ok(c))
		l->data_fn(l->ctx, l->next, (size_t)count, &d);
	l->next += (size_t)count;
}

static int symbol_answer_parse(struct buf *bytes, struct answer_listener *l)
{
	struct cursor c = cur_init(bytes->p, bytes->len);
	strings s = {0};
	bool ended = false;

	while (!cur_end(&c) && !ended) {
		uint8_t tag = cur_u8(&c);

		if (tag == TAG_STRING)
			take_string(&c, &s);
		else if (tag == TAG_RUN && l->fn)
			take_run(&c, &s, l->n, &l->next, l->fn, l->ctx);
		else if (tag == TAG_DATA && l->data_fn)
			take_data(&c, &s, l);
		else if (tag == TAG_END)
			ended = true;
		else
			c.bad = true;
	}
	vec_done(&s);
	if (!ended || !cur_ok(&c) || !cur_end(&c))
		return err_set(-EBADMSG, "the answer is damaged or incomplete");
	return 0;
}

int answer_parse(struct buf *bytes, size_t n, symbols_fn *fn, void *ctx)
{
	struct answer_listener l = {.n = n, .fn = fn, .ctx = ctx};

	return symbol_answer_parse(bytes, &l);
}

int answer_parse_data(struct buf *bytes, const uint64_t *asked, size_t n, symbols_data_fn *fn,
		      void *ctx)
{
	struct answer_listener l = {.n = n, .asked = asked, .data_fn = fn, .ctx = ctx};

	return symbol_answer_parse(bytes, &l);
}
