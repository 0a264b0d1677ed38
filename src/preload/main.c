// SPDX-License-Identifier: MIT
/* The constructor: finds the memory that thaw shares, and starts with the first thread. */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "wire/probe.h"

#define STACK_MAX (64ul << 20)

struct preload preload;
static struct next table;

const struct next *next(void)
{
	if (__atomic_load_n(&table.ready, __ATOMIC_ACQUIRE))
		return &table;
#define NEXT(name) *(void **)&table.name = dlsym(RTLD_NEXT, #name);
#include "preload/next.def"
	__atomic_store_n(&table.ready, true, __ATOMIC_RELEASE);
	return &table;
}

static bool heard_within(uint64_t ns)
{
	uint64_t beat = __atomic_load_n(&preload.shared->beat_ns, __ATOMIC_RELAXED);

	return now_ns() - beat < ns || beat > now_ns();
}

bool preload_on(void)
{
	return preload.shared && !preload.stopped &&
	       __atomic_load_n(&preload.shared->armed, __ATOMIC_RELAXED) &&
	       heard_within(SHARED_STALE_NS);
}

bool preload_over(void)
{
	return !preload.shared || !__atomic_load_n(&preload.shared->armed, __ATOMIC_RELAXED) ||
	       !heard_within(30 * SHARED_STALE_NS);
}

void preload_stop(void)
{
	if (!preload_on())
		return;
	__atomic_fetch_add(&preload.shared->confined, 1, __ATOMIC_RELAXED);
	timer_end();
	preload.stopped = true;
}

/* Are tids the same here and for thaw? */
static bool same_numbers(const struct shared_head *s)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == s->pid_ns;
}

static bool main_attach(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct shared_head *s = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > (off_t)SHARED_HEAD)
		s = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (s == MAP_FAILED)
		return false;
	if (s->magic != SHARED_MAGIC || !s->armed || !s->n_rings || !s->tick_ns ||
	    s->period_ns < s->tick_ns ||
	    shared_len(s->ring_size, s->n_rings) != (uint64_t)st.st_size || !same_numbers(s)) {
		munmap(s, (size_t)st.st_size);
		return false;
	}
	madvise(s, (size_t)st.st_size, MADV_DONTDUMP);
	preload = (struct preload){.shared = s,
				   .ring_size = s->ring_size,
				   .period_ns = s->period_ns,
				   .tick_ns = s->tick_ns,
				   .n_rings = s->n_rings,
				   .salt = s->salt,
				   .pid = (uint32_t)getpid()};
	return true;
}

/* The frames of the first thread end where its arguments begin. */
static void begin_first(char **argv)
{
	uintptr_t top = (uintptr_t)argv + sizeof(*argv);
	struct rlimit limit = {0};
	rlim_t size = STACK_MAX;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < size)
		size = limit.rlim_cur;
	timer_begin(top - (uintptr_t)size, top);
}

static void __attribute__((constructor)) at_start(int argc, char **argv, char **envp)
{
	int before = errno;
	char path[64];

	(void)next();
	if (exec_begin(envp, path, sizeof(path)) && main_attach(path)) {
		preload.sig = timer_signal();
		tell_task(PR_EXEC, thread_tid(), thread_tid(), (uint32_t)getppid());
		tell_maps();
		thread_hooks();
		if (preload.sig && preload.pid == thread_tid())
			begin_first(argv);
		else
			preload.stopped = true;
	}
	errno = before;
}
