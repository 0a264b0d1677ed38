/* SPDX-License-Identifier: MIT */
/* What the kernel says of a thread or process of ours. */
#ifndef THAW_BASE_TASK_H
#define THAW_BASE_TASK_H

#include <stdbool.h>
#include <sys/types.h>

/* It neither runs nor waits for a CPU. One that is gone does not sleep. */
bool task_sleeps(pid_t tid);

#endif
