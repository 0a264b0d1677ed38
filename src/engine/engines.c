// SPDX-License-Identifier: MIT
/* Which engines there are, the one that sees most first. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "guard/guard.h"

static const struct engine_ops *const engines[] = {
	&engine_bpf,
	&engine_perf,
	&engine_ctimer,
};

bool engine_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (!strcmp(engines[i]->name, name))
			return true;
	return false;
}

const char *engine_names(void)
{
	static char names[64];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(engines) && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					engines[i]->name);
	return names;
}

size_t engine_count(void)
{
	return ARRAY_LEN(engines);
}

const struct engine_ops *engine_at(size_t i)
{
	return engines[i];
}

/* First the guard's verdict, then the engine's own check of the plan. */
int engine_check(const struct engine_ops *ops, const struct plan *plan)
{
	int id = guard_engine_id(ops->name);
	const struct guard_engine *e = id < 0 ? NULL : &plan->guard->verdict.engines[id];

	if (e && !e->usable)
		return err_set(e->rc, "%s", e->why);
	return ops->check(plan);
}

int engine_choose(const struct plan *plan, const struct engine_ops **ret)
{
	int rc, first = -ENOTSUP;
	char why[512] = "";

	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		if (plan->engine && strcmp(engines[i]->name, plan->engine))
			continue;
		rc = engine_check(engines[i], plan);
		if (!rc) {
			*ret = engines[i];
			return 0;
		}
		if (!why[0]) {
			snprintf(why, sizeof(why), "%s", err_msg());
			first = rc;
		}
	}
	return err_set(first, "%s", why);
}
