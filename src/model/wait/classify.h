/* SPDX-License-Identifier: MIT */
/*
 * The rules of wait.def, applied: what a stack says about a wait, and the reason of a row of the
 * tally. Results are cached, so each function and each stack is examined once.
 */
#ifndef THAW_MODEL_CLASSIFY_H
#define THAW_MODEL_CLASSIFY_H

#include "arch/arch.h"
#include "model/lock/kind.h"
#include "model/wait/names.h"
#include "model/wait/tally.h"
#include "wire/state.h"

/* What a kernel stack says. */
struct kstack_says {
	uint64_t place; /* a number for its functions; 0: it has none */
	bool known;	/* it has been looked at */
	bool home;	/* servers wait for work there */
	bool main_loop; /* of a kernel thread: only its main function and SKIP frames */
	bool semaphore; /* of the kernel: it sleeps on one */
	uint8_t reason; /* UNKNOWN: nothing */
};

/* What a user stack says about a futex that it waits on. */
struct ustack_says {
	uint64_t place;
	bool known;
	bool libc;    /* the leaf is in libc, */
	bool direct;  /* and is syscall(): the lock is not libc's */
	uint8_t kind; /* enum lock_kind; LOCK_KINDS: nothing */
};

struct classify {
	uint64_t calls[CALL_NR]; /* by number: the rules of wait.def that name it */
	struct names *names;
	bool no_states;		 /* the engine does not see states: they are no evidence */
	VEC(uint16_t) functions; /* by number: 0 not looked at */
	VEC(struct kstack_says) kstacks;
	VEC(struct ustack_says) ustacks;
};

void classify_init(struct classify *c, struct names *names);
void classify_done(struct classify *c);
/* Sets which system calls the numbers mean; NULL: not known, so they are no evidence. */
void classify_calls(struct classify *c, const struct arch *arch);

struct kstack_says classify_kstack(struct classify *c, uint32_t kstack);
struct ustack_says classify_ustack(struct classify *c, uint32_t ustack);

/* A number for the functions of both: the same place, whatever the addresses in it; 0: none. */
uint64_t classify_place(struct classify *c, uint32_t kstack, uint32_t ustack);

/* A function of the kernel that every wait, or every lock, goes through: it says nothing. */
bool classify_plumbing(const char *name);

struct lock;
/* Sets the row's verdict and home; lock is what it waited on, or NULL. */
void classify_row(struct classify *c, struct wait_row *r, const struct lock *lock);

#endif
