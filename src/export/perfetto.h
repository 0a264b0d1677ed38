/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Perfetto export share. Numbers of fields stand where they are written, with
 * the name that Perfetto's schema has for them; test/formats/perfetto.proto has them all.
 *
 * Packets need not be in the order of time: every consumer sorts them by their timestamps, and
 * those of one moment stay in the order of the file. Exporters use that where something is known
 * only later.
 */
#ifndef THAW_EXPORT_PERFETTO_H
#define THAW_EXPORT_PERFETTO_H

#include "export/export.h"
#include "export/holders.h"

/* Perfetto has no room for more. */
#define PERFETTO_CPUS 1024u

/* Packets of one writer share its interned numbers. */
enum perfetto_writer {
	WRITER_SYSTEM = 1, /* clocks, threads, the scheduler */
	WRITER_EVENTS = 2, /* samples and slices, with their stacks */
};

/* By an interrupt: see perfetto_bundle.c. */
struct perfetto_waking {
	uint64_t ts;
	uint32_t wakee;
	uint32_t target; /* the CPU that it was on last */
	uint32_t flags;
};

struct perfetto_cpu {
	struct buf events; /* that go into its next packet, */
	VEC(struct perfetto_waking) wakings;
	bool lost;	/* and events before it were lost */
	bool begun;	/* its first switch was written */
	uint64_t last;	/* when the last one was */
	uint64_t since; /* since when `on` is on it */
	uint32_t on;	/* tid; 0: nobody that is shown */
	uint32_t first; /* the same, right after the start */
	uint64_t samples;
};

struct perfetto_thread {
	uint64_t slept;	     /* time of the last written switch with which it went to sleep */
	uint32_t slept_cpu;  /* and where */
	uint32_t last_cpu;   /* that it ran on */
	uint32_t waker;	     /* of its last waking; 0: an interrupt */
	uint64_t end;	     /* time of the event that ends it; 0: none */
	uint32_t as;	     /* index of the thread that Perfetto takes it for */
	bool replaces;	     /* or it is a new one, and another one had the tid */
	bool named, tracked; /* its name, its track is written, */
	bool lost_tracked;   /* and that of its losses */
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
	uint32_t tid, state, kstack;
};

struct perfetto {
	const struct export_job *job;
	struct model *m;
	uint64_t from, to;  /* the window */
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

	/* perfetto_losses.c */
	VEC(uint64_t) losses_end; /* of the last one on each of their tracks */

	/* perfetto_slices.c */
	struct map klocks; /* locks of the kernel by what events say of them -> index + 1 */
	uint64_t flows;
};

/* Tracks that belong to no thread, after those of threads. */
enum perfetto_track { TRACK_RECORDING, TRACK_BLACKOUTS, TRACK_LOSSES, TRACKS_FIXED = 66 };
static inline uint64_t perfetto_track(const struct perfetto *p, unsigned i)
{
	return p->m->timeline.threads.n + 1 + i;
}

/* perfetto.c */

/* Begins a packet: fields follow until its end. ts 0: none. */
size_t perfetto_packet(struct perfetto *p, uint64_t ts, enum perfetto_writer writer);
void perfetto_packet_end(struct perfetto *p, size_t at);
/* A string field. */
void perfetto_str(struct perfetto *p, struct buf *b, unsigned field, const char *s);
/* The latest thread with that tid, for its name. */
const struct thread *perfetto_thread(const struct perfetto *p, uint32_t tid);

/* perfetto_tasks.c: threads and processes, how they begin and end. */

/* Says what each thread is to Perfetto; comes first. */
void perfetto_tasks_begin(struct perfetto *p);
/* When Perfetto may hear of a thread: neither before it begins nor after it has ended. */
uint64_t perfetto_naming_ts(const struct perfetto *p, const struct thread *th);
/* Writes a thread's name and process once. */
void perfetto_name(struct perfetto *p, const struct thread *th);
void perfetto_fork(struct perfetto *p, const struct event *ev);
void perfetto_ends(struct perfetto *p);

