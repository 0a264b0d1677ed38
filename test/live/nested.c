// SPDX-License-Identifier: MIT
/*
 * A ring in the kernel, interrupted inside its reservation by a hardware breakpoint whose program
 * emits into the same ring, and drained by the real consumer: all that was made must arrive or be
 * counted, and no emit may ever wait. Prints how long the nested emits took.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "nested.skel.h"

#define RING_BYTES (1u << 20)
#define SECONDS 2

static uint64_t arrived[2];
static bool running = true;

/* Switches to be had: two threads that wake each other. */
static void *bounce(void *arg)
{
	int *fds = arg;
	char byte = 0;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED))
		if (read(fds[0], &byte, 1) != 1 || write(fds[1], &byte, 1) != 1)
			break;
	(void)!write(fds[1], &byte, 1);
	return NULL;
}

static void drain(struct source **sources, int n, record_vec *v)
{
	for (int i = 0; i < n; i++) {
		v->n = 0;
		source_pull(sources[i], v);
		for (size_t k = 0; k < v->n; k++) {
			const uint64_t *words = v->v[k].data;

			if (PR_KIND(words[0]) == PR_TEST)
				arrived[words[2] & 1]++;
		}
		source_release(sources[i], SOURCE_ALL);
	}
}

static int watch_prod(struct nested_bpf *s, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = s->bss->ring_addr[cpu] + offsetof(struct ring_head, prod),
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
	};
	int fd;

	if (!s->bss->ring_addr[cpu])
		return 0; /* nothing ever switched there */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return bpf_program__attach_perf_event(s->progs.nested, fd) ? 0 : -errno;
}

static int report(struct nested_bpf *s, const uint8_t *rings, int cpus, size_t value)
{
	uint64_t lost = 0, tries = s->bss->nested_tries, below = 0;
	int p99 = 0;

	for (int i = 0; i < cpus; i++)
		lost += ((const struct ring_head *)(rings + (size_t)i * value))->lost[PR_TEST];
	while (p99 < 63 && (below += s->bss->nested_hist[p99]) * 100 < tries * 99)
		p99++;
	printf("  made %llu + %llu nested, arrived %llu + %llu, lost %llu\n",
	       (unsigned long long)s->bss->outer_made, (unsigned long long)s->bss->nested_made,
	       (unsigned long long)arrived[0], (unsigned long long)arrived[1],
	       (unsigned long long)lost);
	printf("  nested emit: mean %llu ns, 99%% below %llu ns, worst %llu ns; of those that were "
	       "interrupted: worst %llu ns\n",
	       (unsigned long long)(tries ? s->bss->nested_ns_sum / tries : 0), 1ull << p99,
	       (unsigned long long)s->bss->nested_ns_max, (unsigned long long)s->bss->outer_ns_max);
	if (arrived[0] != s->bss->outer_made || arrived[1] != s->bss->nested_made) {
		printf("FAIL nested: records are missing\n");
		return 1;
	}
	/* Not every emit: the kernel throttles breakpoints that hit too often in a tick. */
	if (tries < 1000) {
		printf("FAIL nested: the breakpoint hardly ever interrupted an emit\n");
		return 1;
	}
	if (s->bss->outer_tries + tries != s->bss->outer_made + s->bss->nested_made + lost) {
		printf("FAIL nested: %llu tries, but %llu records and %llu losses\n",
		       (unsigned long long)(s->bss->outer_tries + tries),
		       (unsigned long long)(s->bss->outer_made + s->bss->nested_made),
		       (unsigned long long)lost);
		return 1;
	}
	printf("ok nested\n");
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int main(void)
{
	int cpus = libbpf_num_possible_cpus(), ab[2], ba[2], there[2], back[2], rc = 0;
	size_t value = RING_HEAD + RING_BYTES + RING_SLACK;
	struct nested_bpf *s = nested_bpf__open();
	struct source *sources[256];
	pthread_t threads[2];
	record_vec v = {0};
	uint8_t *rings;
	uint64_t until;

	libbpf_set_print(quiet);
	s->rodata->ring_size = RING_BYTES;
	bpf_map__set_max_entries(s->maps.rings, (__u32)cpus);
	bpf_map__set_value_size(s->maps.rings, (__u32)value);
	if (cpus > 256 || nested_bpf__load(s) || nested_bpf__attach(s)) {
		printf("FAIL nested: the programs did not load: %s\n", strerror(errno));
		return 1;
	}
	rings = mmap(NULL, (size_t)cpus * value, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(s->maps.rings), 0);
	for (int i = 0; i < cpus; i++)
		sources[i] = source_bpf_new(rings + (size_t)i * value, RING_BYTES, 0, (uint16_t)i);
	if (pipe(ab) || pipe(ba))
		return 1;
	there[0] = ab[0], there[1] = ba[1], back[0] = ba[0], back[1] = ab[1];
	pthread_create(&threads[0], NULL, bounce, there);
	pthread_create(&threads[1], NULL, bounce, back);
	(void)!write(ab[1], "x", 1);
	usleep(200000); /* every CPU has told the address of its ring */
	for (int i = 0; i < cpus && !rc; i++)
		rc = watch_prod(s, i);
	if (rc) {
		printf("skip nested: no hardware breakpoints here (%s)\n", strerror(-rc));
	} else {
		__atomic_store_n(&s->bss->armed, 1, __ATOMIC_SEQ_CST);
		for (until = clock_mono_ns() + SECONDS * NSEC_PER_SEC; clock_mono_ns() < until;) {
			drain(sources, cpus, &v);
			usleep(2000);
		}
		__atomic_store_n(&s->bss->armed, 0, __ATOMIC_SEQ_CST);
		usleep(20000);
		drain(sources, cpus, &v);
		rc = report(s, rings, cpus, value);
	}
	__atomic_store_n(&running, false, __ATOMIC_RELAXED);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	nested_bpf__destroy(s);
	for (int i = 0; i < cpus; i++)
		source_close(sources[i]);
	vec_done(&v);
	return rc > 0;
}
