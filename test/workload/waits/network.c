// SPDX-License-Identifier: MIT
/* network: bytes from a Unix socket and over TCP, and a connection. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "waits/waits.h"

static void unix_open(struct pair *p)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		die("cannot make sockets: %s", strerror(errno));
	p->in = fds[0];
	p->out = fds[1];
}

/* A socket that listens on the loopback; its address. */
static int listener(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)ret, &len))
		die("cannot listen on the loopback: %s", strerror(errno));
	return fd;
}

static int connected(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		die("cannot connect to the loopback: %s", strerror(errno));
	return fd;
}

static void tcp_open(struct pair *p)
{
	struct sockaddr_in at;
	int fd = listener(&at);

	p->out = connected(&at);
	p->in = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (p->in < 0)
		die("accept: %s", strerror(errno));
	close(fd);
}

KEEP static bool wait_recv(struct pair *p)
{
	char byte;
	ssize_t n;

	wait_begin(p->waiter, p->reason);
	n = recv(p->in, &byte, 1, 0);
	wait_end(p->waiter);
	return n == 1;
}

static void socket_feed(struct pair *p)
{
	if (send(p->out, "x", 1, MSG_NOSIGNAL) != 1)
		die("send: %s", strerror(errno));
}

static void socket_end(struct pair *p)
{
	shutdown(p->out, SHUT_WR);
}

static void accept_open(struct pair *p)
{
	struct sockaddr_in at;

	p->in = listener(&at);
}

KEEP static bool wait_accept(struct pair *p)
{
	int fd;

	wait_begin(p->waiter, p->reason);
	fd = accept4(p->in, NULL, NULL, SOCK_CLOEXEC);
	wait_end(p->waiter);
	if (fd < 0)
		die("accept: %s", strerror(errno));
	close(fd);
	return !atomic_load(&p->over);
}

static void accept_feed(struct pair *p)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	if (getsockname(p->in, (struct sockaddr *)&at, &len))
		die("getsockname: %s", strerror(errno));
	close(connected(&at));
}

void case_network(const struct args *a)
{
	const struct pair_case cases[] = {
		{"unix", "network", unix_open, wait_recv, socket_feed, socket_end},
		{"tcp", "network", tcp_open, wait_recv, socket_feed, socket_end},
		{"accept", "network", accept_open, wait_accept, accept_feed, accept_feed},
	};

	pairs_run(a, cases, ARRAY_LEN(cases));
}
