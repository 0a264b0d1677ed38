/* SPDX-License-Identifier: MIT */
#ifndef THAW_SYMBOL_DEMANGLE_H
#define THAW_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/* The name for a person, or the name itself where there is nothing to undo. free() it. */
char *demangle(const char *name);
/* Looks like a mangled name of C++ or Rust. */
bool demangle_can(const char *name);

#endif
