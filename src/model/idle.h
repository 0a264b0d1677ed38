/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for work by design. Decided from what they did all the time, when all of it is
 * known; docs/waits.md has the rule and its limits.
 */
#ifndef THAW_MODEL_IDLE_H
#define THAW_MODEL_IDLE_H

struct model;

/* Turns the verdict of rows into IDLE where that is so; row.in keeps what it was. */
void idle_decide(struct model *m);

#endif
