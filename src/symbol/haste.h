/* SPDX-License-Identifier: MIT */
/* Speeds up background work once the user waits for it. */
#ifndef THAW_SYMBOL_HASTE_H
#define THAW_SYMBOL_HASTE_H

#include <stdbool.h>

#define HASTE_NICE (-20)
#define HASTE_CPU_NS 300000000ull /* what needs more stays at low priority */

struct haste {
	bool asked; /* set by anybody */
	bool made;
};

#endif
