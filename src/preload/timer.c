// SPDX-License-Identifier: MIT
/*
 * The timer of a thread's CPU time, and what its signal does.
 *
 * Which signal: a real-time one that nobody uses here. Not SIGPROF: programs and languages have
 * profilers of their own. Not one whose default is to be ignored, which would make a lost handler
 * harmless: PostgreSQL reads SIGURG from a descriptor, and Apache ends on SIGWINCH. signal.c makes
 * sure that the handler is not lost, and that no thread waits for the signal by accident.
 *
 * No system call ends early because of it: since Linux 5.10 the kernel looks at CPU timers on the
 * way back to the program (CONFIG_POSIX_CPU_TIMERS_TASK_WORK), and a thread that sleeps uses no CPU
 * time. A call is over by then, and has its result.
 *
 * The kernel looks at these timers at each tick: it cannot sample faster than that. Where threads
 * share a CPU, or one is in the kernel for long, several periods pass before a tick finds it and it
 * comes back: the overrun tells how many, and the sample counts for all of them.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <time.h>

#include "arch/host.h"
#include "preload/preload.h"
#include "wire/probe.h"

/* Without knowing where the stack ends: so much, if it can be read. */
#define BLIND_CHUNKS (COPY_CHUNKS / 4)
/*
 * The most periods that one sample counts for; with more, the signal was blocked: they are missed.
 */
#define LATE_MAX 64
_Static_assert(PR_COPY_LEN(COPY_CHUNKS) + (1 + LATE_MAX) * sizeof(struct pr_sample) <= RING_SLACK,
	       "a copy and all its samples are one reservation");

struct ticker {
	uintptr_t low, top;
	int timer;
	bool on;
	bool named;
	uint64_t drawn; /* numbers for the ids of stacks */
};
static __thread struct ticker ticker __attribute__((tls_model("initial-exec")));

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185ull;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44dull;
	return x ^ x >> 33;
}

/* Asks the kernel, which reads the set before it finds that the operation does not exist. */
static bool readable(uintptr_t addr)
{
	return syscall(SYS_rt_sigprocmask, ~0, addr & -8, NULL, 8) < 0 && errno != EFAULT;
}

/* How many pieces of the stack to copy, from the one in which sp lies. */
static uint32_t chunks_at(uintptr_t sp)
{
	uintptr_t from = sp & -(uintptr_t)COPY_CHUNK;
	uint32_t n;

	if (sp > ticker.low && sp < ticker.top) {
		uintptr_t have = (ticker.top - from + COPY_CHUNK - 1) / COPY_CHUNK;

		return have < COPY_CHUNKS ? (uint32_t)have : COPY_CHUNKS;
	}
	/* Another stack: a coroutine's, or one for signals. */
	for (n = 0; n < BLIND_CHUNKS; n++)
		if ((!n || !((from + n * COPY_CHUNK) % ARCH_PAGE)) &&
		    !readable(from + n * COPY_CHUNK))
			break;
	return n;
}

static void fill_copy(struct pr_copy *rec, const ucontext_t *context, uint32_t chunks, uint64_t id)
{
	uintptr_t sp = (uintptr_t)ARCH_CONTEXT_SP(context), below = sp % COPY_CHUNK & -(uintptr_t)8;

	rec->id = id;
	rec->pid = preload.pid;
	rec->execs = 0;
	rec->have = chunks ? ~0ull >> (64 - chunks) : 0;
	rec->pc = (uint64_t)ARCH_CONTEXT_PC(context);
	rec->sp = sp;
	rec->bp = (uint64_t)ARCH_CONTEXT_BP(context);
	rec->di = (uint64_t)ARCH_CONTEXT_DI(context);
	rec->need = 0;
	rec->bx = (uint64_t)ARCH_CONTEXT_BX(context);
	/* Copy nothing below sp: it is unused memory, and valgrind would complain. */
	if (chunks)
		arch_copy_words(rec->stack + below, (const void *)(sp & -(uintptr_t)8),
				(chunks * COPY_CHUNK - below) / 8);
}

static void timer_put_sample(const struct tick_emit *e, uint64_t id, uint64_t ts)
{
	struct pr_sample *sample = (struct pr_sample *)e->at;

	sample->h.ts = ts;
	sample->tid = thread_tid();
	sample->pid = preload.pid;
	sample->kstack = 0;
	sample->ustack = id;
	emit_commit(e, PR_SAMPLE, sizeof(*sample));
}

