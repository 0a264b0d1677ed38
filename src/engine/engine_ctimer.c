// SPDX-License-Identifier: MIT
/*
 * The ctimer engine: the command records itself, by a library that is loaded into it (src/preload).
 * It needs no privilege, and none helps: it sees samples of threads that use a CPU, and nothing
 * else.
 *
 * The shared memory has no name, and the program cannot shorten it (a sealed memfd). What thaw must
 * trust is kept here, where the program cannot write. Nothing is left behind, however thaw ends:
 * the programs notice its death, and stop.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "engine/arrays.h"
#include "engine/engine.h"
#include "engine/program.h"
#include "wire/shared.h"
#include "wire/unseen.h"

#define RING_BYTES (2ull << 20)
#define RING_LEAST (256ull << 10)
#define RINGS_MAX 256u
/* A thread may lose its CPU while it writes a record, which delays that record and all after it. */
#define WINDOW_NS (100 * NSEC_PER_MSEC)
#define STUCK_NS NSEC_PER_SEC

#define LIBRARY "libthaw-preload.so"
#define PLATFORM "$PLATFORM" /* the loader fills it in: 32-bit programs get another file */
#define MAPPINGS (1u << 16)

enum { ENV_SESSION, ENV_PRELOAD, ENV_ASAN, ENVS };

struct ctimer_engine {
	struct engine base;
	int fd;
	struct shared_head *shared;
	uint64_t len, ring_size;
	uint32_t n_rings;
	struct unwind_arrays arrays;
	char *env[ENVS + 1];
};

static struct ctimer_engine *ctimer(struct engine *e)
{
	return (struct ctimer_engine *)e;
}

static struct ring_head *ctimer_ring(struct ctimer_engine *c, size_t i)
{
	return shared_ring(c->shared, c->ring_size, (uint32_t)i);
}

/* ---- whether it can ---- */

/* Looks beside a built binary, or where it is installed: DIR/PLATFORM/libthaw-preload.so. */
static int find_library(char *ret, size_t room)
{
	static const char *const places[] = {"", "/../lib/thaw"};
	char self[PATH_MAX], path[4352];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return err_set(-errno, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%s%s/" ARCH_NAME "/" LIBRARY, self, places[i]);
		if (access(path, R_OK))
			continue;
		if (strpbrk(self, ": ;$"))
			return err_set(-EINVAL,
				       "the path of thaw (%s) contains a character that LD_PRELOAD "
				       "cannot handle; install it elsewhere",
				       self);
		snprintf(ret, room, "%s%s/" PLATFORM "/" LIBRARY, self, places[i]);
		return 0;
	}
	return err_set(
		-ENOENT,
		"the library that records programs from inside is missing: there is no " ARCH_NAME
		"/" LIBRARY " in %s or %s/../lib/thaw",
		self, self);
}

static int check_command(const char *name)
{
	char path[512];

	switch (program_kind(name, path, sizeof(path))) {
	case PROGRAM_STATIC:
		return err_set(-ENOTSUP,
			       "the ctimer engine cannot record %s: it is linked statically, and "
			       "has no loader that would load thaw's library into it",
			       path);
	case PROGRAM_FOREIGN:
		return err_set(-ENOTSUP,
			       "the ctimer engine cannot record %s: it is made for another machine "
			       "than " ARCH_WORDS,
			       path);
	case PROGRAM_SECURE:
		return err_set(-ENOTSUP,
			       "the ctimer engine cannot record %s: it runs with other rights than "
			       "yours (set-uid, set-gid or file capabilities), and so its loader "
			       "does not load thaw's library",
			       path);
	default:
		return 0;
	}
}

static int ctimer_check(const struct plan *plan)
{
	char path[4352];
	int rc;

	if (plan->scope != SCOPE_COMMAND)
		return err_set(-ENOTSUP,
			       "the ctimer engine can only record a command that thaw starts: "
			       "thaw record --engine ctimer -- COMMAND");
	if (!plan->freq_hz)
		return err_set(-EINVAL, "the ctimer engine has nothing but samples: -F 0 leaves "
					"nothing to record");
	/* Programs open the memory in thaw's /proc, which file capabilities close. */
	if (prctl(PR_GET_DUMPABLE) != 1)
		return err_set(-ENOTSUP,
			       "the ctimer engine does not work with a thaw that has file "
			       "capabilities: its memory is closed to the command");
	rc = find_library(path, sizeof(path));
	return rc ? rc : check_command(plan->command[0]);
}

/* ---- open ---- */

