// SPDX-License-Identifier: MIT
/*
 * symbols FILE: names for addresses through symbol/, as thaw itself asks for them: sorted, each
 * once, answered by a child. Standard input: file offsets, a hexadecimal number a line. Prints what
 * took how long; with -p, for each offset, ascending, its frames in the form of addr2line -fi, and
 * an empty line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "symbol/symbol.h"

struct run {
	size_t next, named, frames;
	bool print;
};

static void gap(struct run *r, size_t until)
{
	for (; r->print && r->next < until; r->next++)
		printf("??\n??:0\n\n");
	r->next = until;
}

static void one(void *ctx, size_t first, size_t count, const struct symbols_frame *f, size_t n)
{
	struct run *r = ctx;

	gap(r, first);
	for (size_t i = 0; r->print && i < count; i++) {
		for (size_t k = 0; k < n; k++)
			printf("%s\n%s:%u\n", f[k].name, f[k].file ? f[k].file : "??", f[k].line);
		printf("\n");
	}
	r->next = first + count;
	r->named += count;
	r->frames += count * n;
}

/* CPU time of this process and of the children that it has waited for. */
static uint64_t cpu_ns(void)
{
	uint64_t sum = 0;
	struct rusage u;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		getrusage(who, &u);
		sum += (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
		       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NSEC_PER_USEC;
	}
	return sum;
}

int main(int argc, char **argv)
{
	bool print = argc == 3 && !strcmp(argv[1], "-p");
	VEC(uint64_t) offsets = {0};
	struct run r = {.print = print};
	struct symbols_query q = {.path = argv[argc - 1]};
	uint64_t offset, begin, cpu;
	size_t asked, n;
	int rc;

	if (argc != 2 + print)
		return 2;
	while (scanf("%" SCNx64, &offset) == 1)
		vec_push(&offsets, offset);
	asked = offsets.n;
	begin = clock_mono_ns();
	cpu = cpu_ns();
	n = symbols_order_offsets(offsets.v, offsets.n);
	q.offsets = offsets.v;
	q.n = n;
	rc = symbols_resolve(&q, one, &r);
	begin = clock_mono_ns() - begin;
	cpu = cpu_ns() - cpu;
	if (rc)
		fprintf(stderr, "symbols: %d: %s\n", rc, err_msg());
	gap(&r, q.n);
	if (!print)
		printf("{\"asked\": %zu, \"offsets\": %zu, \"named\": %zu, \"frames\": %zu, "
		       "\"wall_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}\n",
		       asked, n, r.named, r.frames, begin, cpu);
	vec_done(&offsets);
	return rc < 0;
}
