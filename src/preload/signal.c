// SPDX-License-Identifier: MIT
/*
 * The timers' signal is kept apart from the program's use of signals.
 *
 * A program that goes through all signals (to set them to their defaults, to block them, to wait
 * for any of them) would otherwise be killed by the timers' signal, or get one that it does not
 * expect. So the program's handler for this number is only remembered, and called for signals that
 * others send. Sets to block and to wait for leave the number out. Never blocked, the signal
 * arrives at once, when it interrupts no system call: see timer.c.
 */
#include <errno.h>
#include <stdarg.h>

#include "preload/preload.h"

static struct sigaction theirs;

static bool ours(int sig)
{
	return preload.shared && sig == preload.sig;
}

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction before = theirs;

	if (!ours(sig))
		return next()->sigaction(sig, act, old);
	if (act)
		theirs = *act;
	if (old)
		*old = before;
	return 0;
}

static sighandler_t signal_exchange(sighandler_t handler)
{
	sighandler_t before = theirs.sa_handler;

	theirs = (struct sigaction){.sa_handler = handler};
	return before;
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_exchange(handler) : next()->signal(sig, handler);
}

EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_exchange(handler) : next()->__sysv_signal(sig, handler);
}

void signal_theirs(int sig, siginfo_t *info, void *context)
{
	struct sigaction act = theirs, dfl = {.sa_handler = SIG_DFL};
	sigset_t set;

	if (act.sa_flags & SA_SIGINFO) {
		act.sa_sigaction(sig, info, context);
	} else if (act.sa_handler == SIG_DFL) {
		/* The sender meant to end the program. */
		next()->sigaction(sig, &dfl, NULL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		next()->pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		raise(sig);
	} else if (act.sa_handler != SIG_IGN) {
		act.sa_handler(sig);
	}
}

/* ---- sets ---- */

static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
	if (!set || !preload.shared || sigismember(set, preload.sig) != 1)
		return set;
	*copy = *set;
	sigdelset(copy, preload.sig);
	return copy;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return next()->sigprocmask(how, how == SIG_UNBLOCK ? set : without(set, &copy), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return next()->pthread_sigmask(how, how == SIG_UNBLOCK ? set : without(set, &copy), old);
}

EXPORT int sigwait(const sigset_t *set, int *sig)
{
	sigset_t copy;

	return next()->sigwait(without(set, &copy), sig);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	sigset_t copy;

	return next()->sigwaitinfo(without(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	sigset_t copy;

	return next()->sigtimedwait(without(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;

	return next()->signalfd(fd, without(set, &copy), flags);
}

/*
 * A program that gives up privileges for good mostly forbids itself system calls next. A call that
 * only thaw makes would then kill it. From here on thaw makes none.
 */
EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
		preload_stop();
	return next()->prctl(option, a[0], a[1], a[2], a[3]);
}
