/* SPDX-License-Identifier: MIT */
/*
 * The thread that has the engine. It loads the capture in small steps, between which it answers
 * what can be answered already, and then waits for questions: one at a time, in their order.
 */
#ifndef THAW_SERVE_ANSWER_H
#define THAW_SERVE_ANSWER_H

#include <stdbool.h>

#include "base/buf.h"

struct query;
struct answerer;

/* The caller owns it; the answerer uses it from answerer_ask() until it calls `done`. */
struct question {
	struct question *next;
	const char *text; /* NAME?key=value&... */
	struct buf answer;
	bool binary;
	void *arg;
	void (*done)(void *arg); /* in the answerer's thread */
};

int answerer_start(struct query *q, struct answerer **ret);

/* False, and `done` is never called: too many wait already, or it is ending. */
bool answerer_ask(struct answerer *a, struct question *qn);

/* An eventfd that becomes readable when loading has ended, and then how it did. */
int answerer_fd(const struct answerer *a);
int answerer_loaded(struct answerer *a);

/*
 * No more answers: those that wait are done without one. True if the thread ended within the time;
 * false if it still works: then nothing of it may be freed.
 */
bool answerer_stop(struct answerer *a, unsigned ms);
void answerer_free(struct answerer *a);

#endif
