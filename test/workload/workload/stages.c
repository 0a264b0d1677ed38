// SPDX-License-Identifier: MIT
/*
 * stages: rounds of counted work in stage_a, stage_b and stage_c, of which stage_b has
 * $STAGE_B_SLOW percent more to do: not by an argument, so that the command is the same. How long
 * each took is measured by the thread's own clock: counted work takes as long as the machine makes
 * it.
 */
#include <pthread.h>
#include <stdlib.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

#define STEPS 700000ull /* some 2 ms */

struct stager {
	struct truth *truth;
	size_t rounds;
	uint64_t slow;
};

/* The work is in the stage itself: nothing that it calls is in its samples. */
#define STAGE(n)                                                                                   \
	static KEEP uint64_t stage_##n(uint64_t steps)                                             \
	{                                                                                          \
		uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID), x = from | 1;                   \
                                                                                                   \
		for (uint64_t i = 0; i < steps; i++)                                               \
			x = x * 6364136223846793005ull + 1442695040888963407ull;                   \
		sink += x;                                                                         \
		return clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;                                   \
	}
STAGE(a)
STAGE(b)
STAGE(c)

static void *stager_main(void *arg)
{
	struct stager *s = arg;
	uint64_t a = 0, b = 0, c = 0;

	truth_begin(s->truth, "stager");
	for (size_t i = 0; i < s->rounds; i++) {
		a += stage_a(STEPS);
		b += stage_b(STEPS * (100 + s->slow) / 100);
		c += stage_c(STEPS);
	}
	fact(&s->truth->facts, "stage_a", (double)a);
	fact(&s->truth->facts, "stage_b", (double)b);
	fact(&s->truth->facts, "stage_c", (double)c);
	truth_end(s->truth);
	return NULL;
}

void case_stages(const struct args *a)
{
	const char *slow = getenv("STAGE_B_SLOW");
	struct stager s = {truth_room(1), arg_count(a, "rounds"),
			   slow ? strtoull(slow, NULL, 10) : 0};
	pthread_t thread;

	thread_start(&thread, stager_main, &s);
	pthread_join(thread, NULL);
}
