// SPDX-License-Identifier: MIT
/*
 * Threads of a recording that has samples and no switches (the ctimer engine). That a thread lives
 * is known, and how much CPU time it used, by its samples; whether it waited, and for what, is not.
 * So its whole life is an interval of which nothing is known, and in the end its samples tell how
 * much of that it ran: running + not seen = wall time.
 */
#include "timeline/machine.h"

static struct thread *alive_or_made(struct timeline *t, uint32_t tid, uint64_t ts)
{
	struct thread *th = life_alive(t, tid);

	return th || !tid || life_has_ended(t, tid) ? th : life_make(t, tid, ts, INTERVAL_LOST);
}

static void born(struct timeline *t, uint32_t tid, uint32_t pid, uint32_t parent, const char *name,
		 uint64_t ts)
{
	struct thread *th = life_alive(t, tid);

	if (!tid)
		return;
	/* The tid is reused: the former thread's end was not recorded. */
	if (th && th->introduced) {
		th->exit_ts = later(ts, 1);
		life_end(t, th, ts, false);
		th = NULL;
	}
	if (!th)
		th = life_make(t, tid, ts, INTERVAL_LOST);
	th->introduced = true;
	th->pid = pid;
	th->parent = parent;
	thread_rename(th, name);
}

bool sampled_event(struct timeline *t, const struct event *ev, uint64_t ts)
{
	struct thread *th;

	switch (ev->kind) {
	case EV_SAMPLE:
		(void)alive_or_made(t, ev->sample.tid, ts);
		break;
	case EV_THREAD:
		born(t, ev->thread.tid, ev->thread.pid, 0, ev->thread.name, ts);
		break;
	case EV_FORK:
		born(t, ev->fork.tid, ev->fork.pid, ev->fork.parent, ev->fork.name, ts);
		break;
	case EV_EXEC:
		th = alive_or_made(t, ev->exec.tid, ts);
		if (th)
			thread_rename(th, ev->exec.name);
		break;
	case EV_EXIT:
		th = life_alive(t, ev->exit.tid);
		if (th) {
			th->exit_ts = later(ts, 1);
			life_end(t, th, ts, false);
		}
		break;
	case EV_SWITCH:
	case EV_WAKING:
	case EV_WAIT:
	case EV_ASLEEP:
		break;
	default:
		return false;
	}
	return true;
}

void sampled_finish(struct timeline *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		uint64_t *total = t->threads.v[i]->total;
		uint64_t ran = t->threads.v[i]->samples * t->sample_ns;

		if (ran > total[INTERVAL_LOST])
			ran = total[INTERVAL_LOST];
		total[INTERVAL_RUNNING] += ran;
		total[INTERVAL_LOST] -= ran;
	}
}
