/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Perfetto export share. Numbers of fields stand where they are written, with
 * the name that Perfetto's schema has for them; test/formats/perfetto.proto has them all.
 *
 * Packets need not be in the order of time: every consumer sorts them by their timestamps, and
 * those of one moment stay in the order of the file. This is used where something is known only
 * later.
 */
#ifndef THAW_EXPORT_PERFETTO_H
#define THAW_EXPORT_PERFETTO_H

#include "export/export.h"
#include "export/holders.h"

/* Whoever reads a trace has no room for more. */
#define PERFETTO_CPUS 1024u

/* Packets of one writer share what it has given numbers to. */
enum perfetto_writer {
	WRITER_SYSTEM = 1, /* clocks, threads, the scheduler */
	WRITER_EVENTS = 2, /* samples and slices, with their stacks */
};

struct perfetto_cpu {
	struct buf events; /* that go into its next packet */
	uint64_t last;	   /* when the last switch was written */
	uint64_t since;	   /* since when `on` is on it */
	uint32_t on;	   /* tid; 0: nobody that is shown */
	uint32_t first;	   /* the same, right behind the begin */
	uint64_t samples;
};

struct perfetto_thread {
	uint64_t slept;	     /* when the last switch with which it went to sleep was written */
	uint32_t slept_cpu;  /* and where */
	uint32_t waker;	     /* of its last waking */
	uint8_t ctx;	     /* of that */
	bool named, tracked; /* its name, its track is written */
};

/* A switch that waits for the interval that it ends. */
struct perfetto_switch {
	bool there;
	uint64_t ts;
	uint32_t cpu;
	struct ev_switch_ sw;
};

/* A thread that did not run when the trace begins. */
struct perfetto_asleep {
	uint32_t tid, state;
};

/* An address, and the numbers of the functions at it: first, first + 1, ... innermost first. */
struct perfetto {
	const struct export_job *job;
	struct model *m;
	uint64_t from;
	uint64_t suspended; /* the trace's clock is ahead of the capture's by so much */
	bool ended;	    /* the recording has: what follows is not part of it */
	uint32_t events;
	bool kernel_known;
	bool scheduling;    /* the capture has it, and says on which CPUs */
	struct buf out;	    /* whole packets, on their way */
	struct buf scratch; /* a name, made clean */
	VEC(struct perfetto_cpu) cpus;
	struct perfetto_thread *threads; /* by index */
	struct map processes;		 /* those that are written, by pid */
	struct perfetto_switch pending;
	VEC(struct perfetto_asleep) asleep;
	struct holders holders;

	/* perfetto_intern.c */
	struct buf fresh; /* InternedData of the next packet of WRITER_EVENTS */
	struct map numbered, frames, stacks, probed_stacks;
	VEC(uint64_t) numbers; /* frames of the stack in hand */
	VEC(uint64_t) parts;   /* of the path in hand */
	uint64_t last_number;

	/* perfetto_slices.c */
	struct map klocks; /* locks of the kernel by what events say of them -> index + 1 */
	uint64_t flows;
};

/* perfetto.c */

/* Begins a packet; what is behind it until the end is its fields. ts 0: none. */
size_t perfetto_packet(struct perfetto *p, uint64_t ts, enum perfetto_writer writer);
void perfetto_packet_end(struct perfetto *p, size_t at);
/* A string field. */
void perfetto_str(struct perfetto *p, struct buf *b, unsigned field, const char *s);
/* Its name and process, unless they are written already. */
void perfetto_name(struct perfetto *p, const struct thread *th);
/* The thread that has a tid, to call it by its name: of several, the latest. */
const struct thread *perfetto_thread(const struct perfetto *p, uint32_t tid);

/* perfetto_sched.c: the scheduler's events, as ftrace has them. */
int perfetto_sched_event(struct perfetto *p, const struct event *ev, bool inside);
void perfetto_sched_interval(struct perfetto *p, const struct interval *iv);
void perfetto_sched_finish(struct perfetto *p);

/* perfetto_intern.c: strings and stacks that are written once and then called by number. */

/* What a string is of: with an index, by which it is known. */
enum perfetto_text {
	TEXT_CATEGORY,
	TEXT_ANNOTATION,
	TEXT_FUNCTION,
	TEXT_SOURCE,
	TEXT_PATH,
	TEXT_NAME_REASON,
	TEXT_NAME_LOCK,
	TEXT_NAME_FREED,
	TEXT_NAME_HELD,
	TEXT_NAME_STALL,
	TEXT_REASON,
	TEXT_KIND,
	TEXT_LOCK,
	TEXT_THREAD,
	TEXT_WORDS,
};
uint64_t perfetto_text(struct perfetto *p, enum perfetto_text what, uint64_t index,
		       const char *text);
/* 0: it is not written yet. For those that take time to put together. */
uint64_t perfetto_has_text(const struct perfetto *p, enum perfetto_text what, uint64_t index);
/* 0: no stack. probed: without a probe's own frames. */
uint64_t perfetto_stack(struct perfetto *p, uint32_t kstack, uint32_t ustack, bool probed);
void perfetto_intern_done(struct perfetto *p);

/* perfetto_slices.c */

enum perfetto_category { CATEGORY_WAIT, CATEGORY_LOCK, CATEGORY_STALL };
enum perfetto_annotation {
	A_REASON,
	A_LOCK,
	A_KIND,
	A_HOLDER,
	A_WAKER,
	A_WHAT,
	A_THREADS,
	A_CPUS,
	A_TIMES,
	ANNOTATIONS,
};

/* Put together before its packets: what is new in it is written with the first of them. */
struct perfetto_slice {
	uint64_t start, end;
	uint64_t track, name, stack;
	uint64_t flow; /* 0: none */
	uint64_t category[2];
	unsigned categories, notes;
	struct {
		uint64_t name, text; /* text 0: a number */
		uint64_t number;
	} note[ANNOTATIONS];
};

void perfetto_category(struct perfetto *p, struct perfetto_slice *s, enum perfetto_category c);
void perfetto_note(struct perfetto *p, struct perfetto_slice *s, enum perfetto_annotation a,
		   uint64_t text, uint64_t number);
void perfetto_slice(struct perfetto *p, const struct perfetto_slice *s);
/* "writer (4712)" */
uint64_t perfetto_thread_text(struct perfetto *p, const struct thread *th);

void perfetto_slices_begin(struct perfetto *p);
void perfetto_wait(struct perfetto *p, const struct interval *iv);
void perfetto_klocked(struct perfetto *p, const struct event *ev);
void perfetto_slices_done(struct perfetto *p);

/* perfetto_stalls.c */
void perfetto_stalls(struct perfetto *p);

#endif
