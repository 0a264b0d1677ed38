// SPDX-License-Identifier: MIT
#include "serve/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

int listen_on_loopback(uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, rc;

	if (fd < 0)
		return err_set(-errno, "cannot make a socket: %s", strerror(errno));
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, SOMAXCONN) &&
	    !getsockname(fd, (struct sockaddr *)&at, &len)) {
		*ret_port = ntohs(at.sin_port);
		return fd;
	}
	rc = -errno;
	close(fd);
	if (rc == -EADDRINUSE)
		return err_set(rc,
			       "port %u is in use; name another one with --port, or none for any "
			       "that is free",
			       port);
	return err_set(rc, "cannot listen on 127.0.0.1, port %u: %s", port, strerror(-rc));
}

int listen_on_loopback6(uint16_t port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6,
				  .sin6_port = htons(port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	if (fd < 0)
		return -1;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) &&
	    !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, SOMAXCONN))
		return fd;
	close(fd);
	return -1;
}
