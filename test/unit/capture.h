/* SPDX-License-Identifier: MIT */
/*
 * A capture in a file of a test's own: PUT(microseconds, cpu, kind, .field = ...) writes an event
 * with the writer `w`; setup and teardown make the file and take it away.
 */
#ifndef THAW_UNIT_CAPTURE_H
#define THAW_UNIT_CAPTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "store/writer.h"

#define T0 5000000000ull
#define US 1000ull
#define PUT(us, cpu, kind_, ...) put(w, us, cpu, (struct event){.kind = kind_, __VA_ARGS__})

static char path[] = "/tmp/thaw-test-XXXXXX";

static inline void put(struct writer *w, uint64_t us, unsigned cpu, struct event ev)
{
	ev.ts = T0 + us * US;
	ev.cpu = (uint16_t)cpu;
	writer_event(w, &ev);
}

static inline int make_path(void **state)
{
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static inline int remove_path(void **state)
{
	return unlink(path);
}

#endif
