/* SPDX-License-Identifier: MIT */
#ifndef THAW_EXPORT_SPEEDSCOPE_H
#define THAW_EXPORT_SPEEDSCOPE_H

#include "export/export.h"

/* With a given amount of memory for what cannot be written yet. */
int speedscope_run(const struct export_job *job, size_t room);

#endif
