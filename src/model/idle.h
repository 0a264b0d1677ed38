/* SPDX-License-Identifier: MIT */
/*
 * Finds threads that wait for work by design, from all that they did in the recording;
 * docs/waits.md has the rule and its limits.
 */
#ifndef THAW_MODEL_IDLE_H
#define THAW_MODEL_IDLE_H

struct model;

/* Sets the verdict of such rows to IDLE; row.in keeps the former reason. */
void idle_decide(struct model *m);

#endif
