/* SPDX-License-Identifier: MIT */
/* May this process record at all? 0, or -EPERM/-ENOTSUP with what is missing and what to do. */
#ifndef THAW_CAPTURE_PRIVILEGE_H
#define THAW_CAPTURE_PRIVILEGE_H

int privilege_check(void);

#endif
