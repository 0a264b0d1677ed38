// SPDX-License-Identifier: MIT
/*
 * One child per job. It inherits the question with its parent's memory, and answers through a pipe
 * until it ends, is out of time or has said more than it may. Whatever the child does, the parent
 * waits no longer than agreed, and leaves no process behind that can be ended.
 */
#include "symbol/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "symbol/child.h"

#define PIPE_BYTES (1u << 20)
#define READ_BYTES (256u << 10)
#define LOOK_NS (100 * NSEC_PER_MSEC)
#define EXIT_NOT_OPEN 3

static unsigned seconds_left(const struct worker *w)
{
	uint64_t now = clock_mono_ns();

	return now >= w->until_ns ? 1 : (unsigned)((w->until_ns - now) / NSEC_PER_SEC) + 1;
}

static void __attribute__((noreturn)) not_open(int answer, int rc)
{
	const char *words = err_msg();

	if (write(answer, &rc, sizeof(rc)) == sizeof(rc))
		(void)!write(answer, words, strlen(words));
	_exit(EXIT_NOT_OPEN);
}

static void __attribute__((noreturn)) child(const struct worker *w, int answer)
{
	struct sandbox_limits l = {.cpu_seconds = seconds_left(w), .memory = w->memory};
	int opened[SANDBOX_FILES_MAX], rc = 0;
	const int *files = w->files;
	size_t n = w->n_files;

	if (w->open) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A stuck child keeps its files open, so it must have none of the caller's. */
		child_keep_only(answer);
		n = 0;
		files = opened;
		err_clear();
		rc = w->open(w->ctx, opened, &n);
	}
	if (rc)
		not_open(answer, rc);
	sandbox_shared_memory();
	if (sandbox_descriptors(answer, files, n) || sandbox_privileges(w->kind == WORKER_NETWORK))
		_exit(2);
	if (w->kind == WORKER_PARSER)
		sandbox_seal(&l);
	_exit(w->fn(w->ctx) ? 1 : 0);
}

/* 1: more may come; 0: the end. */
static int worker_take(const struct worker *w, int fd, struct buf *b)
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

static int listen_to(const struct worker *w, pid_t pid, int fd, struct buf *b)
{
	struct child_pulse pulse = {.pid = pid};
	int rc = 1;

	while (rc > 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_mono_ns(), left = w->until_ns - now;

		if (now >= w->until_ns)
			return err_set(-ETIMEDOUT, "it took too long");
		if (w->still_ns && child_still_ns(&pulse, now) >= w->still_ns)
			return err_set(-EHOSTDOWN, "its file system does not answer");
		if (pulse.cpu_ns > HASTE_CPU_NS)
			child_make_modest(pid);
		rc = poll(&p, 1, (int)((left < LOOK_NS ? left : LOOK_NS) / NSEC_PER_MSEC) + 1);
		if (rc < 0 && errno != EINTR)
			return err_set(-errno, "poll: %s", strerror(errno));
		rc = rc > 0 ? worker_take(w, fd, b) : 1;
	}
	return rc;
}

static int worker_judge(int status, const struct buf *b)
{
	int rc;

	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_OPEN && b->len >= sizeof(rc)) {
		memcpy(&rc, b->p, sizeof(rc));
		return err_set(rc < 0 ? rc : -EIO, "%.*s", (int)(b->len - sizeof(rc)),
			       (const char *)b->p + sizeof(rc));
	}
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
	rc = listen_to(w, pid, ends[0], &b);
	close(ends[0]);
	/* At the end of its output the child should be ending; make sure. */
	if (!child_end(pid, &status) && !rc)
		rc = err_set(-EHOSTDOWN, "its file system does not answer");
	rc = rc ? rc : worker_judge(status, &b);
	if (rc) {
		buf_done(&b);
		return rc;
	}
	*ret = b;
	return 0;
}
