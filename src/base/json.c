// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_init(struct json *j, FILE *out)
{
	*j = (struct json){.out = out};
}

/* Length of the well-formed UTF-8 sequence at s, or 0. */
static int utf8_len(const unsigned char *s)
{
	int n = s[0] < 0x80		      ? 1
		: s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		: s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		: s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					      : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

/* How many bytes can be written as they are; nearly always all of them. */
static size_t plain_len(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void quoted(FILE *out, const char *val)
{
	const unsigned char *s = (const unsigned char *)val;

	putc_unlocked('"', out);
	while (*s) {
		size_t plain = plain_len(s);
		int n;

		if (plain) {
			fwrite_unlocked(s, 1, plain, out);
			s += plain;
			continue;
		}
		n = utf8_len(s);
		if (!n) {
			fputs("\xef\xbf\xbd", out);
			s++;
		} else if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s++);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(out, "\\u%04x", *s++);
		} else {
			fwrite(s, 1, (size_t)n, out);
			s += n;
		}
	}
	putc_unlocked('"', out);
}

static void newline(struct json *j)
{
	putc_unlocked('\n', j->out);
	for (int i = 0; i < j->depth; i++)
		putc_unlocked(' ', j->out);
}

static void lead(struct json *j, const char *key)
{
	if (j->need_comma)
		putc_unlocked(',', j->out);
	if (j->depth)
		newline(j);
	if (key) {
		quoted(j->out, key);
		fputs(": ", j->out);
	}
	j->need_comma = true;
}

static void open_with(struct json *j, const char *key, char c)
{
	lead(j, key);
	putc(c, j->out);
	j->need_comma = false;
	j->depth++;
}

static void close_with(struct json *j, char c)
{
	j->depth--;
	if (j->need_comma)
		newline(j);
	putc_unlocked(c, j->out);
	j->need_comma = true;
	if (!j->depth)
		putc('\n', j->out);
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
		quoted(j->out, val);
	else
		fputs("null", j->out);
}

void json_u64(struct json *j, const char *key, uint64_t val)
{
	lead(j, key);
	fprintf(j->out, "%" PRIu64, val);
}

void json_i64(struct json *j, const char *key, int64_t val)
{
	lead(j, key);
	fprintf(j->out, "%" PRId64, val);
}

void json_f64(struct json *j, const char *key, double val)
{
	lead(j, key);
	if (isfinite(val))
		fprintf(j->out, "%.6g", val);
	else
		fputs("null", j->out);
}

void json_bool(struct json *j, const char *key, bool val)
{
	lead(j, key);
	fputs(val ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	lead(j, key);
	fputs("null", j->out);
}
