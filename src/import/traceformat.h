/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own description of its tracepoints, as perf.data carries it (TRACING_DATA): where in
 * a record's bytes a field is. Only the fields below are kept, of whatever tracepoints are there.
 */
#ifndef THAW_IMPORT_TRACEFORMAT_H
#define THAW_IMPORT_TRACEFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_field {
	TRACE_COMMON_FLAGS,
	TRACE_PREV_PID,
	TRACE_PREV_COMM,
	TRACE_PREV_STATE,
	TRACE_NEXT_PID,
	TRACE_NEXT_COMM,
	TRACE_PID,
	TRACE_COMM,
	TRACE_PARENT_PID,
	TRACE_CHILD_PID,
	TRACE_CHILD_COMM,
	TRACE_FIELDS,
};

struct trace_event {
	uint32_t id;
	char system[32], name[64];
	struct {
		uint32_t offset, size; /* size 0: it has no such field */
	} at[TRACE_FIELDS];
	/*
	 * The letter of each bit of prev_state ('S', 'D', ...), and the bit that says "preempted".
	 */
	char letters[32];
	uint64_t preempted;
};

struct traceformats;

/* -EBADMSG where the bytes make no sense. */
int traceformats_parse(const uint8_t *data, size_t len, struct traceformats **ret);
void traceformats_free(struct traceformats *t);
/* NULL: it is not described. */
const struct trace_event *traceformats_find(const struct traceformats *t, uint32_t id);

/* One format file of tracefs. False: it is none. For the tests too. */
bool trace_event_parse(const char *text, size_t len, struct trace_event *ret);

/* A number of a record's bytes; false if it does not have it. */
bool trace_number(const struct trace_event *e, enum trace_field f, const uint8_t *raw, size_t len,
		  uint64_t *ret);
/* A name of 16 bytes at most; "" if it does not have it. */
void trace_name(const struct trace_event *e, enum trace_field f, const uint8_t *raw, size_t len,
		char out[17]);

#endif
