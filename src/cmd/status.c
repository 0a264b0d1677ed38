// SPDX-License-Identifier: MIT
#include "cmd/status.h"

#include <stdio.h>

#include "base/units.h"
#include "cmd/terminal.h"
#include "report/steps.h"

/* Rates over a shorter time mislead: the first millisecond has the cost of starting. */
#define RATES_NS (NSEC_PER_SEC / 2)

/* What happened each second, and what thaw used, since the last line. */
static void show_rates(struct status_line *s, const struct session_status *st)
{
	uint64_t ns = st->elapsed_ns - s->last_ns;
	char rate[16];

	if (ns >= RATES_NS)
		fprintf(stderr, "  %s events/s  thaw uses %.1f%% of a CPU",
			units_count(rate, sizeof(rate),
				    (st->events - s->last_events) * NSEC_PER_SEC / ns),
			100.0 * (double)(st->cpu_ns - s->last_cpu_ns) / (double)ns);
	s->last_events = st->events;
	s->last_ns = st->elapsed_ns;
	s->last_cpu_ns = st->cpu_ns;
}

void status_progress(void *ctx, const struct session_status *st, const char *phase)
{
	struct status_line *s = ctx;
	char elapsed[16], size[16], lost[16];

	if (!s->on)
		return;
	terminal_code(stderr, "\r\033[K");
	if (phase) {
		fprintf(stderr, "%s ...", phase);
	} else {
		fprintf(stderr, "%s  %s  %s lost",
			units_duration(elapsed, sizeof(elapsed), st->elapsed_ns),
			units_size(size, sizeof(size), st->bytes),
			units_count(lost, sizeof(lost), st->lost));
		show_rates(s, st);
		fprintf(stderr, "%s%s", st->step ? "  stepped back: " : "", step_label(st->step));
	}
	fflush(stderr);
	s->shown = true;
}

void status_clear(struct status_line *s)
{
	if (s->shown)
		terminal_code(stderr, "\r\033[K");
	s->shown = false;
}
