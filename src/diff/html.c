// SPDX-License-Identifier: MIT
/* What the page of two captures shows first, and says about them: their names, and what differs. */
#include "diff/html.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"

/* The model's times of a side, as the page has them: since the start of the first capture. */
static uint64_t page_time(const struct diff *d, const struct diff_side *s, uint64_t moved,
			  uint64_t ts)
{
	return ts + (s == d->b ? moved : 0) - d->a->s->model->timeline.begin;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The file name, with its folder only if both have the same name. */
static const char *html_name_of(const struct diff *d, const struct diff_side *s)
{
	bool alike = !strcmp(last_part(d->a->path), last_part(d->b->path));

	return alike && strcmp(d->a->path, d->b->path) ? s->path : last_part(s->path);
}

void diff_page_title(const struct diff *d, struct buf *b)
{
	const char *one = html_name_of(d, d->a), *two = html_name_of(d, d->b);

	if (!strcmp(one, two))
		buf_printf(b, "Two ranges of %s compared", one);
	else
		buf_printf(b, "%s and %s compared", one, two);
}

void diff_page_start(const struct diff *d, uint64_t moved, struct buf *b)
{
	uint64_t from = page_time(d, d->a, moved, d->a->start);
	uint64_t from2 = page_time(d, d->b, moved, d->b->start);

	buf_printf(b, "sel=%" PRIu64 "-%" PRIu64 "&sel2=%" PRIu64 "-%" PRIu64 "&tab=flame", from,
		   from + d->a->window, from2, from2 + d->b->window);
}

static void put_side(struct json *j, const struct diff *d, const struct diff_side *s,
		     uint64_t moved)
{
	const struct model *m = s->s->model;
	uint64_t unix_ns = model_unix_ns(m, m->timeline.begin);

	json_obj(j, NULL);
	json_str(j, "name", html_name_of(d, s));
	json_u64(j, "begin", page_time(d, s, moved, m->timeline.begin));
	json_u64(j, "from", page_time(d, s, moved, s->start));
	json_u64(j, "ns", s->window);
	json_u64_if(j, "begin_unix_ns", unix_ns, unix_ns);
	json_obj_end(j);
}

void diff_page_compared(const struct diff *d, uint64_t moved, struct buf *b)
{
	struct buf lead = {0};
	struct json j;

	diff_lead(d, &lead);
	json_init_buf(&j, b);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "text", buf_cstr(&lead));
	json_arr(&j, "sides");
	put_side(&j, d, d->a, moved);
	put_side(&j, d, d->b, moved);
	json_arr_end(&j);
	json_obj_end(&j);
	buf_done(&lead);
}
