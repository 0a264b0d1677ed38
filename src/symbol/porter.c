// SPDX-License-Identifier: MIT
/*
 * A question is one message, followed by a path or with a socket; so is its answer. The child
 * closes a file before it answers, so that a close that hangs is blamed on the right file.
 */
#include "symbol/porter.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/child.h"
#include "symbol/handing.h"
#include "symbol/sandbox.h"
#include "symbol/standing.h"

#define LOOK_MS 20
#define ID_ROOM 64

enum porter_task { PORTER_FETCH, PORTER_HAND_OVER, PORTER_DROP };

/* The path follows, with its zero. */
struct porter_question {
	uint32_t task, pid;
	uint64_t start, end, dev, inode;
	uint32_t build_id_len, pad;
	uint8_t build_id[ID_ROOM];
};

struct porter_answer {
	int rc;
	struct opener_facts facts;
};

struct porter_message {
	struct porter_question q;
	char path[PATH_MAX];
};

/* ---- the child: every step may take forever ---- */

static int symbol_porter_fetch(const struct porter_message *m, int *file, struct opener_facts *ret)
{
	struct opener_want w = {.pid = m->q.pid,
				.path = m->path,
				.start = m->q.start,
				.end = m->q.end,
				.dev = m->q.dev,
				.inode = m->q.inode,
				.build_id = m->q.build_id,
				.build_id_len = m->q.build_id_len};
	int rc = opener_mapped(&w, file);

	if (rc) {
		*file = -1;
		return rc;
	}
	return opener_look(*file, ret);
}

static void __attribute__((noreturn)) serve(int socket)
{
	struct porter_message *m = calloc(1, sizeof(*m) + 1);
	struct sched_param param = {0};
	int file = -1, to;
	ssize_t n;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	child_keep_only(socket);
	sandbox_shared_memory();
	prctl(PR_SET_NAME, "thaw-porter");
	/* Ctrl-C is for the recorder, which may still need this child for a while. */
	(void)setpgid(0, 0);
	(void)!chdir("/");
	/* Normal priority: the porter does little, and its caller waits. */
	(void)sched_setscheduler(0, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	while (m && (n = handing_receive(socket, m, sizeof(*m), &to)) >= (ssize_t)sizeof(m->q)) {
		struct porter_answer a = {0};

		((char *)m)[n] = '\0';
		if (m->q.task == PORTER_FETCH)
			a.rc = symbol_porter_fetch(m, &file, &a.facts);
		if (m->q.task == PORTER_HAND_OVER)
			a.rc = handing_send(to, "", 1, file);
		if (to >= 0)
			close(to);
		if (file >= 0 && (m->q.task != PORTER_FETCH || a.rc)) {
			close(file);
			file = -1;
		}
		if (handing_send(socket, &a, sizeof(a), -1))
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

void porter_init(struct porter *p, uint64_t still_ns)
{
	*p = (struct porter){.fd = -1, .still_ns = still_ns};
}

int porter_start(struct porter *p)
{
	pid_t parent = getpid();
	int ends[2], rc;

	if (p->pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return err_set(-errno, "cannot make a socket: %s", strerror(errno));
	p->pid = fork();
	if (p->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		serve(ends[1]);
	}
	close(ends[1]);
	if (p->pid < 0) {
		rc = err_set(-errno, "cannot start a process: %s", strerror(errno));
		p->pid = 0;
		close(ends[0]);
		return rc;
	}
	p->fd = ends[0];
	p->holds = false;
	p->haste.made = false;
	return 0;
}

void porter_done(struct porter *p)
{
	int status;

	if (!p->pid)
		return;
	close(p->fd);
	(void)child_end_or_leave(p->pid, &status, p->left);
	p->pid = 0;
	p->fd = -1;
	p->holds = false;
}

static int porter_hear(struct porter *p, struct porter_answer *ret)
{
	struct child_pulse pulse = {.pid = p->pid};
	uint64_t still;

	for (;;) {
		struct pollfd poll_fd = {.fd = p->fd, .events = POLLIN};
		ssize_t n;

		if (poll(&poll_fd, 1, LOOK_MS) > 0) {
			n = recv(p->fd, ret, sizeof(*ret), MSG_DONTWAIT);
			if (n == sizeof(*ret))
				return 0;
			if (n >= 0 || (errno != EAGAIN && errno != EINTR))
				return err_set(-ECHILD, "the process that opens files gave up");
		}
		child_make_haste(&p->haste, p->pid);
		if (__atomic_load_n(&p->cancelled, __ATOMIC_RELAXED))
			return err_set(-ECANCELED, "the request was cancelled");
		still = child_still_ns(&pulse, clock_mono_ns());
		__atomic_store_n(&p->still, still > STANDING_STILL_NS, __ATOMIC_RELAXED);
		if (still >= p->still_ns)
			return err_set(-EHOSTDOWN, "its file system does not answer");
	}
}

static int porter_converse(struct porter *p, const void *message, size_t n, int socket,
			   struct porter_answer *ret)
{
	int rc = porter_start(p);
	uint64_t cpu = child_cpu_ns(p->pid);

	if (rc)
		return rc;
	rc = handing_send(p->fd, message, n, socket);
	rc = rc ? err_set(-ECHILD, "cannot ask: %s", strerror(-rc)) : porter_hear(p, ret);
	p->cpu_ns += child_cpu_ns(p->pid) - cpu;
	__atomic_store_n(&p->still, false, __ATOMIC_RELAXED);
	if (rc)
		porter_done(p);
	return rc;
}

int porter_fetch(struct porter *p, const struct opener_want *w, struct opener_facts *ret)
{
	struct porter_message m = {.q = {.task = PORTER_FETCH,
					 .pid = w->pid,
					 .start = w->start,
					 .end = w->end,
					 .dev = w->dev,
					 .inode = w->inode,
					 .build_id_len = (uint32_t)w->build_id_len}};
	size_t len = strlen(w->path);
	struct porter_answer a;
	int rc = p->holds ? porter_drop(p) : 0;

	(void)rc; /* an error of the previous file does not matter here */
	if (len >= sizeof(m.path) || w->build_id_len > ID_ROOM)
		return err_set(-ENAMETOOLONG, "%s: %s", w->path, strerror(ENAMETOOLONG));
	memcpy(m.path, w->path, len);
	if (w->build_id_len)
		memcpy(m.q.build_id, w->build_id, w->build_id_len);
	rc = porter_converse(p, &m, sizeof(m.q) + len + 1, -1, &a);
	if (!rc && a.rc)
		rc = err_set(a.rc, "%s: %s", w->path, strerror(-a.rc));
	if (rc)
		return rc;
	p->holds = true;
	*ret = a.facts;
	return 0;
}

static int let_go(struct porter *p, enum porter_task task, int socket)
{
	struct porter_question q = {.task = task};
	struct porter_answer a;
	int rc;

	if (!p->holds)
		return err_set(-EBADF, "there is no file");
	p->holds = false;
	rc = porter_converse(p, &q, sizeof(q), socket, &a);
	return rc || !a.rc ? rc : err_set(-ECHILD, "cannot hand it over: %s", strerror(-a.rc));
}

int porter_hand_over(struct porter *p, int socket)
{
	return let_go(p, PORTER_HAND_OVER, socket);
}

int porter_drop(struct porter *p)
{
	return let_go(p, PORTER_DROP, -1);
}
