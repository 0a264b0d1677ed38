// SPDX-License-Identifier: MIT
/* sleep: exactly so many sleeps. */
#include <pthread.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

struct sleeper {
	struct truth *truth;
	size_t sleeps;
	uint64_t length_ns;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	uint64_t total = 0, longest = 0;

	truth_begin(s->truth, "sleeper");
	for (size_t i = 0; i < s->sleeps; i++) {
		uint64_t ns = sleep_ns(s->length_ns);

		total += ns;
		longest = ns > longest ? ns : longest;
	}
	fact(&s->truth->facts, "sleeps", (double)s->sleeps);
	fact(&s->truth->facts, "asked_ns", (double)s->length_ns);
	fact(&s->truth->facts, "slept_ns", (double)total);
	fact(&s->truth->facts, "slept_max_ns", (double)longest);
	truth_end(s->truth);
	return NULL;
}

void case_sleep(const struct args *a)
{
	struct sleeper s = {truth_room(1), arg_count(a, "count"),
			    (uint64_t)(arg_num(a, "ms") * 1e6)};
	pthread_t thread;

	thread_start(&thread, sleeper_main, &s);
	pthread_join(thread, NULL);
}
