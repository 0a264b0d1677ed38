/* SPDX-License-Identifier: MIT */
/* What glibc declares and the C library of the page's engine does not: put before every file. */
#ifndef THAW_VIEWER_HOST_H
#define THAW_VIEWER_HOST_H

#include <errno.h>
#include <stddef.h>

#ifndef ENODATA
#define ENODATA 61
#endif

#endif
