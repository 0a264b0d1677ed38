/* SPDX-License-Identifier: MIT */
/* The kernel's configuration, as far as the guard asks for it. */
#ifndef THAW_GUARD_CONFIG_H
#define THAW_GUARD_CONFIG_H

#include "guard/facts.h"

/* A file of CONFIG_X=y lines, packed by gzip or not. False: it cannot be read. */
bool guard_config_read(const char *path, struct guard_facts *f);

#endif
