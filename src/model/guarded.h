/* SPDX-License-Identifier: MIT */
/* What the guard said when the capture was recorded: see docs/format.md. */
#ifndef THAW_MODEL_GUARDED_H
#define THAW_MODEL_GUARDED_H

#include "base/vec.h"
#include "store/reader.h"

/* "H1 degrade user_read,unwind reading a program's memory ..." in its parts. */
struct guarded_finding {
	char *id, *action;
	char *mechanisms; /* commas between them; "-" if there is none */
	char *title;
};

struct guarded {
	char *verdict; /* NULL: the capture does not say */
	VEC(struct guarded_finding) findings;
	VEC(char *) passed_over; /* engines that see more, each with the reason */
};

void guarded_take(struct guarded *g, const struct reader *r);
void guarded_done(struct guarded *g);

/* True where less was recorded than could be, or a risk was taken. */
bool guarded_matters(const struct guarded *g);

#endif
