/* SPDX-License-Identifier: MIT */
/*
 * Who may ask. Every program and every web page on this machine can reach a port on loopback, and a
 * page of the internet can give that port a name of its own (DNS rebinding). So a request must
 *
 *   name this very host and port, as addresses that no name server can change; come from our page,
 *   or from no page, as far as the browser says;
 *   have the token, which is only in the address that thaw prints: in the path for the page, in a
 *   header that no foreign page can send without our consent for a question;
 *   be a GET or a HEAD, for a path that there is.
 *
 * The server refuses all other requests in the same way, whatever is wrong with them. Pure: no
 * sockets in here.
 */
#ifndef THAW_SERVE_CHECK_H
#define THAW_SERVE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

enum { TOKEN_CHARS = 48 }; /* hexadecimal: 192 bits */

struct host_check {
	uint16_t port;
	char token[TOKEN_CHARS + 1];
};

/* What a request says; NULL where it says nothing. */
struct http_asked {
	const char *method;
	const char *uri; /* as it came, nothing decoded */
	const char *host, *origin, *site, *token;
	bool twice; /* one of these headers is there more than once */
};

enum asked_for {
	ASKED_NOTHING, /* refused */
	ASKED_PAGE,
	ASKED_QUERY, /* what follows CHECK_QUERY in the uri */
};

#define CHECK_QUERY "/q/"

/* A random token; negative if the kernel has none. */
int check_init(struct host_check *c, uint16_t port);

enum asked_for check_asked(const struct host_check *c, const struct http_asked *a);

#endif
