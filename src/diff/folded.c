// SPDX-License-Identifier: MIT
/*
 * Both sides' stacks in one list, "stack before after", as difffolded.pl writes and flamegraph.pl
 * reads them. Samples or microseconds as thaw export -f collapsed counts them; where the sides are
 * not comparable (--per, or another rate of samples), the later one is scaled.
 */
#include "diff/folded.h"

#include <inttypes.h>

#include "export/folded.h"

static double factor(const struct diff *d, bool samples)
{
	enum diff_kind kind = samples ? DIFF_SELF : DIFF_WAIT;
	double a = diff_scale(d, d->a, kind) * (samples ? d->a->period : 1);
	double b = diff_scale(d, d->b, kind) * (samples ? d->b->period : 1);
	const struct facts *fa = &d->a->s->model->facts, *fb = &d->b->s->model->facts;

	/* Keeps counts exact where both sides are comparable already. */
	if (d->opts.per == DIFF_PER_NONE && (!samples || fa->freq_hz == fb->freq_hz))
		return 1;
	return a > 0 ? b / a : 1;
}

static void folded_side_take(struct folded *f, const struct diff_side *s, enum export_kind kind,
			     unsigned side)
{
	struct export_job job = {
		.model = s->s->model, .summary = s->s, .kinds = 1u << kind, .thread = s->thread};

	folded_take(f, &job, side);
}

void diff_folded(const struct diff *d, enum export_kind kind, FILE *out)
{
	uint64_t unit = kind == EXPORT_CPU ? 1 : 1000;
	double by = factor(d, kind == EXPORT_CPU);
	struct folded f = {0};

	folded_side_take(&f, d->a, kind, 0);
	folded_side_take(&f, d->b, kind, 1);
	folded_sort(&f);
	for (size_t i = 0; i < f.lines.n; i++) {
		uint64_t a = f.lines.v[i].weight[0] / unit;
		uint64_t b = (uint64_t)((double)(f.lines.v[i].weight[1] / unit) * by + 0.5);

		if (a || b)
			fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", f.lines.v[i].text, a, b);
	}
	folded_done(&f);
}
