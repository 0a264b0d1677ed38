/* SPDX-License-Identifier: MIT */
/* One recording, from the plan to the sealed file. */
#ifndef THAW_RECORD_SESSION_H
#define THAW_RECORD_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/plan.h"
#include "wire/event.h"
#include "wire/loss.h"
#include "wire/step.h"

struct session_status {
	uint64_t elapsed_ns;
	uint64_t events;
	uint64_t bytes;
	uint64_t lost;		       /* events and samples */
	uint64_t lost_by[LOSS_CAUSES]; /* the same, by cause */
	uint64_t threads;	       /* seen so far */
	uint64_t cpu_ns;	       /* that thaw itself has used */
	enum step step;		       /* the last one that was taken */
};

/* A step taken while recording: see record/watch.h. */
enum { SESSION_STEPS = 32 };
struct session_step {
	uint64_t at_ns; /* since the start */
	struct ev_mark mark;
	char note[200]; /* the mark's */
};

struct session_hooks {
	/* About once a second, and when the phase changes ("writing names"). */
	void (*progress)(void *ctx, const struct session_status *st, const char *phase);
	/* By another thread, when the start takes long: record/starting.h. */
	void (*starting)(void *ctx, const char *what, uint64_t elapsed_ns);
	void *ctx;
	/* Set by a signal: seal the file and end. */
	const volatile sig_atomic_t *stop;
};

struct session_result {
	struct session_status st;
	bool command_ran;
	int exit_status;      /* of the command */
	bool file_written;    /* there is a capture, even if something failed */
	const char *why;      /* the recording ended: "the command ended", "interrupted", ... */
	char saved_as[4200];  /* where a capture of the same name went, or "" */
	char beside[4200];    /* where this capture is if that one could not be moved, or "" */
	char guard_note[200]; /* why thaw recorded less than it can; "": it did not */
	char notes[512];      /* what the user should know, a line each, or "" */
	bool detached;	      /* thaw stopped recording by itself */
	struct session_step steps[SESSION_STEPS];
	size_t n_steps;
};

/* 0, or a negative errno with the message set; *ret is filled in either case. */
int session_run(const struct plan *plan, const struct session_hooks *hooks,
		struct session_result *ret);

#endif
