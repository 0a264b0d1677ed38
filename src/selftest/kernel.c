// SPDX-License-Identifier: MIT
/* The kernel's ring buffer: see kernel_ring.bpf.c for what bounds the experiment. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "selftest/selftest.h"
#include "kernel_ring.skel.h"

/* Where the ring keeps its position. */
static int find_ring(struct kernel_ring_bpf *s)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	struct bpf_link *link;
	char text[64];
	int fd;

	if (bpf_obj_get_info_by_fd(bpf_map__fd(s->maps.ring), &info, &len))
		return err_set(-errno, "the ring buffer's number: %s", strerror(errno));
	s->bss->wanted_id = info.id;
	link = bpf_program__attach_iter(s->progs.find_ring, NULL);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	if (!s->bss->pos_addr)
		return err_set(-EOPNOTSUPP, "the ring buffer's position was not found");
	return 0;
}

static void wait_for_end(struct kernel_ring_bpf *s, unsigned ms)
{
	uint64_t until = clock_mono_ns() + ms * NSEC_PER_MSEC;

	__atomic_store_n(&s->bss->armed, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&s->bss->armed, __ATOMIC_SEQ_CST) && clock_mono_ns() < until)
		usleep(1000);
	__atomic_store_n(&s->bss->armed, 0, __ATOMIC_SEQ_CST);
}

static void kernel_count(const struct kernel_ring_bpf *s, struct selftest_times *ret)
{
	uint64_t below = 0, tries = s->bss->tries;
	int p99 = 0;

	while (p99 < 63 && (below += s->bss->hist[p99]) * 100 < tries * 99)
		p99++;
	*ret = (struct selftest_times){
		.tries = tries,
		.failed = s->bss->failed,
		.mean_ns = tries ? s->bss->sum_ns / tries : 0,
		.p99_ns = 1ull << p99 < s->bss->worst_ns ? 1ull << p99 : s->bss->worst_ns,
		.worst_ns = s->bss->worst_ns,
	};
}

static int experiment(struct kernel_ring_bpf *s, unsigned ms, int cpu, struct selftest_times *ret)
{
	struct bpf_link *outer = NULL, *nested = NULL;
	struct bounce *bounce = NULL;
	int fd, rc = find_ring(s);

	fd = rc ? rc : selftest_breakpoint(s->bss->pos_addr, cpu);
	if (fd < 0)
		return fd;
	nested = bpf_program__attach_perf_event(s->progs.on_breakpoint, fd);
	if (!nested)
		close(fd);
	outer = nested ? bpf_program__attach(s->progs.on_switch) : NULL;
	rc = outer ? bounce_start(cpu, &bounce)
		   : err_set(-errno, "attaching the programs: %s", strerror(errno));
	if (!rc) {
		wait_for_end(s, ms);
		kernel_count(s, ret);
	}
	bpf_link__destroy(nested);
	bpf_link__destroy(outer);
	bounce_stop(bounce);
	return rc;
}

static int kernel_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int selftest_kernel(unsigned ms, uint64_t tries, uint64_t budget_ns, struct selftest_times *ret)
{
	libbpf_print_fn_t before = libbpf_set_print(kernel_quiet);
	struct kernel_ring_bpf *s = kernel_ring_bpf__open();
	int rc = s ? 0 : err_set(-errno, "opening the programs: %s", strerror(errno));
	int cpu = sched_getcpu();

	if (!rc) {
		s->rodata->ours = getpid();
		s->rodata->tries_max = tries;
		s->rodata->budget_ns = budget_ns;
		rc = kernel_ring_bpf__load(s);
		if (rc)
			rc = err_set(rc, "the programs did not load: %s", strerror(-rc));
	}
	rc = rc ? rc : experiment(s, ms, cpu < 0 ? 0 : cpu, ret);
	kernel_ring_bpf__destroy(s);
	libbpf_set_print(before);
	return rc;
}
