/* SPDX-License-Identifier: MIT */
/*
 * A mutex between the thread that empties the rings, which goes before all others, and threads that
 * do not. One of these may lose its CPU to any program while it holds the mutex, and on a busy
 * machine get it back after half a second. So whoever holds it runs with the priority of those who
 * wait for it.
 */
#ifndef THAW_UNWIND_TABLES_MUTEX_H
#define THAW_UNWIND_TABLES_MUTEX_H

#include <pthread.h>

/* Where there is no inheritance of priorities it is a plain mutex. */
void mutex_init_inheriting(pthread_mutex_t *m);

#endif
