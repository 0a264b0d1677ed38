/* SPDX-License-Identifier: MIT */
/*
 * What a recording means: events go in one by one, threads, waits and functions come out. Pure and
 * deterministic: the same events give the same results in the same order, on any machine.
 *
 *   m = model_new(&opts); model_add_loss_span(m, ...); model_event(m, &ev)...; model_finish(m);
 *
 * model_load() (load.h) does all of this for a capture. Views ask through summary.h.
 */
#ifndef THAW_MODEL_MODEL_H
#define THAW_MODEL_MODEL_H

#include "arch/arch.h"
#include "model/charge/chain.h"
#include "model/wait/classify.h"
#include "model/gil.h"
#include "model/guarded.h"
#include "model/killed.h"
#include "model/lock/locks.h"
#include "model/suspects.h"
#include "model/wait/names.h"
#include "model/wait/tally.h"
#include "model/wait/waited_file.h"
#include "timeline/process.h"
#include "timeline/timeline.h"
#include "wire/loss.h"
#include "wire/unseen.h"
#include "wire/unwind.h"

/* A sample of a thread; row is of the tally. */
typedef void (*sample_fn)(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			  uint32_t row);
typedef void (*event_fn)(void *arg, const struct event *ev);
/*
 * A thread (NULL: an interrupt) got a kernel lock: its index, when, how long that took, and how
 * many times this stands for. The sums of kernel locks count these, and the open waits among the
 * intervals.
 */
typedef void (*klocked_fn)(void *arg, uint32_t lock, const struct thread *th, uint64_t ts,
			   uint64_t ns, uint32_t n);

struct model_opts {
	uint64_t from, to; /* since the start of the recording; to 0: its end */
	const struct frame_source *frames;
	const char *machine;	/* that it is from; NULL: it does not say */
	uint64_t min_lock_wait; /* shorter ones do not count in the sums of locks */
	uint64_t sample_ns;	/* not 0: no switches were recorded; see timeline.h */
	interval_fn sink;	/* sees every interval, when it is closed */
	sample_fn sample_sink;	/* every sample */
	seen_fn seen_sink;	/* every sign of who holds a lock */
	event_fn event_sink;	/* every event, before it goes in */
	klocked_fn klocked_sink;
	bool scan_first;	    /* time was lost: load.c scans at once */
	bool times_only;	    /* threads and their time: no rows, reasons, locks */
	bool reasons_only;	    /* of waits too: no samples, sums of locks, blame */
	void (*restart)(void *arg); /* the sinks start over: see load.c */
	void *sink_arg;
};

/* What the capture says about itself. Strings are the model's own. */
struct facts {
	char *path, *host, *kernel, *engine; /* "": not known */
	char *foreign; /* a machine whose calls and locks thaw cannot read; "": none */
	VEC(char *) command;
	char *scope;	     /* "command", "process", "thread", "cgroup", "system"; "": not known */
	VEC(char *) targets; /* pids, tids, or the folder of a control group */
	char *target_command;	   /* of the first target, as it was started; "": not known */
	uint64_t unix_ns, mono_ns; /* the wall clock and the events' clock at one moment */
	uint64_t cpus, freq_hz;
	bool complete; /* sealed, and nothing damaged */
	bool sealed;
	bool interrupted; /* by Ctrl-C */
	bool no_space;	  /* the disk was full */
	bool failed;
	bool has_symbols;
	bool has_switches;  /* the engine records them; otherwise time is known by samples alone */
	char *not_followed; /* programs that could not be followed, "2 (a, b)"; "" if none */
	bool no_kernel_locks; /* the kernel has no record of contention, or it was not asked */
	uint32_t unseen;      /* enum unseen: what the engine cannot tell */
	bool whole_machine;   /* all threads were looked at: what a CPU did is known */
	char *damage;	      /* in words; "" if none */
	struct guarded guard;
};

struct losses {
	uint64_t by_class[3]; /* enum loss_class */
	uint64_t by_cause[LOSS_CAUSES];
	uint64_t by_kind[EV_KINDS]; /* 0: several, or not known */
	uint64_t unknown;	    /* of causes from the future */
	uint64_t late;		    /* events that came out of order */
	uint64_t odd;		    /* events that contradict each other: others are missing */
};

