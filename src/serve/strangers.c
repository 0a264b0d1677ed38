// SPDX-License-Identifier: MIT
#include "serve/strangers.h"

#include <stddef.h>
#include <sys/socket.h>

void stranger_leave(struct strangers *all, struct stranger *s)
{
	if (!s->here)
		return;
	*(s->before ? &s->before->next : &all->first) = s->next;
	*(s->next ? &s->next->before : &all->last) = s->before;
	s->next = s->before = NULL;
	s->here = false;
	all->n--;
}

void stranger_comes(struct strangers *all, struct stranger *s, int fd)
{
	if (all->n && all->n >= all->most) {
		/* The thread that serves it finds its end, and closes it. */
		shutdown(all->first->fd, SHUT_RDWR);
		stranger_leave(all, all->first);
	}
	*s = (struct stranger){.before = all->last, .fd = fd, .here = true};
	*(all->last ? &all->last->next : &all->first) = s;
	all->last = s;
	all->n++;
}
