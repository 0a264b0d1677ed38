/* SPDX-License-Identifier: MIT */
/* Bytes over a socket of ours, with a descriptor or without. Private to symbol/. */
#ifndef THAW_SYMBOL_HANDING_H
#define THAW_SYMBOL_HANDING_H

#include <stddef.h>
#include <sys/types.h>

/* fd -1: none. All at once, or -EAGAIN and the like. */
int handing_send(int socket, const void *bytes, size_t n, int fd);
/* How many bytes; 0: the other side is gone; negative: an errno. *ret_fd is -1 if none came. */
ssize_t handing_receive(int socket, void *to, size_t room, int *ret_fd);

#endif
