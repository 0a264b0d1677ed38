// SPDX-License-Identifier: MIT
#include "report/steps.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/units.h"
#include "report/words.h"
#include "wire/step.h"

static const struct {
	const char *name, *label;
} steps[STEPS] = {
#define STEP(id, UPPER, name, label) [id] = {name, label},
#include "wire/step.def"
};

static const char *const causes[STEP_CAUSES] = {
#define STEP_CAUSE(id, UPPER, name, value, limit) [id] = name,
#include "wire/step.def"
};

const char *step_name(uint32_t step)
{
	return step < STEPS ? steps[step].name : "unknown";
}

const char *step_label(uint32_t step)
{
	return step < STEPS ? steps[step].label : "";
}

const char *step_cause_name(uint32_t cause)
{
	return cause < STEP_CAUSES && causes[cause] ? causes[cause] : "unknown";
}

static void say_percent(struct buf *b, uint64_t millionths)
{
	double percent = (double)millionths / 10000;

	buf_printf(b, percent && percent < 0.1 ? "%.4f%%" : "%.1f%%", percent);
}

static void say_cause(struct buf *b, const struct ev_mark *m)
{
	char text[200];

	switch (m->cause) {
	case STEP_CAUSE_OVERHEAD:
		buf_printf(b, "thaw used ");
		say_percent(b, m->value);
		buf_printf(b, " of the machine's CPU time (allowed: ");
		say_percent(b, m->limit);
		buf_printf(b, ")");
		break;
	case STEP_CAUSE_DISTRESS:
		buf_printf(b, "the kernel said '%s'",
			   words_safe(text, sizeof(text), m->note ? m->note : "", 160));
		break;
	case STEP_CAUSE_SAMPLE_RATE:
		buf_printf(b,
			   "the kernel lowered kernel.perf_event_max_sample_rate to %" PRIu64
			   " (was %" PRIu64 ")",
			   m->value, m->limit);
		break;
	case STEP_CAUSE_SLOW_PROBE:
		buf_printf(b, "a probe took %s, again and again",
			   units_duration(text, sizeof(text), m->value));
		break;
	case STEP_CAUSE_NO_ANSWER:
		buf_printf(b, "thaw gave no sign of life for %s",
			   units_duration(text, sizeof(text), m->limit));
		break;
	default:
		buf_printf(b, "for a reason that this version does not know");
	}
}

static void say_step(struct buf *b, const struct ev_mark *m)
{
	char time[16];

	switch (m->step) {
	case STEP_NOTED:
		buf_printf(b, "nothing was given up");
		break;
	case STEP_RATE:
		buf_printf(b, "%d samples a second from then on", STEP_RATE_HZ);
		break;
	case STEP_WAIT_STACKS:
		buf_printf(b, "no stacks of waits from then on");
		break;
	case STEP_SAMPLES:
		buf_printf(b, "no samples from then on");
		break;
	case STEP_DETACH:
		buf_printf(b, "nothing was recorded from then on");
		break;
	case STEP_PAUSE:
		buf_printf(b, "nothing was recorded for the %s before that",
			   units_duration(time, sizeof(time), m->value));
		break;
	default:
		buf_printf(b, "and took a step that this version does not know");
	}
}

void step_words(struct buf *b, const struct ev_mark *m)
{
	say_cause(b, m);
	buf_printf(b, ": ");
	say_step(b, m);
}
