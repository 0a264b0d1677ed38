// SPDX-License-Identifier: MIT
/* thaw doctor --probe: what an interrupted ring costs, measured; bounded in tries and in time. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "cmd/doctor.h"

enum {
	OWN_MS = 400,
	KERNEL_MS = 500,
	KERNEL_TRIES = 64,
	KERNEL_TRIES_FEW = 4, /* where each may take a quarter of a second */
};
#define KERNEL_BUDGET_NS (200 * NSEC_PER_MSEC)

static const struct guard_row *doctor_probe_refusal(const struct guard_verdict *v)
{
	for (size_t i = 0; i < v->n_findings; i++)
		if (v->findings[i].row->action == GUARD_REFUSE && !v->findings[i].accepted &&
		    v->findings[i].row->mechanisms >> MECHANISM_KERNEL_RING & 1)
			return v->findings[i].row;
	return NULL;
}

static void doctor_probe_note(char *why, size_t room, int rc)
{
	if (rc)
		snprintf(why, room, "%s", err_msg());
}

void doctor_probe(const struct guard *g, struct doctor_probe *p)
{
	const struct guard_verdict *v = &g->verdict;
	bool few = v->mechanisms[MECHANISM_KERNEL_RING] == GUARD_DEGRADE;
	const struct guard_engine *e = &v->engines[ENGINE_BPF];

	p->asked = true;
	if (!e->usable) {
		snprintf(p->own_why, sizeof(p->own_why), "%s", e->why);
		snprintf(p->kernel_why, sizeof(p->kernel_why), "%s", e->why);
		return;
	}
	doctor_probe_note(p->own_why, sizeof(p->own_why), selftest_own(OWN_MS, &p->own));
	p->refused = doctor_probe_refusal(v);
	if (p->refused)
		snprintf(p->kernel_why, sizeof(p->kernel_why), "%s (%s)", p->refused->title,
			 p->refused->id);
	else
		doctor_probe_note(p->kernel_why, sizeof(p->kernel_why),
				  selftest_kernel(KERNEL_MS, few ? KERNEL_TRIES_FEW : KERNEL_TRIES,
						  KERNEL_BUDGET_NS, &p->kernel));
}
