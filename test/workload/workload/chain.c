// SPDX-License-Identifier: MIT
/* chain: a call chain whose every frame must be found. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

KEEP static int chain_1(leaf_fn *leaf, void *arg)
{
	int rc = leaf(arg);

	sink++;
	return rc;
}

/* The store after the call is what keeps the compiler from turning it into a jump. */
#define CHAIN(storage, n, below)                                                                   \
	KEEP storage int chain_##n(leaf_fn *leaf, void *arg)                                       \
	{                                                                                          \
		int rc = chain_##below(leaf, arg);                                                 \
                                                                                                   \
		sink++;                                                                            \
		return rc;                                                                         \
	}
CHAIN(static, 2, 1)
CHAIN(static, 3, 2)
CHAIN(static, 4, 3)
CHAIN(static, 5, 4)
CHAIN(static, 6, 5)
CHAIN(static, 7, 6)
CHAIN(, 8, 7)
CHAIN(static, 9, 8)
CHAIN(static, 10, 9)
CHAIN(static, 11, 10)
CHAIN(static, 12, 11)

struct chain {
	struct truth *truth;
	leaf_fn *leaf;
	uint64_t length_ns;
};

KEEP static int chain_spin(void *arg)
{
	struct chain *c = arg;

	fact(&c->truth->facts, "burns", (double)spin_until(now_ns() + c->length_ns));
	return 0;
}

KEEP static int chain_sleep(void *arg)
{
	struct chain *c = arg;
	uint64_t step = 10 * NSEC_PER_MSEC, sleeps = c->length_ns / step, slept = 0;

	for (uint64_t i = 0; i < sleeps; i++)
		slept += sleep_ns(step);
	fact(&c->truth->facts, "sleeps", (double)sleeps);
	fact(&c->truth->facts, "slept_ns", (double)slept);
	return 0;
}

static void *chain_main(void *arg)
{
	struct chain *c = arg;

	truth_begin(c->truth, "chain");
	chain_12(c->leaf, c);
	truth_end(c->truth);
	return NULL;
}

void case_chain(const struct args *a)
{
	const char *how = arg_str(a, "how");
	size_t n = arg_count(a, "threads");
	struct truth *truths = truth_room(n);
	struct chain *c = calloc(n + 1, sizeof(*c));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	leaf_fn *leaf = strcmp(how, "spin") ? chain_sleep : chain_spin;

	if (leaf == chain_sleep && strcmp(how, "sleep"))
		die("how: spin or sleep, not '%s'", how);
	if (!n || !c || !threads)
		die("cannot run %zu chains", n);
	for (size_t i = 0; i < n; i++) {
		c[i] = (struct chain){&truths[i], leaf, arg_seconds(a)};
		thread_start(&threads[i], chain_main, &c[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "depth", 12);
	free(threads);
	free(c);
}
