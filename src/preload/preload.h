/* SPDX-License-Identifier: MIT */
/*
 * libthaw-preload.so: a program records itself. Loaded by LD_PRELOAD into every program that a
 * recorded command runs, it gives each thread a timer of its CPU time; the signal's handler copies
 * registers and stack into the memory of wire/shared.h, and thaw does the rest.
 *
 * The program must not notice. So: nothing here prints, fails the program, keeps a descriptor open,
 * or starts a thread; whatever goes wrong, the program runs on unrecorded. What the handler calls
 * is safe in a signal handler: system calls, the clock and the CPU's number, and no function that a
 * sanitizer wraps (memcpy). Includes wire/ only, and links libc only.
 */
#ifndef THAW_PRELOAD_PRELOAD_H
#define THAW_PRELOAD_PRELOAD_H

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <unistd.h>

#include "wire/shared.h"

/* Everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

struct preload {
	struct shared_head *shared; /* NULL: nobody records */
	uint64_t ring_size;	    /* of shared, as it was in the beginning */
	uint64_t period_ns, tick_ns;
	uint32_t n_rings, salt;
	uint32_t pid;
	int sig;      /* the timers' */
	bool stopped; /* this process records no more */
};
extern struct preload preload;

/* Does anybody listen? */
bool preload_on(void);
/* Has thaw gone for good? */
bool preload_over(void);
void preload_stop(void);

/* What other programs and libraries call by these names. */
sighandler_t __sysv_signal(int sig, sighandler_t handler);
struct next {
	bool ready;
#define NEXT(name) __typeof__(&name) name;
#include "preload/next.def"
};
/* Looked up by the constructor, or by an earlier call that needs one. */
const struct next *next(void);

/* env.c */

/* What thaw puts into the environment of a followed program, hidden from the program. */
struct env_words {
	const char *session; /* the value of SHARED_ENV */
	const char *library; /* a word of LD_PRELOAD */
};
#define ENV_ENTRIES_MAX 4096
/* How many entries the array has, or ENV_ENTRIES_MAX if that or more. */
size_t env_count(char *const *env);
/* How many bytes env_with() needs for strings. */
size_t env_bytes(char *const *env, const struct env_words *w);
/* Writes `env` with the words to `to`, which has room for env_count() + 4. */
void env_with(char *const *env, const struct env_words *w, char **to, char *text);
/* Takes the words out again, in place: what is left is as it was before env_with(). */
void env_strip(char **env, const struct env_words *w);
/* The value of a variable, or NULL. */
char *env_get(char *const *env, const char *name);

/* exec.c */

/* Remembers the words, and takes them out of the environment. False: there are none. */
bool exec_begin(char **env, char *ret_session, size_t room);

/* emit.c */

struct tick_emit {
	__u64 *at;
	uint64_t pos;
};
uint64_t now_ns(void);
struct ring_head *emit_ring(void);
/* `len`: a multiple of 8. NULL, and counted as lost, if there is no room. */
void *emit_reserve(struct tick_emit *e, struct ring_head *r, uint32_t kind, uint32_t len);
void emit_commit(const struct tick_emit *e, uint32_t kind, uint32_t len);

/* task.c: what happens to threads and processes, and to what they have mapped. */

void tell_task(uint32_t kind, uint32_t tid, uint32_t other, uint32_t code);
void tell_run(uint32_t pid, uint64_t ts, const char *path);
void tell_maps(void);

/* timer.c */

/* Of the calling thread. [low, top) is its stack, as far as it may hold frames. */
void timer_begin(uintptr_t low, uintptr_t top);
void timer_end(void);
/* The same thread in a new process. */
void timer_forked(void);
int timer_signal(void);

/* thread.c */

void thread_hooks(void);
uint32_t thread_tid(void);

/* signal.c: a signal of that number that is not the timers'. */
void signal_theirs(int sig, siginfo_t *info, void *context);

#endif
