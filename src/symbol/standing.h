/* SPDX-License-Identifier: MIT */
/*
 * A child behind the walls of sandbox.c that stays: it answers about one file after the other, each
 * in one piece. Starting a process for each of hundreds of files would take longer than reading
 * them.
 *
 * A hostile file that takes the child over may give wrong answers about the next file, so check an
 * answer like the file itself. If the child crashes, does not finish or says too much, its present
 * file has no answer, and the next question starts another child.
 */
#ifndef THAW_SYMBOL_STANDING_H
#define THAW_SYMBOL_STANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "symbol/haste.h"
#include "symbol/left.h"

struct standing_rules {
	/* In the child: reads the file (fd < 0: there is none), fills `answer`; 0 or an errno. */
	int (*answer)(int fd, struct buf *answer);
	uint64_t cpu_ns;   /* for one answer */
	uint64_t still_ns; /* without a sign of life: the file does not answer */
	size_t answer_max;
	uint64_t memory;
	int nice;
};

#define STANDING_STILL_NS 250000000ull

struct standing {
	const struct standing_rules *rules;
	pid_t pid; /* 0: none */
	int fd;
	uint64_t cpu_ns;   /* of all children so far */
	bool cancelled;	   /* set by anybody: do not wait for the answer */
	bool still;	   /* for anybody: the child has stood still for a while */
	uint64_t still_ns; /* as the rules say, or less */
	struct left *left; /* notes children that do not end; may be NULL */
	struct haste haste;
};

/* The first question starts the child, which ends with the thread that asks. */
void standing_init(struct standing *s, const struct standing_rules *rules);
/* Starts it before that, while there is only one thread. */
int standing_start(struct standing *s);
/* Puts the question: sends one byte to the socket, with the file. 0 or a negative errno. */
typedef int standing_hand_fn(void *ctx, int socket);
/*
 * 0; the child's errno; -ETIMEDOUT, -EMSGSIZE, or -ECHILD with a message about its end; -EHOSTDOWN:
 * the file does not answer, and the child, if it does not end, is left behind.
 */
int standing_ask_by(struct standing *s, standing_hand_fn *hand, void *ctx, struct buf *ret);
void standing_done(struct standing *s);

#endif