/* A copy and the samples that refer to it are reserved together, and seen together. */
static void timer_take(const ucontext_t *context, uint64_t ts, uint32_t samples)
{
	struct ring_head *r = emit_ring();
	uint64_t fill = RING_LOAD(&r->prod) - RING_LOAD(&r->cons), id = 0;
	uint32_t chunks = chunks_at((uintptr_t)ARCH_CONTEXT_SP(context)), len = 0;
	uint32_t all;
	struct tick_emit e;
	char *at;

	if (fill > preload.ring_size / 2 && chunks > COPY_SMALL)
		chunks = COPY_SMALL;
	if (fill <= preload.ring_size / 4 * 3)
		len = PR_COPY_LEN(chunks);
	else
		__atomic_fetch_add(&r->no_stack, 1, __ATOMIC_RELAXED);
	all = len + samples * (uint32_t)sizeof(struct pr_sample);
	at = emit_reserve(&e, r, PR_SAMPLE, all);
	if (!at)
		return;
	if (len) {
		id = mix(ts ^ (uint64_t)thread_tid() << 40 ^ ticker.drawn++) | 1;
		((struct pr_copy *)at)->h.ts = ts;
		fill_copy((struct pr_copy *)at, context, chunks, id);
	}
	for (uint32_t to = len; to < all; to += (uint32_t)sizeof(struct pr_sample))
		timer_put_sample(&(struct tick_emit){(__u64 *)(at + to), e.pos + to}, id, ts);
	if (len)
		emit_commit(&e, PR_COPY, len);
}

static void tick(const siginfo_t *info, const ucontext_t *context)
{
	uint64_t ts = now_ns();
	uint32_t late = 0;

	if (!ticker.on || !preload.shared || preload.stopped)
		return;
	if (!preload_on()) {
		if (preload_over())
			timer_end();
		else
			__atomic_fetch_add(&preload.shared->missed, 1, __ATOMIC_RELAXED);
		return;
	}
	if (info->si_overrun > 0 && info->si_overrun <= LATE_MAX)
		late = (uint32_t)info->si_overrun;
	else if (info->si_overrun > 0)
		__atomic_fetch_add(&preload.shared->missed, (uint64_t)info->si_overrun,
				   __ATOMIC_RELAXED);
	/* Threads get their names soon after they begin, and not at once. */
	if (!ticker.named)
		tell_task(PR_RENAME, thread_tid(), 0, 0);
	ticker.named = true;
	timer_take(context, ts, 1 + late);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	int before = errno;

	if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &preload)
		tick(info, context);
	else
		signal_theirs(sig, info, context);
	errno = before;
}

/*
 * Threads that live for less than a period must be seen as often as their CPU time deserves. A tick
 * finds a thread of length b < tick with the chance b / tick, and then all that has expired; so the
 * first period ends after a random number of whole ticks, which may be none.
 */
static uint64_t first_ns(void)
{
	uint64_t at = mix(now_ns() ^ (uint64_t)thread_tid() << 32) % preload.period_ns;

	return at / preload.tick_ns * preload.tick_ns + 1;
}

static void timer_start(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = preload.sig,
			      .sigev_value.sival_ptr = &preload};
	uint64_t first = first_ns();
	struct itimerspec when = {
		.it_interval = {(time_t)(preload.period_ns / 1000000000u),
				(long)(preload.period_ns % 1000000000u)},
		.it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)},
	};
	int before = errno;

	ev._sigev_un._tid = (int)thread_tid();
	ticker.on = false;
	ticker.named = false;
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &ev, &ticker.timer)) {
		__atomic_fetch_add(&preload.shared->no_timer, 1, __ATOMIC_RELAXED);
	} else {
		ticker.on = true;
		syscall(SYS_timer_settime, ticker.timer, 0, &when, NULL);
	}
	errno = before;
}

void timer_begin(uintptr_t low, uintptr_t top)
{
	ticker.low = low;
	ticker.top = top;
	timer_start();
}

void timer_forked(void)
{
	timer_start();
}

void timer_end(void)
{
	int before = errno;

	if (ticker.on)
		syscall(SYS_timer_delete, ticker.timer);
	ticker.on = false;
	errno = before;
}

/* One that is as it was when the program began: neither in use, nor ignored, nor blocked. */
int timer_signal(void)
{
	struct sigaction act = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigset_t blocked;

	sigfillset(&act.sa_mask);
	next()->sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int sig = SIGRTMIN + 13; sig < SIGRTMAX - 3; sig++) {
		struct sigaction old;

		if (sigismember(&blocked, sig) || next()->sigaction(sig, NULL, &old) ||
		    old.sa_handler != SIG_DFL)
			continue;
		return next()->sigaction(sig, &act, NULL) ? 0 : sig;
	}
	return 0;
}
