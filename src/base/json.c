// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

/* What is kept before it goes to the file. */
#define KEPT (64u << 10)

void json_init(struct json *j, FILE *out)
{
	*j = (struct json){.out = out, .write = fwrite};
}

void json_init_buf(struct json *j, struct buf *into)
{
	*j = (struct json){.into = into};
}

static struct buf *json_text(struct json *j)
{
	return j->into ? j->into : &j->kept;
}

static void json_put(struct json *j, const char *s)
{
	buf_put(json_text(j), s, strlen(s));
}

static void json_flush(struct json *j)
{
	if (!j->out)
		return;
	j->write(j->kept.p, 1, j->kept.len, j->out);
	buf_clear(&j->kept);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static bool block_is_plain(const uint8_t *p)
{
	text_block v = text_block_at(p);

	return text_block_all((text_block)((v >= 0x20) & (v < 0x7f) & (v != '"') & (v != '\\')));
}

/* What quote_plain() may write. */
static size_t quoted_room(size_t len)
{
	return len + 2 + TEXT_BLOCK;
}

/* Writes s in quotes; where that ends, or NULL if a byte of s cannot be written as it is. */
static uint8_t *quote_plain(uint8_t *to, const char *s, size_t len)
{
	*to++ = '"';
	memcpy(to, s, len);
	memset(to + len, ' ', TEXT_BLOCK);
	for (size_t i = 0; i < len; i += TEXT_BLOCK)
		if (!block_is_plain(to + i))
			return NULL;
	to[len] = '"';
	return to + len + 1;
}

static size_t plain_len(const unsigned char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_plain(s[n]))
		n++;
	return n;
}