/* perfetto_bundle.c: events of the kernel's own tracing, by CPU. */
struct perfetto_cpu *perfetto_cpu(struct perfetto *p, uint32_t cpu);
/* Begins an event of a thread: fields follow in the CPU's events until its end. */
size_t perfetto_event(struct perfetto *p, uint32_t cpu, uint64_t ts, uint32_t tid);
void perfetto_event_end(struct perfetto *p, uint32_t cpu, size_t at);
void perfetto_waking(struct perfetto *p, uint32_t cpu, const struct perfetto_waking *waking);
/* Writes what the CPU has so far. */
void perfetto_bundle(struct perfetto *p, uint32_t cpu);
/* Events were lost before the CPU's next one. */
void perfetto_lost_events(struct perfetto *p, uint32_t cpu);
void perfetto_bundles_done(struct perfetto *p);

/* perfetto_sched.c: the scheduler's events, as ftrace has them. */

/* Is the thread shown? */
bool perfetto_shows(const struct perfetto *p, uint32_t tid);
int perfetto_sched_event(struct perfetto *p, const struct event *ev, bool inside);
void perfetto_sched_interval(struct perfetto *p, const struct interval *iv);
void perfetto_sched_finish(struct perfetto *p);

/* perfetto_intern.c: strings and stacks that are written once and then called by number. */

/* What a string belongs to; with an index, its key. */
enum perfetto_text {
	TEXT_CATEGORY,
	TEXT_ANNOTATION,
	TEXT_FUNCTION,
	TEXT_KERNEL, /* a function of the kernel, as events call it */
	TEXT_SOURCE,
	TEXT_PATH,
	TEXT_NAME_REASON,
	TEXT_NAME_LOCK,
	TEXT_NAME_FREED,
	TEXT_NAME_HELD,
	TEXT_NAME_STALL,
	TEXT_NAME_LOSS,
	TEXT_REASON,
	TEXT_KIND,
	TEXT_LOCK,
	TEXT_THREAD,
	TEXT_WORDS,
};
uint64_t perfetto_text(struct perfetto *p, enum perfetto_text what, uint64_t index,
		       const char *text);
/* 0: not written yet. Saves putting a costly string together again. */
uint64_t perfetto_has_text(const struct perfetto *p, enum perfetto_text what, uint64_t index);
/* 0: no stack. probed: without a probe's own frames. */
uint64_t perfetto_stack(struct perfetto *p, uint32_t kstack, uint32_t ustack, bool probed);
void perfetto_intern_done(struct perfetto *p);

/* perfetto_slices.c */

enum perfetto_category {
	CATEGORY_WAIT,
	CATEGORY_LOCK,
	CATEGORY_STALL,
	CATEGORY_LOST,
	CATEGORY_RECORDING,
};
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
	A_CPU,
	A_CAUSE,
	A_EVENT,
	A_COUNT,
	ANNOTATIONS,
};

/* Filled before its packets are written: new strings go out with the first packet. */
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
/* Makes a track of a name known. */
void perfetto_named_track(struct perfetto *p, uint64_t track, const char *name);
/* The same for a thread's; its number. */
uint64_t perfetto_thread_track(struct perfetto *p, const struct thread *th);
/* "writer (4712)" */
uint64_t perfetto_thread_text(struct perfetto *p, const struct thread *th);

void perfetto_slices_begin(struct perfetto *p);
void perfetto_wait(struct perfetto *p, const struct interval *iv);
void perfetto_klocked(struct perfetto *p, const struct event *ev);
void perfetto_slices_done(struct perfetto *p);

/* perfetto_stalls.c */
void perfetto_stalls(struct perfetto *p);

/* perfetto_losses.c: what is not in the recording, and when it began and ended. */
void perfetto_recording(struct perfetto *p);
void perfetto_loss(struct perfetto *p, const struct event *ev);
void perfetto_lost_time(struct perfetto *p, const struct interval *iv);

#endif
