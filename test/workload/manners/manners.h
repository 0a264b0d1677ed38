/* SPDX-License-Identifier: MIT */
#ifndef THAW_WORKLOAD_MANNERS_H
#define THAW_WORKLOAD_MANNERS_H

/* Uses CPU time of this thread, so that a timer of it expires now and then. */
void manners_burn(long us);
/* Where the program itself is. */
void manners_started(const char *argv0);
extern const char *manners_self;

/* calls.c: system calls that may end early. */
void manners_sleeps(void);
void manners_pipes(void);
void manners_waits(void);

/* signals.c: what a program does with signals. */
void manners_handlers(void);
void manners_sigwait(void);
void manners_itimer(void);
void manners_altstack(void);
void manners_own_signal(void);

/* threads.c: stacks and lives of threads. */
void manners_fibers(void);
void manners_small(void);
void manners_crowd(void);
void manners_cancel(void);
void manners_keys(void);

/* programs.c: what others get of it. */
void manners_environ(void);
void manners_programs(void);
void manners_forks(void);
void manners_libraries(void);
void manners_fds(void);
void manners_limits(void);

#endif
