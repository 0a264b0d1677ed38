/* SPDX-License-Identifier: MIT */
/*
 * Opens an address in the user's browser. The address is a secret, and a command line is not: so
 * the browser gets a file that only this user can read, which redirects it to the address.
 */
#ifndef THAW_CMD_BROWSER_H
#define THAW_CMD_BROWSER_H

#include <stdbool.h>

/* Is there a screen, and is it this user's? */
bool browser_usable(void);

/* The file, which the caller removes and frees; NULL: it cannot be opened. */
char *browser_open(const char *address);

#endif
