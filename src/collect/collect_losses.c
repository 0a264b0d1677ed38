// SPDX-License-Identifier: MIT
/* What was lost since the last look becomes events. */
#include "collect/collect.h"
#include "collect/collect_private.h"
#include "wire/loss.h"

static const uint8_t event_of[PR_KINDS] = {
	[PR_SWITCH] = EV_SWITCH, [PR_WAKING] = EV_WAKING,   [PR_WAKING_LONG] = EV_WAKING,
	[PR_SAMPLE] = EV_SAMPLE, [PR_WAIT] = EV_WAIT,	    [PR_FORK] = EV_FORK,
	[PR_EXEC] = EV_EXEC,	 [PR_EXIT] = EV_EXIT,	    [PR_RENAME] = EV_RENAME,
	[PR_JOIN] = EV_THREAD,	 [PR_LEAVE] = EV_LEAVE,	    [PR_FUTEX] = EV_FUTEX,
	[PR_KLOCK] = EV_KLOCK,	 [PR_KLOCKED] = EV_KLOCKED, [PR_KLOCKS] = EV_KLOCKED,
};

static void tell_loss(struct collector *c, uint32_t cause, uint32_t kind, uint64_t now,
		      uint64_t *told)
{
	struct event ev = {.ts = c->last_ts,
			   .kind = EV_LOST,
			   .lost = {.cause = cause, .kind = kind, .count = now - *told}};

	if (now <= *told)
		return;
	*told = now;
	writer_event(c->w, &ev);
	c->lost[cause] += ev.lost.count;
}

void collector_losses(struct collector *c, uint64_t late)
{
	struct engine_losses now;

	c->e->ops->losses(c->e, &now);
	/* A lost stack is counted where an event needs it: LOSS_STACK_GONE. */
	for (uint32_t k = 1; k < PR_KINDS; k++)
		if (event_of[k])
			tell_loss(c, LOSS_RING_FULL, event_of[k], now.by_kind[k],
				  &c->told.by_kind[k]);
	tell_loss(c, LOSS_RING_FULL, 0, now.records, &c->told.records);
	tell_loss(c, LOSS_UNREADABLE, 0, c->damaged, &c->told_damaged);
	if (c->stream)
		tell_loss(c, LOSS_THROTTLED, EV_SAMPLE, perf_stream_throttled(c->stream),
			  &c->told_throttled);
	tell_loss(c, LOSS_SIDEBAND, 0, now.sideband, &c->told.sideband);
	tell_loss(c, LOSS_RECURSION, 0, now.recursion, &c->told.recursion);
	tell_loss(c, LOSS_HINT, 0, now.no_hint, &c->told.no_hint);
	tell_loss(c, LOSS_KLOCK, 0, now.no_klock, &c->told.no_klock);
	tell_loss(c, LOSS_STACK_READ, 0, now.no_stack, &c->told.no_stack);
	tell_loss(c, LOSS_WAIT_STACK, 0, now.no_wait_stack, &c->told.no_wait_stack);
	tell_loss(c, LOSS_STACK_GONE, 0, stacks_gone(c->stacks), &c->told_gone);
	tell_loss(c, LOSS_UNREAD, 0, stacks_unread(c->stacks), &c->told_unread);
	tell_loss(c, LOSS_LATE, 0, late, &c->told_late);
	tell_loss(c, LOSS_BLOCKED, EV_SAMPLE, now.blocked, &c->told.blocked);
	tell_loss(c, LOSS_NO_TIMER, EV_SAMPLE, now.no_timer, &c->told.no_timer);
	tell_loss(c, LOSS_UNFINISHED, 0, now.unfinished, &c->told.unfinished);
	tell_loss(c, LOSS_CONFINED, 0, now.confined, &c->told.confined);
	if (c->e->self_told)
		collect_end_the_dead(c);
}
