// SPDX-License-Identifier: MIT
#include "model/lock/doings.h"

#include "base/sort.h"

/* In percent: smaller parts are left out; a part larger than PART_ALONE is named alone. */
enum { PART_LEAST = 5, PART_ALONE = 95, PARTS_MOST = 3 };

void doings_add(struct doings *d, enum interval_kind kind, enum reason reason, uint64_t ns)
{
	if (!ns)
		return;
	if (kind != INTERVAL_WAITING && kind != INTERVAL_RUNNABLE)
		reason = REASON_UNKNOWN;
	d->total += ns;
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].kind == kind && d->v[i].reason == reason) {
			d->v[i].ns += ns;
			return;
		}
	vec_push(d, (struct doing){kind, reason, ns});
}

static int by_ns(const void *pa, const void *pb)
{
	const struct doing *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind > b->kind ? 1 : -1;
	return (a->reason > b->reason) - (a->reason < b->reason);
}

void doings_order(struct doings *d)
{
	sort_by(d->v, d->n, sizeof(*d->v), by_ns);
}

void doings_done(struct doings *d)
{
	vec_done(d);
	d->total = 0;
}

const struct doing *doings_alone(const struct doings *d)
{
	return d->n && d->v[0].ns >= d->total / 100 * PART_ALONE ? &d->v[0] : NULL;
}

size_t doings_told(const struct doings *d)
{
	size_t n = 0;

	while (n < d->n && n < PARTS_MOST && d->v[n].ns >= d->total / 100 * PART_LEAST)
		n++;
	return n;
}
