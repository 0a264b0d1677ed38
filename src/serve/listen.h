/* SPDX-License-Identifier: MIT */
/* Sockets to listen on, which only this machine can reach. */
#ifndef THAW_SERVE_LISTEN_H
#define THAW_SERVE_LISTEN_H

#include <stdint.h>

/* On 127.0.0.1; port 0: any that is free. A descriptor, or negative with words. */
int listen_on_loopback(uint16_t port, uint16_t *ret_port);

/*
 * A browser may try ::1 first for "localhost": no other program shall listen there on our port.
 * Without IPv6, or if another does already, 127.0.0.1 must do: thaw prints that address.
 */
int listen_on_loopback6(uint16_t port);

#endif
