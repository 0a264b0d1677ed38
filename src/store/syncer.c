// SPDX-License-Identifier: MIT
#include "store/syncer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"

#define SYNC_MS 1000

/* Shared by both processes. */
struct sync_state {
	atomic_bool dirty;
	atomic_int error;
};

struct syncer {
	pid_t pid;
	int socket;
	struct sync_state *state;
};

/* ---- the process ---- */

static void sync_once(struct sync_state *st, int fd)
{
	if (fd < 0 || !atomic_exchange(&st->dirty, false))
		return;
	/* A file system that cannot sync says EINVAL or EROFS; that is no reason to stop. */
	if (fdatasync(fd) && errno != EINVAL && errno != EROFS)
		atomic_store(&st->error, errno);
}

/* False: the owner is gone, or is done. */
static bool receive_file(int socket, int *fd)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Not the parent's descriptors, signals and priority, nor the terminal's Ctrl-C. */
static void be_alone(int socket)
{
	struct sched_param param = {0};

	(void)setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)prctl(PR_SET_NAME, "thaw-sync");
	(void)sched_setscheduler(0, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	if (dup2(socket, 0) != 0)
		_exit(1);
	(void)syscall(SYS_close_range, 1, ~0u, 0);
}

static _Noreturn void syncer_serve(struct sync_state *st, int socket)
{
	struct pollfd p = {.events = POLLIN};
	int fd = -1;

	be_alone(socket);
	for (;;) {
		int ready = poll(&p, 1, SYNC_MS);

		if (ready > 0 && !receive_file(p.fd, &fd))
			break;
		if (!ready)
			sync_once(st, fd);
	}
	sync_once(st, fd);
	_exit(0);
}

/* ---- its owner ---- */

static void syncer_free(struct syncer *s)
{
	if (s->state)
		munmap(s->state, sizeof(*s->state));
	if (s->socket >= 0)
		close(s->socket);
	free(s);
}

struct syncer *syncer_new(void)
{
	struct syncer *s = mem_zalloc(sizeof(*s));
	int ends[2];

	s->socket = -1;
	s->state = mmap(NULL, sizeof(*s->state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (s->state == MAP_FAILED)
		s->state = NULL;
	if (!s->state || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		(void)err_set(-errno, "starting a process: %s", strerror(errno));
		syncer_free(s);
		return NULL;
	}
	s->socket = ends[0];
	s->pid = fork();
	if (!s->pid)
		syncer_serve(s->state, ends[1]);
	close(ends[1]);
	if (s->pid < 0) {
		(void)err_set(-errno, "starting a process: %s", strerror(errno));
		syncer_free(s);
		return NULL;
	}
	return s;
}

int syncer_watch(struct syncer *s, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(s->socket, &msg, MSG_NOSIGNAL) < 0)
		return err_set(-errno, "handing over the file: %s", strerror(errno));
	return 0;
}

void syncer_note(struct syncer *s)
{
	atomic_store(&s->state->dirty, true);
}

int syncer_error(const struct syncer *s)
{
	return atomic_load(&s->state->error);
}

void syncer_end(struct syncer *s, uint64_t patience_ns, int *ret_error)
{
	struct pollfd p = {.events = POLLIN};

	*ret_error = 0;
	if (!s)
		return;
	/* The other end is closed when the process ends. */
	p.fd = s->socket;
	(void)shutdown(s->socket, SHUT_WR);
	if (poll(&p, 1, (int)(patience_ns / NSEC_PER_MSEC)) > 0)
		(void)waitpid(s->pid, NULL, 0);
	*ret_error = syncer_error(s);
	syncer_free(s);
}
