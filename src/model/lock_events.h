/* SPDX-License-Identifier: MIT */
/*
 * Puts what events say about locks into the table of locks (model/lock) and the chain
 * (model/charge).
 */
#ifndef THAW_MODEL_LOCK_EVENTS_H
#define THAW_MODEL_LOCK_EVENTS_H

#include "wire/event.h"

struct model;

/* An event about locks: FUTEX, KLOCK, KLOCKED, PLACE. */
void locks_event(struct model *m, const struct event *ev);
/* A waking with WAKE_RELEASE, before the timeline sees it. */
void locks_waking(struct model *m, const struct ev_waking *w, uint64_t ts);
/* decide.c: what kinds they are; all waits have been handed out. */
void locks_decide(struct model *m);

/* futex.c */
void futex_event(struct model *m, const struct event *ev, uint64_t ts);
/* klock.c */
void klock_event(struct model *m, const struct event *ev, uint64_t ts);
void klocked_event(struct model *m, const struct event *ev, uint64_t ts);

#endif
