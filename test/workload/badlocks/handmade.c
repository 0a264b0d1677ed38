// SPDX-License-Identifier: MIT
/*
 * Locks that are not libc's: one word, as in Go's and Rust's libraries, that looks in the kernel
 * exactly like the word of a mutex. After it, where a mutex has its owner, come random bytes and
 * the number of a thread that has nothing to do with it ("innocent"). Nobody can know who holds
 * such a lock; a profiler that names the innocent one has guessed.
 *
 * mimic: what stands there is exactly what a mutex of glibc's would have.
 *
 * handmade: FUTEX_WAIT; bitset: FUTEX_WAIT_BITSET; waitv: futex_waitv; futex2: futex_wait; edge: at
 * the very end of the memory, so that what follows it cannot be read.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "badlocks/badlocks.h"
#include "lib/party.h"

#define FUTEX2_U32_PRIVATE (2 | 128)
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455
#define WORDS_AFTER 11
#define PAGE 4096

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static struct {
	struct {
		_Atomic uint32_t word;
		uint32_t after[WORDS_AFTER];
	} block;
	_Atomic uint32_t *word;
	struct lock *truth;
	long (*sleep)(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns);
	_Atomic pid_t innocent;
	bool mimic;
	atomic_bool over;
} hand;

long futex_sleep(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns)
{
	struct timespec t = {.tv_sec = (time_t)(timeout_ns / NSEC_PER_SEC),
			     .tv_nsec = (long)(timeout_ns % NSEC_PER_SEC)};

	return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, val, timeout_ns ? &t : NULL, NULL, 0);
}

long futex_wake(_Atomic uint32_t *word)
{
	return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static long bitset_sleep(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns)
{
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, val, NULL, NULL, ~0u);
}

static long waitv_sleep(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns)
{
	_Atomic uint32_t other = 7;
	struct waitv v[] = {{val, (uintptr_t)word, FUTEX2_U32_PRIVATE, 0},
			    {7, (uintptr_t)&other, FUTEX2_U32_PRIVATE, 0}};

	return syscall(NR_FUTEX_WAITV, v, 2, 0, NULL, 0);
}

static long futex2_sleep(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns)
{
	return syscall(NR_FUTEX_WAIT, word, (uint64_t)val, ~0u, FUTEX2_U32_PRIVATE, NULL, 0);
}

/* 0: free; 1: taken; 2: taken, and perhaps somebody sleeps. */
static void hand_lock(void)
{
	uint32_t was = 0;

	if (atomic_compare_exchange_strong(hand.word, &was, 1))
		return;
	while (atomic_exchange(hand.word, 2) != 0) {
		if (hand.sleep(hand.word, 2, 0) < 0 && errno != EAGAIN && errno != EINTR)
			die("waiting on a futex: %s", strerror(errno));
	}
}

static void hand_unlock(void)
{
	if (atomic_exchange(hand.word, 0) == 2)
		futex_wake(hand.word);
}

KEEP static void wait_handmade(struct actor *a)
{
	wait_begin(a, hand.truth);
	hand_lock();
	wait_end(a);
	hold_begin(a, hand.truth, false);
}

KEEP static void hold_handmade(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void let_handmade(struct actor *a)
{
	hold_end(a, hand.truth);
	hand_unlock();
	sink++;
}

/* Waits for nothing but time, and never touches the lock. */
static void *innocent_main(void *arg)
{
	atomic_store(&hand.innocent, gettid());
	pthread_setname_np(pthread_self(), "innocent");
	while (!atomic_load(&hand.over))
		sleep_ns(3 * NSEC_PER_MSEC);
	return NULL;
}

/* The innocent one's number wherever a mutex or a rwlock could have its owner. */
static void garbage_fill(void)
{
	uint64_t seed = 77;

	for (size_t i = 0; i < WORDS_AFTER; i++)
		hand.block.after[i] = (uint32_t)random_below(&seed, 1u << 30);
	hand.block.after[1] = (uint32_t)hand.innocent;
	hand.block.after[3] = (uint32_t)hand.innocent;
	hand.block.after[5] = (uint32_t)hand.innocent;
	if (hand.mimic) {
		hand.block.after[0] = 0; /* count */
		hand.block.after[2] = 1; /* users */
		hand.block.after[3] = 0; /* kind */
	}
}

static void handmade_run(const struct args *a, const char *name, size_t size)
{
	const struct turn turn = {wait_handmade, hold_handmade, let_handmade};
	pthread_t thread;

	thread_start(&thread, innocent_main, NULL);
	while (!atomic_load(&hand.innocent))
		sleep_ns(100 * NSEC_PER_USEC);
	garbage_fill();
	fact(&run.facts, "innocent", (double)hand.innocent);
	hand.truth = lock_add(name, "futex", hand.word, size);
	contest_run(a, &turn, 1);
	atomic_store(&hand.over, true);
	pthread_join(thread, NULL);
}

/* A kernel that does not know the call says so at once. */
static void sleep_check(void)
{
	_Atomic uint32_t word = 1;

	if (hand.sleep(&word, 2, 0) < 0 && errno == ENOSYS)
		die("this kernel has no such call");
}

static void hand_run(const struct args *a,
		     long (*how)(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns))
{
	hand.sleep = how;
	hand.word = &hand.block.word;
	sleep_check();
	handmade_run(a, "hand.block.word", sizeof(hand.block));
}

void case_handmade(const struct args *a)
{
	hand_run(a, futex_sleep);
}

void case_mimic(const struct args *a)
{
	hand.mimic = true;
	hand_run(a, futex_sleep);
}

void case_bitset(const struct args *a)
{
	hand_run(a, bitset_sleep);
}

void case_waitv(const struct args *a)
{
	hand_run(a, waitv_sleep);
}

void case_futex2(const struct args *a)
{
	hand_run(a, futex2_sleep);
}

void case_edge(const struct args *a)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p + PAGE, PAGE))
		die("mmap: %s", strerror(errno));
	hand.sleep = futex_sleep;
	hand.word = (_Atomic uint32_t *)(p + PAGE - sizeof(*hand.word));
	handmade_run(a, "", sizeof(*hand.word));
	munmap(p, PAGE);
}
