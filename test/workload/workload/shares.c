// SPDX-License-Identifier: MIT
/* shares: CPU time in four functions, in turns of random length, each with a weight of its own. */
#include <pthread.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

#define TURN_NS (2 * NSEC_PER_MSEC)

struct sharer {
	struct truth *truth;
	uint64_t length_ns;
};

/* By the thread's own CPU time: what the others do meanwhile does not count. */
static uint64_t spend(uint64_t ns)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID), now;

	do {
		burn();
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (now - from < ns);
	return now - from;
}

#define SHARE(n)                                                                                   \
	static KEEP uint64_t share_##n(uint64_t *seed)                                             \
	{                                                                                          \
		uint64_t spent = spend((n)*TURN_NS / 2 + random_below(seed, (n)*TURN_NS));         \
                                                                                                   \
		sink += spent;                                                                     \
		return spent;                                                                      \
	}
SHARE(1)
SHARE(2)
SHARE(3)
SHARE(4)

static uint64_t (*const functions[])(uint64_t *) = {share_1, share_2, share_3, share_4};
static const char *const keys[] = {"share_1", "share_2", "share_3", "share_4"};

static void *sharer_main(void *arg)
{
	struct sharer *s = arg;
	uint64_t seed = now_ns(), spent[ARRAY_LEN(functions)] = {0};
	uint64_t until = now_ns() + s->length_ns;

	truth_begin(s->truth, "sharer");
	while (now_ns() < until) {
		size_t i = random_below(&seed, ARRAY_LEN(functions));

		spent[i] += functions[i](&seed);
	}
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		fact(&s->truth->facts, keys[i], (double)spent[i]);
	truth_end(s->truth);
	return NULL;
}

void case_shares(const struct args *a)
{
	struct sharer s = {truth_room(1), arg_seconds(a)};
	pthread_t thread;

	thread_start(&thread, sharer_main, &s);
	pthread_join(thread, NULL);
}
