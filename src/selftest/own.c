// SPDX-License-Identifier: MIT
/* thaw's own ring, through the probes' emit path, drained by the real consumer. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "ring/source.h"
#include "selftest/selftest.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "nested.skel.h"

#define RING_BYTES (1u << 20)
#define SETTLE_US 200000 /* by then, every CPU that switches has told the address of its ring */

struct own {
	struct nested_bpf *skel;
	struct bounce *bounce;
	VEC(struct bpf_link *) links;
	VEC(struct source *) sources;
	record_vec records;
	uint8_t *rings;
	size_t value, len;
	int cpus;
	struct selftest_own *res;
};

static struct ring_head *own_ring(struct own *o, int cpu)
{
	return (struct ring_head *)(o->rings + (size_t)cpu * o->value);
}

static void drain(struct own *o)
{
	for (size_t i = 0; i < o->sources.n; i++) {
		o->records.n = 0;
		source_pull(o->sources.v[i], &o->records);
		for (size_t k = 0; k < o->records.n; k++) {
			const uint64_t *words = o->records.v[k].data;

			if (PR_KIND(words[0]) == PR_TEST)
				o->res->arrived[words[2] & 1]++;
		}
		source_release(o->sources.v[i], SOURCE_ALL);
	}
}

static int own_load(struct own *o)
{
	o->skel = nested_bpf__open();
	if (!o->skel)
		return err_set(-errno, "opening the programs: %s", strerror(errno));
	o->value = RING_HEAD + RING_BYTES + RING_SLACK;
	o->len = (size_t)o->cpus * o->value;
	o->skel->rodata->ring_size = RING_BYTES;
	bpf_map__set_max_entries(o->skel->maps.rings, (__u32)o->cpus);
	bpf_map__set_value_size(o->skel->maps.rings, (__u32)o->value);
	if ((size_t)o->cpus > sizeof(o->skel->bss->ring_addr) / sizeof(o->skel->bss->ring_addr[0]))
		return err_set(-EOPNOTSUPP, "there are too many CPUs");
	if (nested_bpf__load(o->skel) || nested_bpf__attach(o->skel))
		return err_set(-errno, "the programs did not load: %s", strerror(errno));
	o->rings = mmap(NULL, o->len, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(o->skel->maps.rings), 0);
	if (o->rings == MAP_FAILED) {
		o->rings = NULL;
		return err_set(-errno, "mapping the rings: %s", strerror(errno));
	}
	for (int i = 0; i < o->cpus; i++)
		vec_push(&o->sources, source_bpf_new(own_ring(o, i), RING_BYTES, 0, (uint16_t)i));
	return 0;
}

static int watch(struct own *o)
{
	for (int i = 0; i < o->cpus; i++) {
		uint64_t at = o->skel->bss->ring_addr[i];
		struct bpf_link *link;
		int fd;

		if (!at)
			continue; /* nothing ever switched there */
		fd = selftest_breakpoint(at + offsetof(struct ring_head, prod), i);
		if (fd < 0)
			return fd;
		link = bpf_program__attach_perf_event(o->skel->progs.nested, fd);
		if (!link) {
			close(fd);
			return err_set(-errno, "attaching to the breakpoint: %s", strerror(errno));
		}
		vec_push(&o->links, link);
	}
	return 0;
}

static void own_count(struct own *o)
{
	struct selftest_own *r = o->res;
	uint64_t below = 0, tries = o->skel->bss->nested_tries;
	int p99 = 0;

	while (p99 < 63 && (below += o->skel->bss->nested_hist[p99]) * 100 < tries * 99)
		p99++;
	r->outer_tries = o->skel->bss->outer_tries;
	r->outer_worst_ns = o->skel->bss->outer_ns_max;
	r->made[0] = o->skel->bss->outer_made;
	r->made[1] = o->skel->bss->nested_made;
	r->nested = (struct selftest_times){
		.tries = tries,
		.failed = tries - r->made[1],
		.mean_ns = tries ? o->skel->bss->nested_ns_sum / tries : 0,
		.p99_ns = 1ull << p99 < o->skel->bss->nested_ns_max ? 1ull << p99
								    : o->skel->bss->nested_ns_max,
		.worst_ns = o->skel->bss->nested_ns_max,
	};
	for (int i = 0; i < o->cpus; i++)
		r->lost += own_ring(o, i)->lost[PR_TEST];
}

static int own_run(struct own *o, unsigned ms)
{
	uint64_t until;
	int rc = own_load(o);

	rc = rc ? rc : bounce_start(-1, &o->bounce);
	if (rc)
		return rc;
	usleep(SETTLE_US);
	rc = watch(o);
	if (rc)
		return rc;
	until = clock_mono_ns() + ms * NSEC_PER_MSEC;
	__atomic_store_n(&o->skel->bss->armed, 1, __ATOMIC_SEQ_CST);
	while (clock_mono_ns() < until) {
		drain(o);
		usleep(2000);
	}
	__atomic_store_n(&o->skel->bss->armed, 0, __ATOMIC_SEQ_CST);
	usleep(20000);
	drain(o);
	own_count(o);
	return 0;
}

static int own_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int selftest_own(unsigned ms, struct selftest_own *ret)
{
	struct own o = {.cpus = libbpf_num_possible_cpus(), .res = ret};
	libbpf_print_fn_t before = libbpf_set_print(own_quiet);
	int rc;

	*ret = (struct selftest_own){0};
	rc = own_run(&o, ms);
	for (size_t i = 0; i < o.links.n; i++)
		bpf_link__destroy(o.links.v[i]);
	bounce_stop(o.bounce);
	for (size_t i = 0; i < o.sources.n; i++)
		source_close(o.sources.v[i]);
	if (o.rings)
		munmap(o.rings, o.len);
	nested_bpf__destroy(o.skel);
	vec_done(&o.links);
	vec_done(&o.sources);
	vec_done(&o.records);
	libbpf_set_print(before);
	return rc;
}
