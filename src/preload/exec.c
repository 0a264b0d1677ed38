// SPDX-License-Identifier: MIT
/*
 * thaw also follows the next program, and no program sees that in its environment.
 *
 * The constructor takes our variables out of the environment; everything through which a program
 * starts another one puts them back, whatever environment that one is given. Calls inside of libc
 * bypass these functions, so each function that starts programs is below; system() and popen() read
 * `environ`, which is exchanged for as long as they run.
 *
 * A child of vfork() runs this in its parent's memory: it may write to the stack only.
 */
#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "preload/preload.h"

#define LIBRARY "libthaw-preload.so"
#define LIST_ONLY "LD_TRACE_LOADED_OBJECTS" /* ldd: the loader lists what it would load */

static char session[64], library[PATH_MAX];
static const struct env_words words = {session, library};

bool exec_begin(char **env, char *ret_session, size_t room)
{
	const char *value = env_get(env, SHARED_ENV), *preloads = env_get(env, "LD_PRELOAD");
	const char *last = preloads ? strrchr(preloads, ':') : NULL;

	last = last ? last + 1 : preloads;
	if (!value || !last || strlen(value) >= sizeof(session) || strlen(value) >= room ||
	    strlen(last) >= sizeof(library) || !strstr(last, LIBRARY))
		return false;
	strcpy(session, value);
	strcpy(library, last);
	strcpy(ret_session, value);
	env_strip(env, &words);
	return true;
}

/* On the stack of the caller: alloca() in a function of its own would be gone. */
#define FOLLOWED(env)                                                                              \
	({                                                                                         \
		char *const *env_ = (env);                                                         \
		size_t n_ = env_count(env_);                                                       \
                                                                                                   \
		if (preload_on() && n_ < ENV_ENTRIES_MAX && !env_get(env_, LIST_ONLY)) {           \
			char **to_ = alloca((n_ + 4) * sizeof(*to_));                              \
                                                                                                   \
			env_with(env_, &words, to_, alloca(env_bytes(env_, &words)));              \
			env_ = to_;                                                                \
		}                                                                                  \
		env_;                                                                              \
	})

static void exec_before(const char *path)
{
	if (preload_on())
		tell_run((uint32_t)getpid(), now_ns(), path);
}

/* exec() has returned: it failed. */
static int exec_failed(int rc)
{
	int err = errno;

	if (preload_on())
		tell_run((uint32_t)getpid(), now_ns(), NULL);
	errno = err;
	return rc;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	exec_before(path);
	return exec_failed(next()->execve(path, argv, FOLLOWED(envp)));
}

EXPORT int execv(const char *path, char *const argv[])
{
	exec_before(path);
	return exec_failed(next()->execve(path, argv, FOLLOWED(environ)));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	exec_before(file);
	return exec_failed(next()->execvpe(file, argv, FOLLOWED(envp)));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	exec_before(file);
	return exec_failed(next()->execvpe(file, argv, FOLLOWED(environ)));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	exec_before("a descriptor");
	return exec_failed(next()->fexecve(fd, argv, FOLLOWED(envp)));
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (!next()->execveat) {
		errno = ENOSYS;
		return -1;
	}
	exec_before(path);
	return exec_failed(next()->execveat(fd, path, argv, FOLLOWED(envp), flags));
}

/* The arguments that follow `first`, as an array; `ap` is then past their NULL. */
#define ARGUMENTS(first, ap)                                                                       \
	({                                                                                         \
		const char *arg_ = (first);                                                        \
		const char **argv_;                                                                \
		size_t n_ = 0;                                                                     \
		va_list count_;                                                                    \
                                                                                                   \
		va_copy(count_, ap);                                                               \
		for (; arg_; n_++)                                                                 \
			arg_ = va_arg(count_, const char *);                                       \
		va_end(count_);                                                                    \
		argv_ = alloca((n_ + 1) * sizeof(*argv_));                                         \
		arg_ = (first);                                                                    \
		for (size_t i_ = 0; i_ < n_; i_++) {                                               \
			argv_[i_] = arg_;                                                          \
			arg_ = va_arg(ap, const char *);                                           \
		}                                                                                  \
		argv_[n_] = NULL;                                                                  \
		(char *const *)argv_;                                                              \
	})

EXPORT int execl(const char *path, const char *arg, ...)
{
	char *const *argv;
	va_list ap;

	va_start(ap, arg);
	argv = ARGUMENTS(arg, ap);
	va_end(ap);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char *const *argv;
	va_list ap;

	va_start(ap, arg);
	argv = ARGUMENTS(arg, ap);
	va_end(ap);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *argv, *const *envp;
	va_list ap;

	va_start(ap, arg);
	argv = ARGUMENTS(arg, ap);
	envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}

/* ---- in a process of its own ---- */

typedef __typeof__(&posix_spawn) spawn_fn;

/* The child may run before the call returns: its record has the time before the call. */
static int spawn(spawn_fn fn, pid_t *pid, const char *path,
		 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		 char *const argv[], char *const envp[])
{
	uint64_t ts = now_ns();
	pid_t child = 0;
	int rc = fn(&child, path, actions, attr, argv, FOLLOWED(envp));

	if (!rc && pid)
		*pid = child;
	if (!rc && preload_on())
		tell_run((uint32_t)child, ts, path);
	return rc;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawn(next()->posix_spawn, pid, path, actions, attr, argv, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawn(next()->posix_spawnp, pid, file, actions, attr, argv, envp);
}

/*
 * Another thread may still read the array that `environ` pointed to: put_back() frees it only after
 * so many others.
 */
#define RESTING 16
static void *resting[RESTING];
static unsigned next_resting;

static char **exec_exchange(char ***ret_before)
{
	size_t n = env_count(environ), bytes;
	char **to;

	*ret_before = environ;
	if (!preload_on() || n == ENV_ENTRIES_MAX)
		return NULL;
	bytes = env_bytes(environ, &words);
	to = malloc((n + 4) * sizeof(*to) + bytes);
	if (!to)
		return NULL;
	env_with(environ, &words, to, (char *)(to + n + 4));
	environ = to;
	return to;
}

static void put_back(char **to, char **before)
{
	unsigned slot;

	if (!to)
		return;
	if (environ == to)
		environ = before;
	else if (environ)
		env_strip(environ, &words); /* a thread has set a variable meanwhile */
	slot = __atomic_fetch_add(&next_resting, 1, __ATOMIC_RELAXED) % RESTING;
	free(__atomic_exchange_n(&resting[slot], environ == before ? to : NULL, __ATOMIC_SEQ_CST));
}

EXPORT int system(const char *command)
{
	char **before, **to;
	int rc, err;

	if (!command)
		return next()->system(NULL);
	to = exec_exchange(&before);
	rc = next()->system(command);
	err = errno;
	put_back(to, before);
	errno = err;
	return rc;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	char **before, **to = exec_exchange(&before);
	FILE *f = next()->popen(command, mode);
	int err = errno;

	put_back(to, before);
	errno = err;
	return f;
}
