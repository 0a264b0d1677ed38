/* SPDX-License-Identifier: MIT */
/*
 * The kernel's distress lines in records of /dev/kmsg. Pure.
 *
 * A record is "priority,sequence,time,flags;text\n" and perhaps lines of details. Only what the
 * kernel itself has written counts, at the level and in the form of its source: any user can make
 * the kernel write a line that begins with words of their choice, by the name of a process that
 * crashes.
 */
#ifndef THAW_GUARD_DISTRESS_H
#define THAW_GUARD_DISTRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/budget.h"

/* The level of lines that are printed without one, unless kernel.printk says otherwise. */
#define DISTRESS_DEFAULT_LEVEL 4
/* No line of distress is longer; what is beyond is not looked at. */
#define DISTRESS_LINE_MAX 1024

/*
 * Is the record one? Then its alarm, and its text, cut to the room (at least 1) and without
 * anything that a terminal would take for a command. The record need not end in a zero.
 * default_level: the second number of kernel.printk.
 */
bool distress_find(const char *record, size_t len, int default_level, enum alarm *ret_alarm,
		   char *text, size_t room);

#endif
