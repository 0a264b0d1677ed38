// SPDX-License-Identifier: MIT
#include "guard/guard.h"

/* Might a look at the kernel's symbols clear a finding that has an effect on recordings? */
static bool symbols_may_help(const struct guard_verdict *v)
{
	return !verdict_allows(v, MECHANISM_CLOCK_CLOSE) ||
	       !verdict_allows(v, MECHANISM_PERF_CLOCKS);
}

void guard_look(struct guard *g, uint32_t accepted, bool all)
{
	g->accepted = accepted;
	guard_facts_read(&g->facts, "");
	guard_features_probe(&g->features, &g->facts);
	verdict_make(&g->verdict, &g->facts, &g->features, accepted);
	if (!all && !symbols_may_help(&g->verdict))
		return;
	guard_facts_symbols(&g->facts, "");
	verdict_make(&g->verdict, &g->facts, &g->features, accepted);
}

uint64_t guard_rate(const struct guard *g, uint64_t hz)
{
	int32_t max = g->facts.max_sample_rate;

	return max > 0 && hz > (uint64_t)max ? (uint64_t)max : hz;
}
