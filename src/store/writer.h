/* SPDX-License-Identifier: MIT */
/*
 * Writes a capture. The caller's side only fills buffers; a thread of the writer's own compresses
 * and writes, and a process syncs, so that a slow disk never stops the thread that drains the rings
 * (until the bounded queue between them is full). What has been flushed survives a SIGKILL; what
 * has been synced, a power cut. Memory is bounded whatever the length of the recording.
 */
#ifndef THAW_STORE_WRITER_H
#define THAW_STORE_WRITER_H

#include "store/symtab.h"
#include "store/types.h"
#include "wire/event.h"

struct writer;
struct reader;
struct syncer;

enum end_cause {
	END_DONE = 1,	     /* the command ended, or the time was up */
	END_INTERRUPTED = 2, /* Ctrl-C */
	END_NO_SPACE = 3,    /* the disk was full: what follows is missing */
	END_ERROR = 4,
	END_STOPPED = 5, /* thaw stopped, to spare the machine: what follows is missing */
};

/* The wall clock and the clock of the events at one moment. */
struct writer_clock {
	uint64_t unix_ns; /* 0: not known */
	uint64_t mono_ns;
};

struct writer_opts {
	uint64_t flush_ns;		  /* how old an unwritten event may get; 0: half a second */
	size_t chunk_bytes;		  /* raw size at which a chunk is closed; 0: 1 MiB */
	bool no_sync;			  /* never fdatasync (tests, imports) */
	struct syncer *syncer;		  /* taken over; NULL: the writer makes one */
	const struct writer_clock *clock; /* of events that were recorded elsewhere; NULL: now */
};

/*
 * Writes the header into a file that is open and empty (record/outfile.h), and is closed in any
 * case; `path` is for errors.
 */
int writer_open_fd(int fd, const char *path, const struct writer_opts *opts, struct writer **ret);

/* Reads what has been flushed: this very file, whatever its name stands for by now. */
int writer_reader(struct writer *w, struct reader **ret);

/*
 * Facts about the recording, in the order given; a key of wire/meta.def, which may be repeated
 * (META_COMMAND). They are written with the next flush.
 */
void writer_meta(struct writer *w, const char *key, const char *value);
void writer_meta_number(struct writer *w, const char *key, uint64_t value);
/* What was not seen: enum unseen. */
void writer_unseen(struct writer *w, uint32_t bits);

/* Both return the index that events and frames refer to; indices start at 1. */
uint32_t writer_module(struct writer *w, const struct module *m);
/* `stop` says why a user stack has no more frames (enum unwind_stop); 0 where nobody knows. */
uint32_t writer_stack(struct writer *w, const struct frame *frames, size_t n, uint32_t stop);

/* Events come in the order of time, as far as the caller could establish it. */
void writer_event(struct writer *w, const struct event *ev);

/* Called every now and then: writes what is older than flush_ns. */
void writer_tick(struct writer *w, uint64_t now_ns);

/* Hands everything to the disk thread; with `wait`, returns when it is written. */
int writer_flush(struct writer *w, bool wait);

void writer_symbols(struct writer *w, struct symtab *st);

/* 0, or what went wrong in the disk thread (-ENOSPC, ...) with the message set. Cheap. */
int writer_status(struct writer *w);
uint64_t writer_bytes(const struct writer *w);
uint64_t writer_events(const struct writer *w);

/*
 * Writes index and end chunk, frees. Returns the first error that ever happened. If the disk is
 * slow, the sync goes on in the background.
 */
int writer_close(struct writer *w, enum end_cause cause);

/* Frees without sealing: the file stays as torn as a SIGKILL would leave it. */
void writer_abandon(struct writer *w);

/* ---- for tests ---- */

/* Makes (or empties) the file: not for a name that a user chooses. */
int writer_open(const char *path, const struct writer_opts *opts, struct writer **ret);

#endif
