// SPDX-License-Identifier: MIT
/*
 * The attacker of files.py. Root starts it, and it becomes nobody, for ever, before it attacks;
 * with
 * --root DIR PROG in another root, with --unshare DIR PROG in a mount namespace of its own, in
 * which PROG is all that DIR holds, as DIR/prog. Then it does one of:
 *
 *   swap BAIT       cuts the mapping of its own program in two, so that the kernel cannot be asked
 *                   for it by its place, and puts a link to BAIT where its file was
 *   flash BAIT N    N programs that put a link to BAIT in the place of their own file and end
 *   unlink          its own file is gone from where it runs
 *   brief SECONDS   runs for a while and ends
 *   jit KIND BAIT   code without a file, and a perf map that is a fifo, a link to BAIT, or so long
 *   shrink LIB      a library that shrinks and grows all the time while it runs
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static void fail(const char *what)
{
	fprintf(stderr, "attacker: %s: %s\n", what, strerror(errno));
	exit(2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

/* Frames of this program are on the stack, running and waiting. */
__attribute__((noinline)) void burn_inside(double seconds)
{
	for (double end = now() + seconds; now() < end; usleep(200))
		for (unsigned long i = 0; i < 100000; i++)
			sink += i;
	sink++;
}

static void become_nobody(void)
{
	if (geteuid() == NOBODY)
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		fail("setuid");
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
	char piece[65536];
	ssize_t n;

	if (in < 0 || out < 0)
		fail(to);
	while ((n = read(in, piece, sizeof(piece))) > 0)
		if (write(out, piece, (size_t)n) != n)
			fail(to);
	close(in);
	close(out);
}

/* In one step. */
static void put_link(const char *path, const char *bait)
{
	char fresh[4096];

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	if (symlink(bait, fresh) || rename(fresh, path))
		fail(path);
}

static void cut_mapping(void)
{
	unsigned long page = (unsigned long)burn_inside & ~4095ul;

	if (madvise((void *)page, 4096, MADV_DONTFORK))
		fail("madvise");
}

static void flash(const char *self, const char *bait, int n)
{
	char path[4096];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s.%d", self, i);
		copy(self, path);
		if (!fork()) {
			execl(path, path, "flashed", bait, NULL);
			fail(path);
		}
		wait(NULL);
	}
}

static void jit(const char *kind, const char *bait)
{
	/* mov $0x2000000, %ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = {0xb9, 0, 0, 0, 2, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (!strcmp(kind, "fifo")) {
		rc = mkfifo(path, 0600);
	} else if (!strcmp(kind, "link")) {
		rc = symlink(bait, path);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		dprintf(fd, "%lx 1000 made_at_run_time\n", (unsigned long)at);
		rc = ftruncate(fd, atoll(kind));
	}
	if (rc)
		fail(path);
	printf("map %s\n", path);
	fflush(stdout);
	memcpy(at, code, sizeof(code));
	for (double end = now() + 30; now() < end;)
		((void (*)(void))at)();
}

#ifdef DYNAMIC
static void shrink_and_grow(const char *path, double until)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	char *all;

	if (fd < 0 || fstat(fd, &st))
		fail(path);
	all = malloc((size_t)st.st_size);
	if (!all || pread(fd, all, (size_t)st.st_size, 0) != st.st_size)
		fail(path);
	while (now() < until)
		if (ftruncate(fd, 0) || pwrite(fd, all, (size_t)st.st_size, 0) != st.st_size)
			fail(path);
	_exit(0);
}

static void again(int sig)
{
	(void)sig;
}

static void shrink(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*burn)(void (*)(double), double) = NULL;

	if (lib)
		*(void **)&burn = dlsym(lib, "burn_in_library");
	if (!burn)
		fail(dlerror());
	/* It would die of its own attack: what is not there is tried again until it is. */
	signal(SIGBUS, again);
	if (!fork())
		shrink_and_grow(path, now() + 4);
	burn(burn_inside, 1.5);
	_exit(0);
}
#else
static void shrink(const char *path)
{
	fail(path);
}
#endif

static void enter_root(char **argv)
{
	if (chroot(argv[2]) || chdir("/"))
		fail("chroot");
	become_nobody();
	execv(argv[3], argv + 3);
	fail(argv[3]);
}

static void enter_namespace(char **argv)
{
	char prog[4096], outside[] = "/proc/self/fd/9";
	int fd = open(argv[3], O_RDONLY);

	snprintf(prog, sizeof(prog), "%s/prog", argv[2]);
	if (dup2(fd, 9) != 9 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", argv[2], "tmpfs", 0, "mode=0777"))
		fail("unshare");
	copy(outside, prog);
	become_nobody();
	argv[3] = prog;
	execv(prog, argv + 3);
	fail(prog);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "--root"))
		enter_root(argv);
	if (!strcmp(mode, "--unshare"))
		enter_namespace(argv);
	become_nobody();
	if (!strcmp(mode, "swap")) {
		cut_mapping();
		put_link(argv[0], argv[2]);
		burn_inside(1);
	} else if (!strcmp(mode, "flash")) {
		flash(argv[0], argv[2], atoi(argv[3]));
	} else if (!strcmp(mode, "flashed")) {
		burn_inside(0.002);
		put_link(argv[0], argv[2]);
	} else if (!strcmp(mode, "unlink")) {
		if (unlink(argv[0]))
			fail(argv[0]);
		burn_inside(1);
	} else if (!strcmp(mode, "brief")) {
		burn_inside(atof(argv[2]));
	} else if (!strcmp(mode, "jit")) {
		jit(argv[2], argv[3]);
	} else if (!strcmp(mode, "shrink")) {
		shrink(argv[2]);
	} else {
		fail("what to do?");
	}
	return 0;
}
