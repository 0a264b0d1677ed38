/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The events of a capture as C: enum event_kind, struct ev_*, struct event. See event.def. */
#ifndef THAW_WIRE_EVENT_H
#define THAW_WIRE_EVENT_H

#include <stdint.h>

#include "wire/state.h"

enum event_kind {
#define EVENT(id, UPPER, lower, text, words) EV_##UPPER = id,
#define FIELD(UPPER, lower, id, name, ctype, codec)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	EV_KINDS,
};

#define EVENT(id, UPPER, lower, text, words) struct ev_##lower {
#define FIELD(UPPER, lower, id, name, ctype, codec) ctype name;
#define EVENT_END(UPPER, lower)                                                                    \
	}                                                                                          \
	;
#include "wire/event.def"

struct event {
	uint64_t ts; /* CLOCK_MONOTONIC, ns */
	uint16_t kind;
	uint16_t cpu;
	union {
#define EVENT(id, UPPER, lower, text, words) struct ev_##lower lower;
#define FIELD(UPPER, lower, id, name, ctype, codec)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	};
};

enum mark_what {
	MARK_BEGIN = 1,
	MARK_END = 2,
	MARK_STEP = 3, /* it steps back, or was away: what is missing from here on */
};

/* The CPU of a LOST event that concerns all of them. */
#define EVENT_ALL_CPUS UINT16_MAX

enum { THREAD_KERNEL = 1 };

#endif