/* User stacks of samples, waits and wakers, by why the unwinding ended. */
enum stack_use { STACK_OF_SAMPLE, STACK_OF_WAIT, STACK_OF_WAKER, STACK_USES };
struct stack_ends {
	uint64_t by_stop[STACK_USES][UNWIND_STOPS]; /* 0: not known */
	uint64_t guessed[STACK_USES];		    /* some caller was */
};

/* How often a user stack was used. Place 0 is for numbers that no stack has. */
struct stack_used {
	uint32_t n[STACK_USES];
};

/* A wait that had not ended when the recording did, or its thread. */
struct open_wait {
	const struct thread *thread;
	uint64_t start;
	uint64_t end;  /* of the thread; 0: it lived on */
	uint32_t lock; /* as in struct interval */
	uint32_t row;  /* of the tally */
	uint32_t file; /* as in struct interval */
};

#define BLACKOUT_MIN_NS 20000000ull
/* No event on any CPU for that long, though threads were running. */
struct gap {
	uint64_t start, end;
	uint32_t running;
};

/* The recording steps back: wire/step.def says how. */
struct model_step {
	uint64_t ts;
	struct ev_mark mark;
	char *note; /* the mark's */
};

struct model {
	const struct arch *arch; /* that the events are from; NULL: not known */
	struct stack_ends ends;	 /* when the model is finished */
	VEC(struct stack_used) used;
	struct timeline timeline;
	struct tally tally;
	struct names names;
	struct facts facts;
	struct losses losses;
	struct processes processes;
	struct waited_files files;
	struct locks locks;
	struct gils gils;
	struct chain chain;
	struct suspects suspects;
	struct classify classify;
	bool scanned; /* what was lost was looked for first: see load.c */
	bool times_only;
	bool reasons_only;
	VEC(struct gap) gaps;
	VEC(struct open_wait) open;
	last_wait_vec last_waits;
	VEC(struct model_step) steps; /* in the order of time, those outside of the window too */
	interval_fn sink;
	sample_fn sample_sink;
	klocked_fn klocked_sink;
	void *sink_arg;
	uint64_t events, samples, switches, wakings;
};

struct model *model_new(const struct model_opts *opts);
void model_free(struct model *m);

/* All of them before the first event. */
void model_add_loss_span(struct model *m, uint32_t cpu, uint64_t start, uint64_t end);
/* The same from a LOST event: nothing if it is not about threads' time. */
void model_add_loss(struct model *m, const struct event *ev);
/* Is it about threads' time? */
bool model_loses_time(const struct event *ev);

void model_event(struct model *m, const struct event *ev);
void model_finish(struct model *m);
/* decide.c: kinds of locks, reasons of waits, and the threads' sums of them. */
void model_decide(struct model *m);

/* Is a stack with this stop whole? And the stop in words. */
bool model_stop_whole(unsigned stop);
const char *model_stop_name(unsigned stop);
const char *model_stop_words(unsigned stop);

/*
 * When, from the start of the recording, a step gave up samples or stacks of waits; UINT64_MAX:
 * never.
 */
uint64_t model_gave_up(const struct model *m, uint32_t step);

/* "read", as in SWITCH.call; NULL: none, or not known. */
const char *model_call_name(const struct model *m, uint32_t call);

/* "switch", "fork"; the name that other outputs use too. */
const char *model_event_name(unsigned kind);

/* The window's start and length: the whole recording, or what --from and --to leave of it. */
uint64_t model_window_start(const struct model *m);
uint64_t model_window_ns(const struct model *m);
/* The capture's source had no times: those of events only give their order. Show none. */
static inline bool model_timeless(const struct model *m)
{
	return m->facts.unseen & UNSEEN_TIMES;
}
/* Wall clock, in ns since 1970, of a moment in the recording; 0: not known. */
uint64_t model_unix_ns(const struct model *m, uint64_t ts);

const char *loss_name(uint32_t cause);
const char *loss_words(uint32_t cause);
/* What the user can do about it, or "". */
const char *loss_advice(uint32_t cause);

#endif
