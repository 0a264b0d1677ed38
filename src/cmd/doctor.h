/* SPDX-License-Identifier: MIT */
/* What thaw doctor has found out, and the two ways to tell it. */
#ifndef THAW_CMD_DOCTOR_H
#define THAW_CMD_DOCTOR_H

#include <stdio.h>

#include "guard/guard.h"

/* What `thaw record` would do: for a command, and for the whole machine. */
struct choice {
	const char *engine; /* NULL: none */
	char why[512];	    /* then, why */
};

struct diagnosis {
	struct guard g;
	struct choice command, system;
	enum guard_level level;
};

/* To standard output, 80 columns wide. */
void doctor_text(const struct diagnosis *d);
/* Schema "thaw.doctor/1". */
void doctor_json(const struct diagnosis *d, FILE *out);

/* All that the guard knows, as docs/guard.md has it. */
void doctor_list(FILE *out);

#endif
