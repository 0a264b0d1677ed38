// SPDX-License-Identifier: MIT
/* The environment, the descriptors and the limits that a program sees, and hands on. */
#include "manners/manners.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ours(char *const *env)
{
	for (; *env; env++)
		if (strstr(*env, "THAW") || strstr(*env, "PRELOAD") || strstr(*env, "ASAN"))
			printf("sees %s\n", *env);
}

void manners_environ(void)
{
	int n = 0;

	ours(environ);
	setenv("MANNERS", "1", 1);
	for (char **e = environ; *e; e++)
		n += !strncmp(*e, "MANNERS=", 8);
	printf("set %d\n", n);
	clearenv();
	printf("cleared %d\n", environ == NULL || !*environ);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void waited(pid_t pid, const char *how)
{
	int status = 0;

	waitpid(pid, &status, 0);
	printf("%s: %d\n", how, WEXITSTATUS(status));
	fflush(stdout);
}

/* What is seen there: nothing of the shell's own. */
#define SHOW "env | grep -v '^PWD=\\|^SHLVL=\\|^_=\\|^OLDPWD=' | sort; exit 3"

/* Every way to start a program, and what it finds in its environment. */
void manners_programs(void)
{
	char *argv[] = {"sh", "-c", SHOW, NULL}, *env[] = {"ONE=1", NULL}, *none[] = {NULL};
	char line[256];
	pid_t pid;
	FILE *f;

#define CHILD(how, call)                                                                           \
	do {                                                                                       \
		fflush(stdout);                                                                    \
		pid = fork();                                                                      \
		if (!pid) {                                                                        \
			call;                                                                      \
			_exit(99);                                                                 \
		}                                                                                  \
		waited(pid, how);                                                                  \
	} while (0)
	setenv("TWO", "2", 1);
	CHILD("execve", execve("/bin/sh", argv, env));
	CHILD("execve, nothing", execve("/bin/sh", argv, none));
	CHILD("execv", execv("/bin/sh", argv));
	CHILD("execvp", execvp("sh", argv));
	CHILD("execvpe", execvpe("sh", argv, env));
	CHILD("execl", execl("/bin/sh", "sh", "-c", SHOW, (char *)NULL));
	CHILD("execlp", execlp("sh", "sh", "-c", SHOW, (char *)NULL));
	CHILD("execle", execle("/bin/sh", "sh", "-c", SHOW, (char *)NULL, env));
	CHILD("fexecve", fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), argv, env));
	CHILD("no such program", (execvp("no-such-program", argv), _exit(errno)));
	if (!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, env))
		waited(pid, "posix_spawn");
	if (!posix_spawnp(&pid, "sh", NULL, NULL, argv, environ))
		waited(pid, "posix_spawnp");
	fflush(stdout);
	printf("no such: %d\n", posix_spawn(&pid, "/no/such", NULL, NULL, argv, env));
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		execve("/bin/sh", argv, env);
		_exit(99);
	}
	waited(pid, "vfork");
	printf("system: %d\n", WEXITSTATUS(system(SHOW)));
	f = popen(SHOW, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("popen: %s", line);
	printf("pclose: %d\n", f ? WEXITSTATUS(pclose(f)) : -1);
	ours(environ);
}

void manners_forks(void)
{
	int sum = 0;

	fflush(stdout);
	for (int i = 0; i < 60; i++) {
		pid_t pid = i % 3 ? fork() : (pid_t)syscall(SYS_fork);
		int status = 0;

		if (!pid) {
			manners_burn(2000);
			_exit(i);
		}
		waitpid(pid, &status, 0);
		sum += WEXITSTATUS(status);
	}
	printf("sum %d\n", sum);
}

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(int *)arg += strstr(info->dlpi_name, "thaw") == NULL;
	return 0;
}

void manners_libraries(void)
{
	int before = 0, after = 0, ok = 0;

	dl_iterate_phdr(count, &before);
	for (int i = 0; i < 100; i++) {
		void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

		manners_burn(300);
		ok += lib && dlsym(lib, "crc32");
		if (lib)
			dlclose(lib);
	}
	dl_iterate_phdr(count, &after);
	printf("loaded %d, left over %d\n", ok, after - before);
}

/* Which descriptor comes next, and that all can be closed. */
void manners_fds(void)
{
	int first = open("/dev/null", O_RDONLY), next;

	for (int fd = first; fd < 256; fd++)
		close(fd);
	manners_burn(50000);
	next = open("/dev/null", O_RDONLY);
	printf("next %s\n", next == first ? "the same" : "another");
	close(next);
}

/* Too few signals may be pending for any more timers; too little memory for more mappings. */
void manners_limits(void)
{
	struct rlimit pending = {0, 0}, was;
	pid_t pid;

	getrlimit(RLIMIT_SIGPENDING, &was);
	pending.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_SIGPENDING, &pending);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		manners_burn(20000);
		_exit(7);
	}
	waited(pid, "no signals pending");
	setrlimit(RLIMIT_SIGPENDING, &was);
}
