// SPDX-License-Identifier: MIT
#include "query/request.h"

#include <string.h>

#include "base/err.h"
#include "query/lane.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes in place; what is no encoding stays. Refuses a NUL, which would end the string. */
static int request_decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		int high = *s == '%' ? hex(s[1]) : -1, low = high < 0 ? -1 : hex(s[2]);

		if (low < 0) {
			*to++ = *s == '+' ? ' ' : *s;
			continue;
		}
		if (!high && !low)
			return err_set(-EINVAL, "a NUL in the request");
		*to++ = (char)(high << 4 | low);
		s += 2;
	}
	*to = '\0';
	return 0;
}

static int take_pair(struct request *r, char *pair)
{
	char *value = strchr(pair, '=');
	int rc;

	if (!*pair)
		return 0;
	if (r->n == REQUEST_KEYS)
		return err_set(-E2BIG, "more than %d keys", REQUEST_KEYS);
	if (value)
		*value++ = '\0';
	else
		value = pair + strlen(pair);
	rc = request_decode(pair);
	rc = rc ? rc : request_decode(value);
	r->keys[r->n] = pair;
	r->values[r->n++] = value;
	return rc;
}

int request_parse(struct request *r, const char *text)
{
	char *at, *end;
	int rc = 0;

	*r = (struct request){.name = ""};
	if (strnlen(text, REQUEST_BYTES) == REQUEST_BYTES)
		return err_set(-E2BIG, "the request is too long");
	r->text = mem_strdup(text);
	r->name = r->text;
	at = strchr(r->text, '?');
	if (at)
		*at++ = '\0';
	while (at && !rc) {
		end = strchr(at, '&');
		if (end)
			*end++ = '\0';
		rc = take_pair(r, at);
		at = end;
	}
	return rc;
}

void request_done(struct request *r)
{
	free(r->text);
	*r = (struct request){.name = ""};
}

const char *request_str(const struct request *r, const char *key)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->keys[i], key))
			return r->values[i];
	return NULL;
}

/* Digits up to `stop` or the end; false if there are none, or it is too large. */
static bool request_number(const char **s, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;
	const char *p = *s;

	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (p == *s || n > max)
		return false;
	*s = p;
	*ret = n;
	return true;
}

int request_u64(const struct request *r, const char *key, uint64_t max, uint64_t otherwise,
		uint64_t *ret)
{
	const char *s = request_str(r, key);

	if (!s) {
		*ret = otherwise;
		return 0;
	}
	if (!request_number(&s, max, ret) || *s)
		return err_set(-EINVAL, "%s must be a number up to %llu", key,
			       (unsigned long long)max);
	return 0;
}

int request_need(const struct request *r, const char *key, uint64_t max, uint64_t *ret)
{
	if (!request_str(r, key))
		return err_set(-EINVAL, "%s is missing", key);
	return request_u64(r, key, max, 0, ret);
}

int request_range(const struct request *r, const char *from_key, const char *to_key,
		  uint64_t duration, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from, to;
	int rc = request_u64(r, from_key, LANE_TIME_MAX, 0, &from);

	rc = rc ? rc : request_u64(r, to_key, LANE_TIME_MAX, duration, &to);
	if (rc)
		return rc;
	/* A recording without any length has an empty range, and still has answers. */
	if (from >= to && !(from == to && !duration))
		return err_set(-EINVAL, "%s must be before %s", from_key, to_key);
	*ret_from = from;
	*ret_to = to;
	return 0;
}

int request_list(const struct request *r, const char *key, uint64_t below, struct number_list *ret)
{
	const char *s = request_str(r, key);
	struct number_list list = {0};
	uint64_t n;

	while (s && *s) {
		if (!below || !request_number(&s, below - 1, &n) || (*s && *s != ',') ||
		    list.n == REQUEST_LIST) {
			free(list.v);
			return err_set(-EINVAL, "%s must be up to %d numbers below %llu", key,
				       REQUEST_LIST, (unsigned long long)below);
		}
		vec_push(&list, (uint32_t)n);
		s += *s == ',';
	}
	*ret = list;
	return 0;
}
