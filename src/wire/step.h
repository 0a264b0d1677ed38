/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef THAW_WIRE_STEP_H
#define THAW_WIRE_STEP_H

enum step {
#define STEP(id, UPPER, name, label) STEP_##UPPER = id,
#include "wire/step.def"
	STEPS,
};

enum step_cause {
#define STEP_CAUSE(id, UPPER, name, value, limit) STEP_CAUSE_##UPPER = id,
#include "wire/step.def"
	STEP_CAUSES,
};

/* What STEP_RATE leaves of the samples, a second and CPU. */
#define STEP_RATE_HZ 99

#endif
