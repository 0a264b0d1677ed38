/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The events of a capture as C: enum event_kind, struct ev_*, struct event. See event.def. */
#ifndef THAW_WIRE_EVENT_H
#define THAW_WIRE_EVENT_H

#include <stdint.h>

#include "wire/state.h"

enum event_kind {
#define EVENT(id, UPPER, lower, text, words, group) EV_##UPPER = id,
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	EV_KINDS,
};

#define EVENT(id, UPPER, lower, text, words, group) struct ev_##lower {
#define FIELD(UPPER, lower, id, name, ctype, codec, role) ctype name;
#define EVENT_END(UPPER, lower)                                                                    \
	}                                                                                          \
	;
#include "wire/event.def"

struct event {
	uint64_t ts; /* CLOCK_MONOTONIC, ns */
	uint16_t kind;
	uint16_t cpu;
	union {
#define EVENT(id, UPPER, lower, text, words, group) struct ev_##lower lower;
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	};
};

/* What a field is, and what an event belongs to: see event.def. */
enum event_role {
	ROLE_NUMBER,
	ROLE_TEXT,
	ROLE_HEX,
	ROLE_TID,
	ROLE_WAKER,
	ROLE_BESIDE,
	ROLE_PID,
	ROLE_STACK,
	ROLE_MODULE,
	ROLE_CONTEXT,
	ROLE_LOSS,
	ROLE_EVENT,
	ROLE_MARK,
	ROLE_STEP,
	ROLE_STEP_CAUSE,
	ROLE_PLACE,
	ROLE_KLOCK,
};

enum event_group { GROUP_REST, GROUP_SAMPLES, GROUP_WAITS, GROUP_LOCKS, GROUP_WHO };

enum mark_what {
#define MARK_WORD(id, UPPER, name) MARK_##UPPER = id,
#include "wire/word.def"
};

/* The CPU of a LOST event that concerns all of them. */
#define EVENT_ALL_CPUS UINT16_MAX

/*
 * OWN: thaw itself, and its children until they run another program. LAUNCHED: the command that
 * thaw forked; until it calls exec(), its time is thaw's.
 */
enum { THREAD_KERNEL = 1, THREAD_OWN = 2, THREAD_LAUNCHED = 4 };

#endif
