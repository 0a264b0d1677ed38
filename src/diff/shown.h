/* SPDX-License-Identifier: MIT */
/* What the views of a comparison share. */
#ifndef THAW_DIFF_SHOWN_H
#define THAW_DIFF_SHOWN_H

#include "base/units.h"
#include "diff/diff.h"

/* "3.50s", "350ms/s", "34.4%" */
const char *diff_value(char *out, size_t room, const struct diff *d, double ns);
/* "+5.1%", "new", "gone", "x12.0" */
const char *diff_percent(char *out, size_t room, const struct diff_row *r);
/* The one that the first sentence is about; NULL if none differs. */
const struct diff_row *diff_first(const struct diff *d);

/* Half the width of the confidence interval of this row's change, at the level of the test. */
static inline double diff_margin(const struct diff *d, const struct diff_row *r)
{
	return stats_t_at(d->opts.alpha, r->r.dof) * r->r.error;
}

#endif
