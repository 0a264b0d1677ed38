/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables that nobody but the collector walks by: in memory of its own, which is only as
 * large as it is used.
 */
#ifndef THAW_CAPTURE_ARRAYS_H
#define THAW_CAPTURE_ARRAYS_H

#include "capture/engine.h"

/* False: there is no memory for them; arrays_close() all the same. */
bool arrays_open(struct unwind_arrays *a);
void arrays_close(struct unwind_arrays *a);

#endif
