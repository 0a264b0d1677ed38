/* SPDX-License-Identifier: MIT */
/*
 * The page over HTTP, on loopback alone: see check.h for who gets it. Two threads that never wait
 * speak with the browser, for IPv4 and for IPv6; a third one loads the capture and then answers one
 * question after the other.
 */
#ifndef THAW_SERVE_SERVE_H
#define THAW_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct query;
struct serve;

/*
 * port 0: any that is free. Takes the query over, also when it fails: from here on it belongs to
 * the answering thread. Signals that the caller has blocked stay blocked in both threads.
 */
int serve_start(struct query *q, const char *title, uint16_t port, struct serve **ret);

/* http://127.0.0.1:PORT/TOKEN/ */
const char *serve_address(const struct serve *s);

/* Becomes readable when the capture is loaded; serve_loaded() then says how it went. */
int serve_fd(const struct serve *s);
/* 0, or what went wrong, with the message set. */
int serve_loaded(struct serve *s);

/*
 * False if a question that takes long is still being answered: then nothing is freed, and the
 * process can only end.
 */
bool serve_stop(struct serve *s);

#endif
