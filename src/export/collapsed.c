// SPDX-License-Identifier: MIT
/* Collapsed stacks, one line each, as flamegraph.pl, inferno and speedscope read them. */
#include <inttypes.h>

#include "export/export.h"
#include "export/folded.h"

static int collapsed_run(const struct export_job *job)
{
	uint64_t unit = EXPORT_HAS(job->kinds, EXPORT_CPU) ? 1 : 1000;
	struct folded f = {0};

	folded_take(&f, job, 0);
	folded_sort(&f);
	for (size_t i = 0; i < f.lines.n; i++)
		if (f.lines.v[i].weight[0] >= unit)
			fprintf(job->out, "%s %" PRIu64 "\n", f.lines.v[i].text,
				f.lines.v[i].weight[0] / unit);
	folded_done(&f);
	return 0;
}

const struct exporter export_collapsed = {
	.name = "collapsed",
	.words = "collapsed stacks, for flamegraph.pl, inferno and speedscope",
	.suffix = ".folded",
	.kinds = EXPORT_ALL,
	.one_kind = true,
	.run = collapsed_run,
};
