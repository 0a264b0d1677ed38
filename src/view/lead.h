/* SPDX-License-Identifier: MIT */
/* The first sentences of a report; see lead.c. */
#ifndef THAW_VIEW_LEAD_H
#define THAW_VIEW_LEAD_H

#include "base/buf.h"
#include "model/summary.h"

/* The sentence or two about what is wrong; nothing if there is nothing to say. */
void lead_sentence(const struct summary *s, struct buf *b);

/* lead_lock.c: the lock behind which threads waited, its holder, and what that one did. */
void lead_lock(const struct summary *s, struct buf *b);

/* lead_cause.c: without such a lock, what else took the time; two sentences at most. */
void lead_cause(const struct summary *s, struct buf *b);

/* lead_stall.c: "4 of 8 threads stood behind commit_lock, while flusher was ...". */
void lead_stall(const struct summary *s, const struct stall *st, struct buf *b);

/* Whom the finding is about: "worker-1", "4 worker threads". */
void lead_group(struct buf *b, const struct finding *f);
/* " in flush_log", if the function is known. */
void lead_in(struct buf *b, const struct summary *s, uint32_t function);

#endif
