// SPDX-License-Identifier: MIT
#include "model/charge/main_holder.h"

#include "model/charge/held.h"

static void main_holder_seal(struct main_holders *h)
{
	uint64_t from = 0;

	h->sealed = true;
	for (size_t i = 0; i < h->n; i++) {
		const struct seen *before = i ? &h->seen[i - 1] : NULL;

		if (h->seen[i].ts > from)
			vec_push(&h->of.spans,
				 (struct majority_span){from, h->seen[i].ts,
							chain_holder_between(before, &h->seen[i])});
		from = h->seen[i].ts;
	}
	majority_seal(&h->of);
}

/* `last` is the last sign within the wait. */
static uint32_t most_of(struct main_holders *h, const struct seen *last, uint64_t from, uint64_t to,
			uint32_t waiter)
{
	uint32_t tail = chain_holder_between(last, NULL);
	struct majority_vote v = {0};
	uint64_t ns;

	if (!h->sealed)
		main_holder_seal(h);
	majority_vote(&h->of, from, last->ts, &v);
	majority_add(&v, tail, to - last->ts);
	if (!v.key || v.key == waiter)
		return 0;
	ns = majority_time(&h->of, v.key, from, last->ts) + (v.key == tail ? to - last->ts : 0);
	return ns > (to - from) / 2 ? v.key : 0;
}

/* Of a wait with few signs in it. */
static uint32_t holder_of_few(const struct main_holders *h, uint64_t from, uint64_t to,
			      uint32_t waiter)
{
	struct held_walk w = held_walk(h->seen, h->n, from, to);
	struct map had = {0};
	struct held held;
	uint32_t best = 0;
	uint64_t most = 0;

	while (held_next(&w, &held)) {
		uint64_t *ns;

		if (!held.thread || held.thread == waiter)
			continue;
		ns = map_put(&had, held.thread, NULL);
		*ns += held.end - held.start;
		best = *ns > most ? held.thread : best;
		most = *ns > most ? *ns : most;
	}
	map_done(&had);
	return best;
}

uint32_t main_holder(struct main_holders *h, uint64_t from, uint64_t to, uint32_t waiter)
{
	size_t first = held_signs(h->seen, h->n, from), end = held_signs(h->seen, h->n, to);

	if (end - first <= MAIN_HOLDER_SIGNS)
		return holder_of_few(h, from, to, waiter);
	return most_of(h, &h->seen[end - 1], from, to, waiter);
}

void main_holders_done(struct main_holders *h)
{
	majority_done(&h->of);
}
