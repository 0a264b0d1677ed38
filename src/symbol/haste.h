/* SPDX-License-Identifier: MIT */
/* Work of low priority for which the user waits by now. */
#ifndef THAW_SYMBOL_HASTE_H
#define THAW_SYMBOL_HASTE_H

#include <stdbool.h>

#define HASTE_NICE (-20)
#define HASTE_CPU_NS 300000000ull /* whoever needs longer is in nobody's way */

struct haste {
	bool asked; /* set by anybody */
	bool made;
};

#endif
