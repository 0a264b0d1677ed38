// SPDX-License-Identifier: MIT
#include "record/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static void child(char *const argv[], char *const env[], int go_fd, int fail_fd, pid_t parent)
{
	char byte;
	int err;

	/* If thaw is killed before the exec, this child must die with it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(go_fd, &byte, 1) != 1)
		_exit(127);
	prctl(PR_SET_PDEATHSIG, 0);
	signal(SIGPIPE, SIG_DFL);
	for (; env && *env; env++)
		putenv(*env);
	execvp(argv[0], argv);
	err = errno;
	(void)!write(fail_fd, &err, sizeof(err));
	_exit(err == ENOENT ? 127 : 126);
}

int launch_prepare(char *const argv[], char *const env[], struct launch *ret)
{
	int go[2], fail[2];
	pid_t pid, parent = getpid();

	if (pipe2(go, O_CLOEXEC))
		return err_set(-errno, "pipe: %s", strerror(errno));
	if (pipe2(fail, O_CLOEXEC)) {
		int rc = -errno;

		close(go[0]);
		close(go[1]);
		return err_set(rc, "pipe: %s", strerror(-rc));
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(fail[0]);
		child(argv, env, go[0], fail[1], parent);
	}
	close(go[0]);
	close(fail[1]);
	if (pid < 0) {
		int rc = -errno;

		close(go[1]);
		close(fail[0]);
		return err_set(rc, "fork: %s", strerror(-rc));
	}
	*ret = (struct launch){.pid = pid, .go_fd = go[1], .fail_fd = fail[0]};
	return 0;
}

int launch_go(struct launch *l, const char *name)
{
	int err = 0;
	ssize_t n;

	(void)!write(l->go_fd, "x", 1);
	close(l->go_fd);
	l->go_fd = -1;
	/* A successful exec closes the other end, so that read() returns 0. */
	do
		n = read(l->fail_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(l->fail_fd);
	l->fail_fd = -1;
	if (n == sizeof(err)) {
		launch_wait(l);
		return err_set(-err, "cannot run '%s': %s", name, strerror(err));
	}
	return 0;
}

bool launch_ended(struct launch *l)
{
	if (!l->done && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
		l->done = true;
	return l->done;
}

void launch_wait(struct launch *l)
{
	pid_t got;

	if (l->done)
		return;
	do
		got = waitpid(l->pid, &l->status, 0);
	while (got < 0 && errno == EINTR);
	l->done = true;
}

void launch_stop(struct launch *l)
{
	if (l->go_fd >= 0) {
		close(l->go_fd); /* the child reads the end of file and exits */
		close(l->fail_fd);
	} else if (!l->done) {
		kill(l->pid, SIGTERM);
	}
	launch_wait(l);
}

int launch_exit_status(const struct launch *l)
{
	return WIFSIGNALED(l->status) ? 128 + WTERMSIG(l->status) : WEXITSTATUS(l->status);
}
