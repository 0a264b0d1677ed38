// SPDX-License-Identifier: MIT
/*
 * ring MODE [SECONDS]: runs the programs of ring.bpf.c while two threads wake each other, and
 * prints how long the interrupted and the interrupting waited. MODE is what the interrupting
 * program does: nothing (what the machine itself takes), own (a ring of its own), shared (the same
 * ring).
 *
 * In the mode `shared` it stalls or freezes the kernels that have the bug. Only for guests of the
 * lab.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "naive_ring.skel.h"

static const char *const modes[] = {"nothing", "own", "shared"};

static bool running = true;

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

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int fail(const char *what)
{
	printf("FAIL naive ring: %s: %s\n", what, strerror(errno));
	return 1;
}

static long position_offset(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "bpf_ringbuf", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	long at = -1;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), "producer_pos"))
			at = btf_member_bit_offset(t, (__u32)i) / 8;
	btf__free(btf);
	return at;
}

static int find_ring(struct naive_ring *s)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	struct bpf_link *link;
	char buf[64];
	int fd;

	if (bpf_obj_get_info_by_fd(bpf_map__fd(s->maps.shared), &info, &len))
		return -1;
	s->bss->shared_id = info.id;
	link = bpf_program__attach_iter(s->progs.find_ring, NULL);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return s->bss->ring_addr ? 0 : -1;
}

static int break_on(struct naive_ring *s, int cpu, unsigned long at)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = at,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 || !bpf_program__attach_perf_event(s->progs.on_breakpoint, fd) ? -1 : 0;
}

static void report(const struct naive_ring *s, const char *mode)
{
	unsigned long long n = s->bss->nested, below = 0;
	int p99 = 0;

	while (p99 < 63 && (below += s->bss->nested_hist[p99]) * 100 < n * 99)
		p99++;
	printf("naive ring %s: nested %llu failed %llu mean_ns %llu p99_ns %llu worst_ns %llu "
	       "switches %llu worst_switch_ns %llu\n",
	       mode, n, (unsigned long long)s->bss->nested_failed,
	       (unsigned long long)(n ? s->bss->nested_sum_ns / n : 0), 1ull << p99,
	       (unsigned long long)s->bss->nested_max_ns, (unsigned long long)s->bss->switches,
	       (unsigned long long)s->bss->switch_max_ns);
}

int main(int argc, char **argv)
{
	int ab[2], ba[2], there[2], back[2], seconds = argc > 2 ? atoi(argv[2]) : 2;
	struct naive_ring *s = naive_ring__open();
	pthread_t threads[2];
	long off = position_offset();
	unsigned mode = 0;

	while (mode < 3 && (argc < 2 || strcmp(modes[mode], argv[1])))
		mode++;
	if (mode == 3 || !s || off < 0) {
		printf("FAIL naive ring: usage: ring nothing|own|shared [SECONDS], and BTF\n");
		return 2;
	}
	libbpf_set_print(quiet);
	s->rodata->mode = mode;
	if (naive_ring__load(s))
		return fail("loading");
	s->links.on_switch = bpf_program__attach(s->progs.on_switch);
	if (!s->links.on_switch || find_ring(s))
		return fail("attaching");
	if (pipe(ab) || pipe(ba))
		return fail("pipe");
	there[0] = ab[0], there[1] = ba[1], back[0] = ba[0], back[1] = ab[1];
	pthread_create(&threads[0], NULL, bounce, there);
	pthread_create(&threads[1], NULL, bounce, back);
	(void)!write(ab[1], "x", 1);
	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		if (break_on(s, cpu, s->bss->ring_addr + (unsigned long)off))
			return fail("the breakpoint");
	sleep((unsigned)seconds);
	report(s, modes[mode]);
	/* The threads, the breakpoints and the programs end with the process. */
	return 0;
}