/* The kernel checks CPU timers only at its ticks. A clock that counts ticks tells their length. */
static uint64_t tick_ns(void)
{
	struct timespec t;

	/* CPUCLOCK_PROF of the calling process, which no user header defines. */
	if (clock_getres((clockid_t)-8, &t) || t.tv_sec || t.tv_nsec < 100000)
		return 4 * NSEC_PER_MSEC;
	return (uint64_t)t.tv_nsec;
}

static int open_memory(struct ctimer_engine *c, const struct plan *plan)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int rc;

	c->n_rings = cpus < 1 ? 1 : cpus > (long)RINGS_MAX ? RINGS_MAX : (uint32_t)cpus;
	c->ring_size = plan->ring_bytes ? plan->ring_bytes : RING_BYTES;
	if (c->ring_size < RING_LEAST)
		c->ring_size = RING_LEAST;
	c->len = shared_len(c->ring_size, c->n_rings);
	c->fd = memfd_create("thaw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->fd < 0)
		return err_set(-errno, "memory to share with the command: %s", strerror(errno));
	/* Allocate all now: running out of memory later means SIGBUS. */
	rc = posix_fallocate(c->fd, 0, (off_t)c->len);
	if (rc)
		return err_set(-rc, "%llu MiB to share with the command: %s",
			       (unsigned long long)c->len >> 20, strerror(rc));
	if (fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return err_set(-errno, "sealing the memory for the command: %s", strerror(errno));
	c->shared = mmap(NULL, c->len, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (c->shared == MAP_FAILED) {
		c->shared = NULL;
		return err_set(-errno, "mapping the memory for the command: %s", strerror(errno));
	}
	return 0;
}

static void fill_head(struct ctimer_engine *c, const struct plan *plan, uint32_t salt)
{
	uint64_t tick = tick_ns();
	uint64_t hz = plan->freq_hz < NSEC_PER_SEC / tick ? plan->freq_hz : NSEC_PER_SEC / tick;
	struct stat ns;

	c->base.freq_hz = hz;
	*c->shared = (struct shared_head){.magic = SHARED_MAGIC,
					  .period_ns = NSEC_PER_SEC / hz,
					  .tick_ns = tick,
					  .ring_size = c->ring_size,
					  .n_rings = c->n_rings,
					  .salt = salt,
					  .no_inherit = plan->no_inherit};
	if (!stat("/proc/self/ns/pid", &ns))
		c->shared->pid_ns = ns.st_ino;
}

/* Keeps the user's LD_PRELOAD and ASAN_OPTIONS, and puts ours after them. */
static char *ctimer_extended(const char *name, const char *word)
{
	const char *old = getenv(name);
	size_t room = strlen(name) + (old ? strlen(old) : 0) + strlen(word) + 3;
	char *text = mem_alloc(room);

	snprintf(text, room, "%s=%s%s%s", name, old ? old : "", old ? ":" : "", word);
	return text;
}

static int fill_env(struct ctimer_engine *c)
{
	char path[4352], session[64];
	int rc = find_library(path, sizeof(path));

	if (rc)
		return rc;
	snprintf(session, sizeof(session), SHARED_ENV "=/proc/%d/fd/%d", (int)getpid(), c->fd);
	c->env[ENV_SESSION] = mem_strdup(session);
	c->env[ENV_PRELOAD] = ctimer_extended("LD_PRELOAD", path);
	c->env[ENV_ASAN] = ctimer_extended("ASAN_OPTIONS", "verify_asan_link_order=0");
	c->base.env = c->env;
	return 0;
}

static void *array(size_t entry, size_t n)
{
	void *at = mmap(NULL, entry * n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Only the collector uses them, so they grow with need. */
static int open_arrays(struct ctimer_engine *c, const struct plan *plan)
{
	struct unwind_arrays *a = &c->arrays;

	bool ok = arrays_open(a, plan->tables_bytes);

	a->mappings = array(sizeof(*a->mappings), MAPPINGS);
	a->procs = array(sizeof(*a->procs), TID_LIMIT);
	a->spaces = array(sizeof(*a->spaces), UNWIND_SPACES);
	a->n_mappings = MAPPINGS;
	a->n_procs = TID_LIMIT;
	if (!ok || !a->mappings || !a->procs || !a->spaces)
		return err_set(-ENOMEM, "memory for unwind tables: %s", strerror(errno));
	return 0;
}

static void unmap(void *at, size_t len)
{
	if (at)
		munmap(at, len);
}

static void ctimer_close(struct engine *e)
{
	struct ctimer_engine *c = ctimer(e);
	struct unwind_arrays *a = &c->arrays;

	for (size_t i = 0; i < e->n_sources; i++)
		source_close(e->sources[i]);
	free(e->sources);
	unmap(c->shared, c->len);
	if (c->fd >= 0)
		close(c->fd);
	unmap(a->mappings, sizeof(*a->mappings) * MAPPINGS);
	unmap(a->procs, sizeof(*a->procs) * TID_LIMIT);
	unmap(a->spaces, sizeof(*a->spaces) * UNWIND_SPACES);
	arrays_close(a);
	for (int i = 0; i < ENVS; i++)
		free(c->env[i]);
	free(c);
}

static int ctimer_open(const struct plan *plan, struct engine **ret)
{
	struct ctimer_engine *c = mem_zalloc(sizeof(*c));
	uint32_t salt = 0;
	int rc;

	c->base.ops = &engine_ctimer;
	c->base.self_told = true;
	c->base.unseen = UNSEEN_WAKERS | UNSEEN_LOCKS | UNSEEN_KERNEL_MODE | UNSEEN_WAIT_STACKS |
			 UNSEEN_SWITCHES;
	c->base.window_ns = WINDOW_NS;
	c->fd = -1;
	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		salt = (uint32_t)time(NULL);
	rc = open_memory(c, plan);
	rc = rc ? rc : open_arrays(c, plan);
	rc = rc ? rc : fill_env(c);
	if (rc) {
		ctimer_close(&c->base);
		return rc;
	}
	fill_head(c, plan, salt);
	c->base.sources = mem_zalloc(c->n_rings * sizeof(*c->base.sources));
	for (uint32_t i = 0; i < c->n_rings; i++)
		c->base.sources[c->base.n_sources++] = source_shared_new(
			ctimer_ring(c, i), c->ring_size, salt, (uint16_t)i, STUCK_NS);
	*ret = &c->base;
	return 0;
}

/* ---- while it runs ---- */

static void ctimer_beat(struct engine *e, uint64_t now)
{
	__atomic_store_n(&ctimer(e)->shared->beat_ns, now, __ATOMIC_RELAXED);
}

static int ctimer_attach(struct engine *e)
{
	(void)e;
	return 0;
}

static void ctimer_arm(struct engine *e)
{
	ctimer_beat(e, clock_mono_ns());
	__atomic_store_n(&ctimer(e)->shared->armed, 1, __ATOMIC_SEQ_CST);
}

static void ctimer_disarm(struct engine *e)
{
	__atomic_store_n(&ctimer(e)->shared->armed, 0, __ATOMIC_SEQ_CST);
}

/* The programs choose which threads they record. */
static void ctimer_watch(struct engine *e, uint32_t tid, bool on)
{
	(void)e;
	(void)tid;
	(void)on;
}

static bool ctimer_watched(struct engine *e, uint32_t tid)
{
	(void)e;
	(void)tid;
	return false;
}

static bool ctimer_unwind_arrays(struct engine *e, struct unwind_arrays *ret)
{
	*ret = ctimer(e)->arrays;
	return true;
}

/* Programs never refer to an earlier stack. */
static void ctimer_forget_stacks(struct engine *e)
{
	(void)e;
}

static bool ctimer_hurry(struct engine *e)
{
	struct ctimer_engine *c = ctimer(e);

	for (size_t i = 0; i < e->n_sources; i++)
		if (source_shared_fill(e->sources[i]) > c->ring_size / 4)
			return true;
	return false;
}

static uint64_t counted(const __u64 *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void ctimer_losses(struct engine *e, struct engine_losses *ret)
{
	struct ctimer_engine *c = ctimer(e);

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < e->n_sources; i++) {
		for (int k = 0; k < RING_KINDS; k++)
			ret->by_kind[k] += counted(&ctimer_ring(c, i)->lost[k]);
		ret->no_stack += counted(&ctimer_ring(c, i)->no_stack);
		ret->unfinished += source_shared_damaged(e->sources[i]);
	}
	ret->blocked = counted(&c->shared->missed);
	ret->no_timer = counted(&c->shared->no_timer);
	ret->confined = counted(&c->shared->confined);
}

static uint64_t ctimer_open_loss(struct engine *e, size_t source)
{
	(void)e;
	(void)source;
	return 0;
}

const struct engine_ops engine_ctimer = {
	.name = "ctimer",
	.opens_first = true,
	.check = ctimer_check,
	.open = ctimer_open,
	.attach = ctimer_attach,
	.arm = ctimer_arm,
	.disarm = ctimer_disarm,
	.close = ctimer_close,
	.watch = ctimer_watch,
	.watched = ctimer_watched,
	.unwind_arrays = ctimer_unwind_arrays,
	.forget_stacks = ctimer_forget_stacks,
	.hurry = ctimer_hurry,
	.losses = ctimer_losses,
	.beat = ctimer_beat,
	.open_loss = ctimer_open_loss,
};
