/* SPDX-License-Identifier: MIT */
/*
 * The limit of open files: an engine needs some for each CPU, and a shell's limit is often 1024.
 * Raise it after forking the command, which must keep the limit that it would have without us.
 */
#ifndef THAW_ENGINE_FILES_LIMIT_H
#define THAW_ENGINE_FILES_LIMIT_H

#include <stddef.h>

/* Makes room for so many more files, raising the limit if needed; or says what to do. */
int files_limit_raise(size_t more);

#endif
