// SPDX-License-Identifier: MIT
/* Every way to sleep on a futex. What lies at its address and behind it is known. */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/party.h"
#include "sleeps/sleeps.h"

#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#endif
#define FUTEX2_32 2u
#define FUTEX2_PRIVATE_BIT 128u

#define TAKEN 0x7a6b5c4du /* the word's value while it is slept on */

static long futex(uint32_t *at, int op, uint32_t val, const void *timeout, uint32_t *at2,
		  uint32_t val3)
{
	return syscall(SYS_futex, at, op, val, timeout, at2, val3);
}

static void fill(struct sleeper *s, uint32_t *at, uint32_t words)
{
	s->addr = at;
	s->words = words;
	for (uint32_t i = 0; i < words; i++)
		at[i] = s->word[i] = i ? TAKEN + 1000 * i : TAKEN;
}

/* Data of the program: a place each. */
static uint32_t words[16][16];
static size_t used;

static void open_word(struct sleeper *s)
{
	fill(s, words[used++ % 16], 5);
}

/* The last word before memory that cannot be read. */
static void open_edge(struct sleeper *s)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		die("two pages: %m");
	fill(s, (uint32_t *)(pages + 4092), 1);
}

static void wait_plain(struct sleeper *s)
{
	futex((void *)s->addr, FUTEX_WAIT_PRIVATE, TAKEN, NULL, NULL, 0);
}

static void wake_plain(struct sleeper *s)
{
	futex((void *)s->addr, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_bitset(struct sleeper *s)
{
	futex((void *)s->addr, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, TAKEN, NULL, NULL,
	      FUTEX_BITSET_MATCH_ANY);
}

/* By the second address of the call: an operation on another word, and a waking here. */
static void wake_second(struct sleeper *s)
{
	static uint32_t other;

	futex(&other, FUTEX_WAKE_OP_PRIVATE, 0, (void *)1ul, (void *)s->addr,
	      FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_NE, 0));
}

static void wait_timeout(struct sleeper *s)
{
	struct timespec t = {0, 3000000};

	futex((void *)s->addr, FUTEX_WAIT_PRIVATE, TAKEN, &t, NULL, 0);
}

/* ---- PI: the word has its owner, main; another one each time ---- */

#define PI_MAX 64

static void open_pi(struct sleeper *s)
{
	static uint32_t all[PI_MAX][16];

	for (size_t i = 0; i < PI_MAX; i++) {
		fill(s, all[i], 5);
		all[i][0] = (uint32_t)gettid();
	}
	s->addr = all;
	s->step = sizeof(all[0]);
	s->word[0] = (uint32_t)gettid() | FUTEX_WAITERS;
}

static uint32_t *pi_now(const struct sleeper *s)
{
	return (uint32_t *)((char *)s->addr + s->slept % PI_MAX * s->step);
}

static void lock_pi(struct sleeper *s)
{
	if (futex(pi_now(s), FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0))
		die("FUTEX_LOCK_PI: %m");
}

static void unlock_pi(struct sleeper *s)
{
	if (futex(pi_now(s), FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0))
		die("FUTEX_UNLOCK_PI: %m");
}

/* ---- the newer calls ---- */

static void wait_newer(struct sleeper *s)
{
	syscall(SYS_futex_wait, s->addr, (unsigned long)TAKEN, 0xfffffffful,
		FUTEX2_32 | FUTEX2_PRIVATE_BIT, NULL, CLOCK_MONOTONIC);
}

static void wake_newer(struct sleeper *s)
{
	syscall(SYS_futex_wake, s->addr, 0xfffffffful, 1, FUTEX2_32 | FUTEX2_PRIVATE_BIT);
}

static void wait_vector(struct sleeper *s)
{
	static uint32_t other;
	struct futex_waitv v[2] = {
		{.val = TAKEN,
		 .uaddr = (uintptr_t)s->addr,
		 .flags = FUTEX2_32 | FUTEX2_PRIVATE_BIT},
		{.uaddr = (uintptr_t)&other, .flags = FUTEX2_32 | FUTEX2_PRIVATE_BIT}};

	syscall(SYS_futex_waitv, v, 2, 0, NULL, CLOCK_MONOTONIC);
}

/* ---- between processes: the waker has the word at another address ---- */

static void open_shared(struct sleeper *s)
{
	int fds[2];
	char *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED || pipe(fds))
		die("shared memory: %m");
	s->shared = true;
	fill(s, (uint32_t *)mem + 64, 5);
	s->other = fds[1];
	if (!fork_child()) {
		char *moved = mremap(
			mem, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED,
			mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 16384);
		char byte;

		if (moved == MAP_FAILED)
			die("moving memory: %m");
		close(fds[1]);
		while (read(fds[0], &byte, 1) == 1)
			futex((uint32_t *)moved + 64, FUTEX_WAKE, 1, NULL, NULL, 0);
		_exit(0);
	}
	close(fds[0]);
}

static void wait_shared(struct sleeper *s)
{
	futex((void *)s->addr, FUTEX_WAIT, TAKEN, NULL, NULL, 0);
}

static void ask_to_wake(struct sleeper *s)
{
	if (write(s->other, "", 1) != 1)
		die("asking another process: %m");
}

void case_futex(const struct args *a)
{
	static struct sleeper all[16] = {
		{"wait", open_word, wait_plain, wake_plain, .nr = SYS_futex,
		 .op = FUTEX_WAIT_PRIVATE},
		{"bitset", open_word, wait_bitset, wake_plain, .nr = SYS_futex,
		 .op = FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME},
		{"wake-op", open_word, wait_plain, wake_second, .nr = SYS_futex,
		 .op = FUTEX_WAIT_PRIVATE},
		{"timeout", open_word, wait_timeout, NULL, .nr = SYS_futex,
		 .op = FUTEX_WAIT_PRIVATE},
		{"edge", open_edge, wait_plain, wake_plain, .nr = SYS_futex,
		 .op = FUTEX_WAIT_PRIVATE},
		{"shared", open_shared, wait_shared, ask_to_wake, .nr = SYS_futex,
		 .op = FUTEX_WAIT},
		{"pi", open_pi, lock_pi, unlock_pi, .nr = SYS_futex, .op = FUTEX_LOCK_PI_PRIVATE},
		{"waitv", open_word, wait_vector, wake_plain, .nr = SYS_futex_waitv,
		 .op = 0x2000 | 128},
	};
	size_t n = 8;

	/* Of 6.7; where it is missing, it is not part of the truth either. */
	if (syscall(SYS_futex_wake, words[15], 0xfffffffful, 1, FUTEX2_32) >= 0)
		all[n++] = (struct sleeper){"wait-newer",	  open_word, wait_newer, wake_newer,
					    .nr = SYS_futex_wait, .op = 128};
	sleepers_run(all, n, arg_count(a, "count"));
}
