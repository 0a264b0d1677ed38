// SPDX-License-Identifier: MIT
#include "model/charge/held.h"

#include "base/search.h"

size_t held_signs(const struct seen *seen, size_t n, uint64_t ts)
{
	return SEARCH(0, n, i, seen[i].ts <= ts);
}

struct held_walk held_walk(const struct seen *seen, size_t n, uint64_t from, uint64_t to)
{
	size_t at = held_signs(seen, n, from);

	return (struct held_walk){.seen = seen,
				  .before = at ? &seen[at - 1] : NULL,
				  .n = n,
				  .at = at,
				  .from = from,
				  .to = to};
}

bool held_next(struct held_walk *w, struct held *ret)
{
	while (w->from < w->to && !w->ended) {
		const struct seen *told = chain_told(w->at < w->n ? &w->seen[w->at] : NULL, w->to);
		const struct seen *next = told && told->ts <= w->to ? told : NULL;

		*ret = (struct held){w->from, next ? next->ts : w->to,
				     chain_holder_between(w->before, told)};
		w->at += next != NULL;
		w->before = next;
		w->ended = !next;
		if (ret->start < ret->end) {
			w->from = ret->end;
			return true;
		}
	}
	return false;
}
