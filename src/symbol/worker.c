// SPDX-License-Identifier: MIT
/*
 * A child a job. It inherits the question with the memory of its parent, and answers through a pipe
 * until it ends, is out of time or has said more than it may. Whatever it does, the parent reads,
 * waits no longer than agreed, and leaves no process behind.
 */
#include "symbol/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"

#define PIPE_BYTES (1u << 20)
#define READ_BYTES (256u << 10)

static unsigned seconds_left(const struct worker *w)
{
	uint64_t now = clock_mono_ns();

	return now >= w->until_ns ? 1 : (unsigned)((w->until_ns - now) / NSEC_PER_SEC) + 1;
}

static void __attribute__((noreturn)) child(const struct worker *w, int answer)
{
	struct sandbox_limits l = {.cpu_seconds = seconds_left(w), .memory = w->memory};

	if (sandbox_descriptors(answer, w->files, w->n_files) ||
	    sandbox_privileges(w->kind == WORKER_NETWORK))
		_exit(2);
	if (w->kind == WORKER_PARSER)
		sandbox_seal(&l);
	_exit(w->fn(w->ctx) ? 1 : 0);
}

/* 1: more may come; 0: the end. */
static int take(const struct worker *w, int fd, struct buf *b)
{
	ssize_t n;

	buf_reserve(b, READ_BYTES);
	n = read(fd, b->p + b->len, b->room - b->len);
	if (n < 0)
		return errno == EINTR ? 1 : err_set(-errno, "cannot read: %s", strerror(errno));
	b->len += (size_t)n;
	if (b->len > w->answer_max)
		return err_set(-EMSGSIZE, "the answer is too long");
	return n > 0;
}

static int listen_to(const struct worker *w, int fd, struct buf *b)
{
	int rc = 1;

	while (rc > 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_mono_ns();

		if (now >= w->until_ns)
			return err_set(-ETIMEDOUT, "it took too long");
		rc = poll(&p, 1, (int)((w->until_ns - now) / NSEC_PER_MSEC) + 1);
		if (rc < 0 && errno != EINTR)
			return err_set(-errno, "poll: %s", strerror(errno));
		rc = rc > 0 ? take(w, fd, b) : 1;
	}
	return rc;
}

static int judge(int status)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		return err_set(-ETIMEDOUT, "it took too long");
	if (WIFSIGNALED(status))
		return err_set(-ECHILD, "its reader crashed (%s)", strsignal(WTERMSIG(status)));
	return err_set(-ECHILD, "its reader gave up");
}

int worker_run(const struct worker *w, struct buf *ret)
{
	int ends[2], status = 0, rc;
	struct buf b = {0};
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	pid = fork();
	if (pid == 0)
		child(w, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		rc = err_set(-errno, "cannot start a process: %s", strerror(errno));
		close(ends[0]);
		return rc;
	}
	rc = listen_to(w, ends[0], &b);
	close(ends[0]);
	/* At the end of its output it is on its way out; this ends what is not. */
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	rc = rc ? rc : judge(status);
	if (rc) {
		buf_done(&b);
		return rc;
	}
	*ret = b;
	return 0;
}
