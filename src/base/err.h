/* SPDX-License-Identifier: MIT */
/*
 * One way to fail: `return err_set(-EPROTO, "chunk %u: bad checksum", seq);`
 *
 * Functions return 0 or a negative errno. The words for a person travel beside the number in a
 * per-thread buffer: err_set() starts them, err_add() puts context in front ("reading x.thaw: ...")
 * on the way up, and cmd/ prints them once. Library folders never print.
 */
#ifndef THAW_BASE_ERR_H
#define THAW_BASE_ERR_H

#include <errno.h>

int err_set(int rc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_add(int rc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *err_msg(void);
void err_clear(void);

/* Hands a message from one thread to another: copy out there, put in here. */
void err_put(const char *msg);

#endif
