// SPDX-License-Identifier: MIT
#include "cmd/status.h"

#include <stdio.h>

#include "base/units.h"
#include "view/steps.h"

void status_progress(void *ctx, const struct session_status *st, const char *phase)
{
	struct status_line *s = ctx;
	char elapsed[16], rate[16], size[16], lost[16];
	uint64_t ns = st->elapsed_ns - s->last_ns;
	double share = st->elapsed_ns ? 100.0 * (double)st->cpu_ns / (double)st->elapsed_ns : 0;

	if (!s->on)
		return;
	if (phase) {
		fprintf(stderr, "\r\033[K%s ...", phase);
	} else {
		uint64_t per_s = ns ? (st->events - s->last_events) * NSEC_PER_SEC / ns : 0;

		fprintf(stderr,
			"\r\033[K%s  %s events/s  %s  %s lost  thaw uses %.1f%% of a CPU%s%s",
			units_duration(elapsed, sizeof(elapsed), st->elapsed_ns),
			units_count(rate, sizeof(rate), per_s),
			units_size(size, sizeof(size), st->bytes),
			units_count(lost, sizeof(lost), st->lost), share,
			st->step ? "  stepped back: " : "", step_label(st->step));
		s->last_events = st->events;
		s->last_ns = st->elapsed_ns;
	}
	fflush(stderr);
	s->shown = true;
}

void status_clear(struct status_line *s)
{
	if (s->shown)
		fputs("\r\033[K", stderr);
	s->shown = false;
}
