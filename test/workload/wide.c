// SPDX-License-Identifier: MIT
/*
 * wide DEPTH SECONDS OBJECT...: many libraries in use at once. Loads them all, and computes at the
 * end of call chains through DEPTH of them in turn: step, then the hops of an object, which calls
 * step again. All are used again and again, each chain begins with another one. Prints how many
 * chains there were.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void next_fn(void *arg);
typedef void hop_fn(next_fn *next, void *arg);

static hop_fn **hops;
static unsigned n_hops, depth_max, first, depth;
static volatile unsigned long total;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void spin(void)
{
	for (unsigned i = 0; i < 100000; i++)
		total += i;
}

__attribute__((noinline)) static void step(void *arg)
{
	if (depth == depth_max)
		spin();
	else
		hops[(first + depth++) % n_hops](step, arg);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

int main(int argc, char **argv)
{
	double end;
	unsigned long chains = 0;

	if (argc < 4)
		return 2;
	depth_max = (unsigned)atoi(argv[1]);
	n_hops = (unsigned)argc - 3;
	hops = calloc(n_hops, sizeof(*hops));
	for (unsigned i = 0; i < n_hops; i++) {
		void *h = dlopen(argv[3 + i], RTLD_NOW | RTLD_LOCAL);

		hops[i] = h ? (hop_fn *)dlsym(h, "hop_0") : NULL;
		if (!hops[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	for (end = now() + atof(argv[2]); now() < end; chains++) {
		first = (first + depth_max) % n_hops;
		depth = 0;
		step(NULL);
	}
	printf("{\"chains\": %lu}\n", chains);
	return 0;
}
