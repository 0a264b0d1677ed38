// SPDX-License-Identifier: MIT
/*
 * flame?from&to&kind=cpu|wait|both[&threads][&reasons][&invert=1][&by=thread][&from2&to2][&min]
 *
 * A flame graph of one range, or of two. A wait has its reason after the leaf, so that waits with
 * the same stack differ by reason; a wait without a stack is "(no stack)" and its reason. So the
 * graph has every sample and every nanosecond of waiting.
 *
 * In `node`, "reason" says why everything in the node waited, or is 100 if all of it ran; -1 if it
 * is mixed.
 */
#include <string.h>

#include "query/ask.h"
#include "query/grow.h"

struct flame {
	struct asked asked;
	bool invert, by_thread, two;
	uint64_t from2, to2;
	double min;
};

/* 0.0002 or 2e-4, as scripts write them. strtod() would pull file I/O into the page. */
static bool parse_part(const char *s, double *ret)
{
	unsigned places = 0, digits = 0, down = 0;
	double n = 0;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !places); s++) {
		if (*s == '.') {
			places = 1;
			continue;
		}
		n = n * 10 + (*s - '0');
		digits++;
		down += places;
	}
	if (digits && s[0] == 'e' && s[1] == '-' && s[2] >= '1' && s[2] <= '9') {
		down += (unsigned)(s[2] - '0');
		s += 3;
	}
	for (; down && n > 0; down--)
		n /= 10;
	*ret = n;
	return digits && digits < 20 && !*s && n <= 1;
}

static int take_min(const struct request *rq, double *ret)
{
	const char *s = request_str(rq, "min");

	*ret = TREE_MIN;
	if (s && !parse_part(s, ret))
		return err_set(-EINVAL, "min must be a part of the total: 0 to 1");
	return 0;
}

static int take_by(const struct request *rq, bool *ret)
{
	const char *by = request_str(rq, "by");

	*ret = by && !strcmp(by, "thread");
	return !by || !*by || *ret ? 0 : err_set(-EINVAL, "by must be thread");
}

static int flame_take(struct flame *f, const struct query *q, const struct request *rq)
{
	int rc = asked_take(&f->asked, q, rq);

	rc = rc ? rc : asked_flag(rq, "invert", &f->invert);
	rc = rc ? rc : take_by(rq, &f->by_thread);
	rc = rc ? rc : take_min(rq, &f->min);
	f->two = request_str(rq, "from2") || request_str(rq, "to2");
	if (!rc && f->two)
		rc = request_range(rq, "from2", "to2", q->duration, &f->from2, &f->to2);
	return rc;
}

static void put_flame(struct query *q, const struct flame *f, struct buf *ret)
{
	const struct tree_opts opts = {f->min, TREE_NODES, f->asked.pick.waits};
	struct pick second = f->asked.pick;
	struct weights one, two = {0};
	struct tree tree;
	struct json j;

	second.from = f->from2;
	second.to = f->to2;
	weights_take(&one, q->model, &q->columns, q->sums, &f->asked.pick);
	if (f->two)
		weights_take(&two, q->model, &q->columns, q->sums, &second);
	tree_init(&tree);
	grow_tree(&tree, q->model, asked_calls(q, f->invert), &one, f->two ? &two : NULL,
		  f->by_thread);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "unit", f->asked.unit);
	tree_put(&tree, &j, q->model, &opts);
	json_obj_end(&j);
	tree_done(&tree);
	weights_done(&one);
	weights_done(&two);
}

int answer_flame(struct query *q, const struct request *rq, struct buf *ret)
{
	struct flame f = {0};
	int rc = flame_take(&f, q, rq);

	if (!rc)
		put_flame(q, &f, ret);
	asked_done(&f.asked);
	return rc;
}
