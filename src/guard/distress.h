/* SPDX-License-Identifier: MIT */
/*
 * The kernel's distress lines in records of /dev/kmsg. Pure.
 *
 * A record is "priority,sequence,time,flags;text\n" and perhaps lines of details. Who wrote it does
 * not matter: only root can write there, programs begin their lines with their own name, and a
 * false alarm costs a recording where a missed one may cost the machine.
 */
#ifndef THAW_GUARD_DISTRESS_H
#define THAW_GUARD_DISTRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/budget.h"

/*
 * Is it one? Then its alarm, and its text, cut to the room (at least 1) and without anything that a
 * terminal would take for a command. The record need not end in a zero.
 */
bool distress_find(const char *record, size_t len, enum alarm *ret_alarm, char *text, size_t room);

#endif
