// SPDX-License-Identifier: MIT
/*
 * Threads and processes begin and end.
 *
 * Our start routine jumps to the program's instead of calling it, so that stacks look as they do
 * without thaw. A destructor tells of a thread's end, however it ends. Threads made by clone(2)
 * have no thread area of their own, so that a handler could not run in them: they are not followed.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/preload.h"
#include "wire/probe.h"

struct start {
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} fn;
	void *arg;
	size_t stack;
	uint32_t parent;
};

static __thread uint32_t tid __attribute__((tls_model("initial-exec")));

extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso) __attribute__((weak));
extern void *__dso_handle;

uint32_t thread_tid(void)
{
	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static void thread_end(void *arg)
{
	timer_end();
	/* vfork() children share the thread area, but are not followed. */
	if (preload_on() && (uint32_t)getpid() == preload.pid)
		tell_task(PR_EXIT, thread_tid(), 0, 0);
}

static void __attribute__((noinline)) begin(const struct start *s)
{
	/* The thread's own data lies at the upper end of its stack, wherever that comes from. */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), top = (uintptr_t)pthread_self();

	if (!preload_on())
		return;
	if (top < here || top - here > s->stack)
		top = here + 256;
	if (__cxa_thread_atexit_impl)
		__cxa_thread_atexit_impl(thread_end, NULL, &__dso_handle);
	tell_task(PR_FORK, thread_tid(), s->parent, preload.pid);
	timer_begin(top - s->stack, top);
}

static void *begin_posix(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	begin(&s);
	return s.fn.posix(s.arg);
}

static int begin_c11(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	begin(&s);
	return s.fn.c11(s.arg);
}

static struct start *thread_prepare(const pthread_attr_t *attr, void *arg)
{
	bool follow = preload_on() && !preload.shared->no_inherit;
	struct start *s = follow ? malloc(sizeof(*s)) : NULL;
	pthread_attr_t plain;

	if (!s)
		return NULL;
	*s = (struct start){.arg = arg, .parent = thread_tid()};
	if (attr) {
		pthread_attr_getstacksize(attr, &s->stack);
	} else if (!pthread_getattr_default_np(&plain)) {
		pthread_attr_getstacksize(&plain, &s->stack);
		pthread_attr_destroy(&plain);
	}
	return s;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	struct start *s = thread_prepare(attr, arg);
	int rc;

	if (!s)
		return next()->pthread_create(thread, attr, fn, arg);
	s->fn.posix = fn;
	rc = next()->pthread_create(thread, attr, begin_posix, s);
	if (rc)
		free(s);
	return rc;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
	struct start *s = thread_prepare(NULL, arg);
	int rc;

	if (!s)
		return next()->thrd_create(thread, fn, arg);
	s->fn.c11 = fn;
	rc = next()->thrd_create(thread, begin_c11, s);
	if (rc != thrd_success)
		free(s);
	return rc;
}

/* ---- processes ---- */

static void forked(void)
{
	uint32_t parent = tid, parent_pid = preload.pid;

	tid = 0;
	preload.pid = (uint32_t)getpid();
	/* The first process of a pid namespace: thaw does not know its number. */
	if (preload.shared && (preload.shared->no_inherit || preload.pid == 1))
		preload.stopped = true;
	if (!preload_on())
		return;
	tell_task(PR_FORK, thread_tid(), parent, parent_pid);
	timer_forked();
}

void thread_hooks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

static void process_end(void)
{
	if (!preload_on() || (uint32_t)getpid() != preload.pid)
		return;
	timer_end();
	tell_task(PR_EXIT, thread_tid(), 1, 0);
}

static void __attribute__((destructor)) at_exit(void)
{
	process_end();
}

EXPORT void _exit(int status)
{
	process_end();
	next()->_exit(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	process_end();
	next()->_Exit(status);
	__builtin_unreachable();
}
