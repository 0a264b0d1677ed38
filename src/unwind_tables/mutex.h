/* SPDX-License-Identifier: MIT */
/*
 * A mutex shared by the high-priority thread that drains the rings and by ordinary threads. An
 * ordinary thread can be preempted while it holds the mutex, for half a second on a busy machine;
 * so the holder inherits the priority of its waiters.
 */
#ifndef THAW_UNWIND_TABLES_MUTEX_H
#define THAW_UNWIND_TABLES_MUTEX_H

#include <pthread.h>

/* Where there is no inheritance of priorities it is a plain mutex. */
void mutex_init_inheriting(pthread_mutex_t *m);

#endif
