// SPDX-License-Identifier: MIT
/* pipe: for bytes, and for room; poll: poll, select and epoll on a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "waits/waits.h"

static void pipe_open(struct pair *p)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	p->in = fds[0];
	p->out = fds[1];
}

static void pipe_feed(struct pair *p)
{
	if (write(p->out, "x", 1) != 1)
		die("writing to a pipe: %s", strerror(errno));
}

static void pipe_end(struct pair *p)
{
	close(p->out);
}

/* What is there, without waiting; false: the other end is closed. */
static bool take(struct pair *p)
{
	char byte;

	return read(p->in, &byte, 1) == 1;
}

KEEP static bool wait_pipe(struct pair *p)
{
	char byte;
	ssize_t n;

	wait_begin(p->waiter, p->reason);
	n = read(p->in, &byte, 1);
	wait_end(p->waiter);
	return n == 1;
}

/* One page of room, filled before it begins: the writer waits for the reader. */
static void room_open(struct pair *p)
{
	char page[4096] = {0};

	pipe_open(p);
	if (fcntl(p->out, F_SETPIPE_SZ, 4096) < 0 ||
	    write(p->out, page, sizeof(page)) != sizeof(page))
		die("cannot fill a pipe: %s", strerror(errno));
}

KEEP static bool wait_room(struct pair *p)
{
	char page[4096] = {0};
	ssize_t n;

	wait_begin(p->waiter, p->reason);
	n = write(p->out, page, sizeof(page));
	wait_end(p->waiter);
	return n == sizeof(page) && !atomic_load(&p->over);
}

static void room_feed(struct pair *p)
{
	char page[4096];

	if (read(p->in, page, sizeof(page)) != sizeof(page))
		die("reading from a pipe: %s", strerror(errno));
}

static void room_end(struct pair *p)
{
	close(p->in);
}

void case_pipe(const struct args *a)
{
	const struct pair_case cases[] = {
		{"pipe-read", "pipe", pipe_open, wait_pipe, pipe_feed, pipe_end},
		{"pipe-write", "pipe_full", room_open, wait_room, room_feed, room_end},
	};

	pairs_run(a, cases, ARRAY_LEN(cases));
}

KEEP static bool wait_poll(struct pair *p)
{
	struct pollfd fd = {.fd = p->in, .events = POLLIN};

	wait_begin(p->waiter, p->reason);
	if (poll(&fd, 1, -1) != 1)
		die("poll: %s", strerror(errno));
	wait_end(p->waiter);
	return take(p);
}

KEEP static bool wait_select(struct pair *p)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(p->in, &set);
	wait_begin(p->waiter, p->reason);
	if (select(p->in + 1, &set, NULL, NULL, NULL) != 1)
		die("select: %s", strerror(errno));
	wait_end(p->waiter);
	return take(p);
}

static void epoll_open(struct pair *p)
{
	struct epoll_event ev = {.events = EPOLLIN};

	pipe_open(p);
	p->extra = epoll_create1(EPOLL_CLOEXEC);
	if (p->extra < 0 || epoll_ctl(p->extra, EPOLL_CTL_ADD, p->in, &ev))
		die("cannot make an epoll: %s", strerror(errno));
}

KEEP static bool wait_epoll(struct pair *p)
{
	struct epoll_event ev;

	wait_begin(p->waiter, p->reason);
	if (epoll_wait(p->extra, &ev, 1, -1) != 1)
		die("epoll_wait: %s", strerror(errno));
	wait_end(p->waiter);
	return take(p);
}

void case_poll(const struct args *a)
{
	const struct pair_case cases[] = {
		{"poll", "poll", pipe_open, wait_poll, pipe_feed, pipe_end},
		{"select", "poll", pipe_open, wait_select, pipe_feed, pipe_end},
		{"epoll", "poll", epoll_open, wait_epoll, pipe_feed, pipe_end},
	};

	pairs_run(a, cases, ARRAY_LEN(cases));
}
