/* SPDX-License-Identifier: MIT */
/*
 * A child that opens files which somebody else names, and hands them to the child that reads them
 * (standing.h). The owner of a file decides how long opening, stat() and closing take, and a
 * process that has it open may be unable to end. So the caller never has one open.
 *
 * The porter has all rights of the caller, because it opens what a process has mapped. It reads
 * nothing, except a build id where our own file is to stand in (see opener.h). It has none of the
 * caller's descriptors or shared memory. A porter that does not answer is left behind, and the next
 * question starts another. For one thread.
 */
#ifndef THAW_SYMBOL_PORTER_H
#define THAW_SYMBOL_PORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/haste.h"
#include "symbol/left.h"
#include "symbol/opener.h"

struct porter {
	pid_t pid; /* 0: none */
	int fd;
	bool holds;	   /* a file */
	uint64_t still_ns; /* how long it may stand still; set by the caller */
	struct left *left; /* notes children that do not end; may be NULL */
	uint64_t cpu_ns;   /* of all so far */
	bool cancelled;	   /* set by anybody: do not wait for the answer */
	bool still;	   /* for anybody: it has stood still for a while */
	struct haste haste;
};

void porter_init(struct porter *p, uint64_t still_ns);
/* Optional, before the first question. The child ends with the thread that starts it. */
int porter_start(struct porter *p);
/*
 * Opens the file, as opener_mapped() does, and says what it is. -EHOSTDOWN: it does not answer;
 * -ECANCELED; -ECHILD; or why it could not be opened. Those below return the first three, too.
 */
int porter_fetch(struct porter *p, const struct opener_want *w, struct opener_facts *ret);
/* Sends the file to the reader at the other end of a socket, and closes it here. */
int porter_hand_over(struct porter *p, int socket);
/* Closes the file. */
int porter_drop(struct porter *p);
void porter_done(struct porter *p);

#endif
