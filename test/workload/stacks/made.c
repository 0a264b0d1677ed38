// SPDX-License-Identifier: MIT
/*
 * Code that is made at run time, without unwind information and without frame pointers: functions
 * that push some registers, make room on the stack (from nothing to 6 KiB), put something into rbp
 * (a number, or an address of the heap or of code), and spin; half of them call back into compiled
 * code in between. They are called by made_by_rsp, which has no frame pointer, and made_by_rbp,
 * which needs one; each has code of its own, so that a sample's address tells whose it is. Before
 * each call the stack below is littered with the return addresses of direct calls that are over.
 *
 * The case `traps` is worse than what programs do: indirect calls that are over, the two callers in
 * turns, and addresses of the stack in rbp, with such a return address beside them.
 */
#include <alloca.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "lib/base.h"
#include "stacks/stacks.h"

#define CODE_BYTES 65536
#define SPIN 20000 /* rounds: some ten microseconds */

static const uint32_t rooms[] = {0, 16, 72, 200, 520, 1000, 2600, 6000};
#define KINDS (ARRAY_LEN(rooms) * 7 * 2)

typedef uint64_t made_fn(uint64_t arg);

struct code {
	uint8_t *at;
	size_t len, keep;
	made_fn *made[KINDS];
	size_t n;
};

static void put(struct code *c, const void *bytes, size_t n)
{
	memcpy(c->at + c->len, bytes, n);
	c->len += n;
}
#define PUT(c, ...) put((c), (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static void put_spin(struct code *c)
{
	uint32_t rounds = SPIN;

	PUT(c, 0xb9);
	put(c, &rounds, 4);
	PUT(c, 0xff, 0xc9, 0x75, 0xfc); /* dec ecx; jnz */
}

static void put_push(struct code *c, unsigned i, bool pop)
{
	static const uint8_t regs[] = {0x53, 0x55, 0x54, 0x55, 0x56, 0x57}; /* rbx rbp r12-r15 */
	uint8_t op = (uint8_t)(regs[i] + (pop ? 8 : 0));

	if (i >= 2)
		PUT(c, 0x41);
	put(c, &op, 1);
}

KEEP static uint64_t made_callback(void)
{
	for (int i = 0; i < 2000; i++)
		sink += (uint64_t)i;
	return sink;
}

/* With fewer than two registers pushed, rbp stays the caller's. */
static void make(struct code *c, unsigned pushes, uint32_t room, uint64_t rbp, bool calls)
{
	uint64_t (*callback)(void) = made_callback;

	room += (8 + 8 * pushes + room) % 16;
	c->made[c->n++] = (made_fn *)(void *)(c->at + c->len);
	for (unsigned i = 0; i < pushes; i++)
		put_push(c, i, false);
	PUT(c, 0x48, 0x81, 0xec); /* sub rsp */
	put(c, &room, 4);
	if (pushes >= 2) {
		PUT(c, 0x48, 0xbd); /* mov rbp */
		put(c, &rbp, 8);
	}
	put_spin(c);
	if (calls) {
		PUT(c, 0x48, 0xb8);
		put(c, &callback, 8);
		PUT(c, 0xff, 0xd0); /* call rax */
	}
	put_spin(c);
	PUT(c, 0x48, 0x81, 0xc4);
	put(c, &room, 4);
	for (unsigned i = pushes; i-- > 0;)
		put_push(c, i, true);
	PUT(c, 0xc3);
}

static void make_all(struct code *c, bool traps)
{
	void *heap = malloc(4096);
	uint64_t values[] = {12345, (uint64_t)heap & ~15ull, (uint64_t)&make & ~15ull,
			     (uint64_t)&values & ~15ull};
	unsigned k = 0;

	memset(heap, 0, 4096);
	c->at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (unsigned pushes = 0; pushes <= 6; pushes++) {
		if (pushes == 2)
			c->keep = c->len;
		for (unsigned i = 0; i < ARRAY_LEN(rooms); i++)
			for (unsigned calls = 0; calls < 2; calls++)
				make(c, pushes, rooms[i], values[k++ % (traps ? 4 : 3)], calls);
	}
	if (mprotect(c->at, CODE_BYTES, PROT_READ | PROT_EXEC))
		die("mprotect: %s", strerror(errno));
}

/* ---- litter ---- */

KEEP static uint64_t litter_direct(int depth)
{
	volatile uint8_t room[40];

	room[depth % 40] = 1;
	return depth ? litter_direct(depth - 1) + room[depth % 40] : 0;
}

static uint64_t (*volatile through)(int depth);

KEEP static uint64_t litter_indirect(int depth)
{
	volatile uint8_t room[72];

	room[depth % 72] = 1;
	return depth ? through(depth - 1) + room[depth % 72] : 0;
}

/* ---- who calls ---- */

static volatile size_t some_bytes = 64; /* not known to the compiler: its frame needs a pointer */

KEEP static uint64_t made_by_rsp(made_fn *f, uint64_t (*litter)(int))
{
	uint64_t got = litter(60);

	return got + f(got) + 1;
}

KEEP static uint64_t made_by_rbp(made_fn *f, uint64_t (*litter)(int))
{
	volatile uint64_t *some = alloca(some_bytes);

	*some = litter(60);
	return f(*some) + *some;
}

KEEP static uint64_t leaf_of(struct job *j, bool traps)
{
	struct code rsp = {0}, rbp = {0};
	uint64_t got = 0;

	through = litter_indirect;
	make_all(&rsp, traps);
	make_all(&rbp, traps);
	j->made[0] = (uint64_t)rsp.at;
	j->made[1] = (uint64_t)rbp.at;
	j->made_keep = rbp.keep;
	while (go_on(j))
		for (size_t i = 0; i < rsp.n; i++) {
			uint64_t (*litter)(int) = traps && i & 2 ? litter_indirect : litter_direct;

			/* Taking turns leaves each other's indirect calls on the stack. */
			if (traps || j->rounds / 8 % 2)
				got += made_by_rsp(rsp.made[i], litter);
			if (traps || j->rounds / 8 % 2 == 0)
				got += made_by_rbp(rbp.made[i], litter);
		}
	return got;
}

KEEP uint64_t leaf_made(struct job *j)
{
	return leaf_of(j, false) + 1;
}

KEEP uint64_t leaf_traps(struct job *j)
{
	return leaf_of(j, true) + 1;
}