/* Escapes a character that a terminal would obey: it means the same to a parser. */
static void put_code(struct buf *out, const char *s, size_t n)
{
	uint32_t code = text_code(s, n);

	if (code < 0x10000)
		buf_printf(out, "\\u%04x", code);
	else
		buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			   0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void quote_odd(struct buf *out, const char *val, size_t len)
{
	const unsigned char *s = (const unsigned char *)val, *end = s + len;

	buf_put_u8(out, '"');
	while (s < end) {
		size_t plain = plain_len(s, (size_t)(end - s));
		size_t n;

		if (plain) {
			buf_put(out, s, plain);
			s += plain;
			continue;
		}
		n = text_utf8_len((const char *)s);
		if (!n) {
			buf_put(out, TEXT_REPLACEMENT, 3);
			s++;
		} else if (*s == '"' || *s == '\\') {
			buf_put_u8(out, '\\');
			buf_put_u8(out, *s++);
		} else if (!text_is_shown((const char *)s, n)) {
			put_code(out, (const char *)s, n);
			s += n;
		} else {
			buf_put(out, s, n);
			s += n;
		}
	}
	buf_put_u8(out, '"');
}

static void quoted(struct buf *out, const char *val)
{
	size_t len = strlen(val);
	uint8_t *end;

	buf_reserve(out, quoted_room(len));
	end = quote_plain(out->p + out->len, val, len);
	if (end)
		out->len = (size_t)(end - out->p);
	else
		quote_odd(out, val, len);
}

static uint8_t *indent(uint8_t *to, int depth)
{
	*to++ = '\n';
	memset(to, ' ', (size_t)depth);
	return to + depth;
}

static void newline(struct json *j)
{
	struct buf *out = json_text(j);

	if (j->tight)
		return;
	buf_reserve(out, 1 + (size_t)j->depth);
	out->len = (size_t)(indent(out->p + out->len, j->depth) - out->p);
}

/* What stands before a value: half of the output. */
static void lead(struct json *j, const char *key)
{
	struct buf *out = json_text(j);
	uint8_t *to;

	if (j->kept.len >= KEPT)
		json_flush(j);
	buf_reserve(out, 2 + (size_t)j->depth);
	to = out->p + out->len;
	if (j->need_comma)
		*to++ = ',';
	if (j->depth && !j->tight)
		to = indent(to, j->depth);
	out->len = (size_t)(to - out->p);
	if (key) {
		quoted(out, key);
		buf_put_u8(out, ':');
		if (!j->tight)
			buf_put_u8(out, ' ');
	}
	j->need_comma = true;
}

/* A value that stands alone is a document too. */
static void written(struct json *j)
{
	if (j->depth)
		return;
	json_flush(j);
	buf_done(&j->kept);
}

static void open_with(struct json *j, const char *key, char c)
{
	lead(j, key);
	buf_put_u8(json_text(j), (uint8_t)c);
	j->need_comma = false;
	j->depth++;
}

static void close_with(struct json *j, char c)
{
	j->depth--;
	if (j->need_comma)
		newline(j);
	buf_put_u8(json_text(j), (uint8_t)c);
	j->need_comma = true;
	if (j->depth)
		return;
	buf_put_u8(json_text(j), '\n');
	written(j);
}

/* Without printf: most of the output is numbers. */
static void digits(struct json *j, uint64_t val)
{
	char d[20];
	size_t n = sizeof(d);

	do
		d[--n] = (char)('0' + val % 10);
	while (val /= 10);
	buf_put(json_text(j), d + n, sizeof(d) - n);
}

void json_obj(struct json *j, const char *key)
{
	open_with(j, key, '{');
}

void json_obj_end(struct json *j)
{
	close_with(j, '}');
}

void json_arr(struct json *j, const char *key)
{
	open_with(j, key, '[');
}

void json_arr_end(struct json *j)
{
	close_with(j, ']');
}

void json_str(struct json *j, const char *key, const char *val)
{
	lead(j, key);
	if (val)
		quoted(json_text(j), val);
	else
		json_put(j, "null");
	written(j);
}

void json_u64(struct json *j, const char *key, uint64_t val)
{
	lead(j, key);
	digits(j, val);
	written(j);
}

void json_i64(struct json *j, const char *key, int64_t val)
{
	lead(j, key);
	buf_printf(json_text(j), "%" PRId64, val);
	written(j);
}

void json_i64s(struct json *j, const char *key, const int64_t *v, size_t n)
{
	lead(j, key);
	buf_put_u8(json_text(j), '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_put_u8(json_text(j), ',');
		if (v[i] < 0)
			buf_put_u8(json_text(j), '-');
		digits(j, v[i] < 0 ? -(uint64_t)v[i] : (uint64_t)v[i]);
	}
	buf_put_u8(json_text(j), ']');
}

void json_f64(struct json *j, const char *key, double val)
{
	lead(j, key);
	if (isfinite(val))
		buf_printf(json_text(j), "%.6g", val);
	else
		json_put(j, "null");
	written(j);
}

void json_decimal(struct json *j, const char *key, uint64_t val, unsigned digits_n)
{
	uint64_t unit = 1, rest;

	for (unsigned i = 0; i < digits_n; i++)
		unit *= 10;
	lead(j, key);
	digits(j, val / unit);
	rest = val % unit;
	if (rest)
		buf_put_u8(json_text(j), '.');
	while (rest) {
		unit /= 10;
		buf_put_u8(json_text(j), (uint8_t)('0' + rest / unit));
		rest %= unit;
	}
	written(j);
}

void json_bool(struct json *j, const char *key, bool val)
{
	lead(j, key);
	json_put(j, val ? "true" : "false");
	written(j);
}

void json_null(struct json *j, const char *key)
{
	lead(j, key);
	json_put(j, "null");
	written(j);
}

void json_u64_if(struct json *j, const char *key, bool known, uint64_t val)
{
	if (known)
		json_u64(j, key, val);
	else
		json_null(j, key);
}

void json_raw(struct json *j, const char *key, const void *raw, size_t len)
{
	lead(j, key);
	buf_put(json_text(j), raw, len);
	written(j);
}
