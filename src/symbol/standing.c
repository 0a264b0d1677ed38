// SPDX-License-Identifier: MIT
/*
 * A question is one byte, with a descriptor or without. An answer is eight bytes, its length or a
 * negative errno, and its content. The child closes the file before it answers, so that a close
 * that hangs is blamed on that file.
 */
#include "symbol/standing.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/child.h"
#include "symbol/handing.h"
#include "symbol/sandbox.h"

#define LOOK_MS 50
#define ERRNO_MAX 4095 /* of the kernel: include/linux/err.h */
#define SOCKET_BYTES (1 << 20)

void standing_init(struct standing *s, const struct standing_rules *rules)
{
	*s = (struct standing){.rules = rules, .fd = -1, .still_ns = rules->still_ns};
}

/* ---- the child ---- */

static bool standing_hear(int *ret_fd)
{
	char byte;

	return handing_receive(SANDBOX_ANSWER, &byte, 1, ret_fd) == 1;
}

static void standing_say(const void *p, size_t n)
{
	while (n) {
		ssize_t did = write(SANDBOX_ANSWER, p, n);

		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0)
			_exit(1);
		p = (const char *)p + did;
		n -= (size_t)did;
	}
}

static void __attribute__((noreturn)) serve(const struct standing_rules *rules, int socket)
{
	/* The parent limits the CPU time of each answer. */
	struct sandbox_limits l = {
		.cpu_seconds = UINT_MAX, .memory = rules->memory, .receives = true};
	struct sched_param param = {0};
	int fd;

	/* The parent's signal handlers are not for the child, nor is Ctrl-C. */
	(void)setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	sandbox_shared_memory();
	(void)sched_setscheduler(0, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, 0, rules->nice);
	if (sandbox_descriptors(socket, NULL, 0) || sandbox_privileges(false))
		_exit(2);
	sandbox_seal(&l);
	while (standing_hear(&fd)) {
		struct buf answer = {0};
		int64_t rc = rules->answer(fd, &answer);

		if (fd >= 0)
			close(fd);
		if (!rc)
			rc = (int64_t)answer.len;
		standing_say(&rc, sizeof(rc));
		if (rc > 0)
			standing_say(answer.p, answer.len);
		buf_done(&answer);
	}
	_exit(0);
}

/* ---- the parent ---- */

int standing_start(struct standing *s)
{
	int ends[2], size = SOCKET_BYTES, rc;

	if (s->pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_set(-errno, "cannot make a socket: %s", strerror(errno));
	(void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	s->pid = fork();
	if (s->pid == 0)
		serve(s->rules, ends[1]);
	close(ends[1]);
	if (s->pid < 0) {
		rc = err_set(-errno, "cannot start a process: %s", strerror(errno));
		s->pid = 0;
		close(ends[0]);
		return rc;
	}
	s->fd = ends[0];
	s->haste.made = false;
	return 0;
}

/* Returns the child's status; 0 also if it does not end. */
static int end_reader(struct standing *s)
{
	int status = 0;

	if (!s->pid)
		return 0;
	/* Kill it first, or it might die of SIGPIPE, with another status. */
	kill(s->pid, SIGKILL);
	close(s->fd);
	(void)child_end_or_leave(s->pid, &status, s->left);
	s->pid = 0;
	s->fd = -1;
	return status;
}

/* How long the child may still go on. */
struct patience {
	uint64_t cpu_from;
	struct child_pulse pulse;
};

static int lose_patience(struct standing *s, struct patience *p)
{
	uint64_t still;

	child_make_haste(&s->haste, s->pid);
	if (__atomic_load_n(&s->cancelled, __ATOMIC_RELAXED))
		return err_set(-ECANCELED, "the request was cancelled");
	if (child_cpu_ns(s->pid) - p->cpu_from > s->rules->cpu_ns)
		return err_set(-ETIMEDOUT, "it took too long");
	still = child_still_ns(&p->pulse, clock_mono_ns());
	__atomic_store_n(&s->still, still > STANDING_STILL_NS, __ATOMIC_RELAXED);
	if (still >= s->still_ns)
		return err_set(-EHOSTDOWN, "its file system does not answer");
	return 0;
}

static int get(struct standing *s, struct patience *p, void *to, size_t n)
{
	while (n) {
		struct pollfd poll_fd = {.fd = s->fd, .events = POLLIN};
		int ready = poll(&poll_fd, 1, LOOK_MS), rc = 0;
		ssize_t did = ready > 0 ? recv(s->fd, to, n, MSG_DONTWAIT) : -1;

		if (ready > 0 && did == 0)
			return err_set(-ECHILD, "its reader gave up");
		if (ready > 0 && did < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(-ECHILD, "cannot read: %s", strerror(errno));
		if (did > 0) {
			to = (char *)to + did;
			n -= (size_t)did;
		}
		rc = did > 0 ? 0 : lose_patience(s, p);
		if (rc)
			return rc;
	}
	return 0;
}

static int standing_converse(struct standing *s, standing_hand_fn *hand, void *ctx, struct buf *b,
			     int *ret_said)
{
	struct patience p = {.cpu_from = child_cpu_ns(s->pid), .pulse = {.pid = s->pid}};
	int rc = hand(ctx, s->fd);
	int64_t len = 0;

	rc = rc ? rc : get(s, &p, &len, sizeof(len));
	if (rc)
		return rc;
	if (len < -ERRNO_MAX || len > (int64_t)s->rules->answer_max)
		return err_set(-EMSGSIZE, "its answer is too long");
	if (len < 0) {
		*ret_said = err_set((int)len, "%s", strerror((int)-len));
		return 0;
	}
	buf_reserve(b, (size_t)len);
	rc = get(s, &p, b->p, (size_t)len);
	b->len = (size_t)len;
	return rc;
}

int standing_ask_by(struct standing *s, standing_hand_fn *hand, void *ctx, struct buf *ret)
{
	int rc = standing_start(s), said = 0;
	uint64_t cpu = child_cpu_ns(s->pid);
	struct buf b = {0};

	if (rc)
		return rc;
	rc = standing_converse(s, hand, ctx, &b, &said);
	s->cpu_ns += child_cpu_ns(s->pid) - cpu;
	__atomic_store_n(&s->still, false, __ATOMIC_RELAXED);
	if (rc) {
		int status = end_reader(s);

		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			rc = err_set(-ECHILD, "its reader crashed (%s)",
				     strsignal(WTERMSIG(status)));
	}
	if (rc || said) {
		buf_done(&b);
		return rc ? rc : said;
	}
	*ret = b;
	return 0;
}

void standing_done(struct standing *s)
{
	(void)end_reader(s);
}
