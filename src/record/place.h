/* SPDX-License-Identifier: MIT */
/*
 * Where to write a file that the user has named. In a folder that others can write to, the name may
 * already be a link, a pipe or a file of theirs.
 *
 * A link at the end of a path is followed only if it belongs to us, to root, or to the caller of
 * sudo: anybody else's link would let its owner choose what root writes to. The folders on the way
 * are not checked: the user has named them.
 */
#ifndef THAW_RECORD_PLACE_H
#define THAW_RECORD_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct place {
	char *path;	 /* with the links at its end followed; there may be nothing there */
	bool descriptor; /* names an open descriptor (/dev/stdout): can only be opened */
};

/* -ELOOP, with a message: somebody else's link, or too many links. */
int place_find(const char *path, struct place *ret);
void place_done(struct place *p);

/* May we write to this user's files? Yes: our own, root's, and those of sudo's caller. */
bool place_trusts(uid_t uid);

/* The caller of sudo; false: there is none. */
bool place_caller(uid_t *ret_uid, gid_t *ret_gid);

#endif
