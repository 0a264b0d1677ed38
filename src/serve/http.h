/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd, loaded when it is needed: it brings a dozen libraries for TLS with it, which have
 * no business in a recorder that runs as root.
 */
#ifndef THAW_SERVE_HTTP_H
#define THAW_SERVE_HTTP_H

#include <microhttpd.h>

#define HTTP_FUNCTIONS(F)                                                                          \
	F(start_daemon)                                                                            \
	F(stop_daemon)                                                                             \
	F(create_response_from_buffer)                                                             \
	F(destroy_response)                                                                        \
	F(add_response_header)                                                                     \
	F(queue_response)                                                                          \
	F(suspend_connection)                                                                      \
	F(resume_connection)                                                                       \
	F(get_connection_values)                                                                   \
	F(get_connection_info)

struct http {
#define F(name) __typeof__(MHD_##name) *name;
	HTTP_FUNCTIONS(F)
#undef F
};

/* -ENOENT, with words, if it is not there. It stays until the process ends. */
int http_load(struct http *ret);

#endif
