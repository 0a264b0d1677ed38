/* SPDX-License-Identifier: MIT */
/* What thaw doctor has found out, and the two ways to say it. */
#ifndef THAW_CMD_DOCTOR_H
#define THAW_CMD_DOCTOR_H

#include <stdio.h>

#include "guard/guard.h"
#include "selftest/selftest.h"

/* What `thaw record` would do: for a command, and for the whole machine. */
struct choice {
	const char *engine; /* NULL: none */
	char why[512];	    /* then, why */
};

/* The outcome of --probe: times, or the reason why there are none. */
struct doctor_probe {
	bool asked;
	struct selftest_own own;
	struct selftest_times kernel;
	char own_why[480], kernel_why[480];
	const struct guard_row *refused; /* because of that */
};

struct diagnosis {
	struct guard g;
	struct choice command, system;
	enum guard_level level;
	struct doctor_probe probe;
};

/* To standard output, 80 columns wide. */
void doctor_text(const struct diagnosis *d);
#define DOCTOR_SCHEMA "thaw.doctor/1"
void doctor_json(const struct diagnosis *d, FILE *out);

void doctor_probe(const struct guard *g, struct doctor_probe *p);
/* All that the guard knows, as docs/guard.md has it. */
void doctor_list(FILE *out);

#endif
