// SPDX-License-Identifier: MIT
#include "guard/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

static void features_set(struct guard_features *f, enum guard_feature what, bool on)
{
	if (on)
		f->have |= 1u << what;
}

/* ---- the kernel's types ---- */

/* The number of arguments of a tracepoint, the leading context included; 0: there is none. */
static int tracepoint_args(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char type[64];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	t = id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

/* The offset of a variable within the kernel's per-CPU section, 0 if BTF does not have it. */
static uint64_t percpu_offset(const struct btf *btf, const char *name)
{
	int sec = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *t = sec > 0 ? btf__type_by_id(btf, (__u32)sec) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (!strcmp(btf__name_by_offset(btf, var->name_off), name))
			return v->offset;
	}
	return 0;
}

/* Bits; -1: there is none. A member of an unnamed struct or union counts as one of the outer's. */
static int64_t member_bits(const struct btf *btf, const struct btf_type *t, const char *member)
{
	for (int i = 0; t && btf_is_composite(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const char *name = btf__name_by_offset(btf, m->name_off);
		int64_t in, at = btf_member_bit_offset(t, (__u32)i);

		if (!strcmp(name, member))
			return at;
		in = *name ? -1 : member_bits(btf, btf__type_by_id(btf, m->type), member);
		if (in >= 0)
			return at + in;
	}
	return -1;
}

static uint64_t member_offset(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	int64_t bits = id > 0 ? member_bits(btf, btf__type_by_id(btf, (__u32)id), member) : -1;

	return bits < 0 ? 0 : (uint64_t)bits / 8;
}

static void probe_layout(struct guard_features *f, const struct btf *btf)
{
	uint64_t off = percpu_offset(btf, "__preempt_count");
	uint64_t hot = percpu_offset(btf, "pcpu_hot");

	if (!off && hot)
		off = hot + member_offset(btf, "pcpu_hot", "preempt_count");
	f->runqueues_off = percpu_offset(btf, "runqueues");
	f->preempt_count_off = f->runqueues_off ? off : 0;
	f->rq_lock_off = member_offset(btf, "rq", "__lock");
	features_set(f, FEATURE_PREEMPT_COUNT, f->preempt_count_off);
}

static void probe_types(struct guard_features *f)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return;
	features_set(f, FEATURE_TP_SWITCH, tracepoint_args(btf, "sched_switch") >= 4);
	features_set(f, FEATURE_TP_SWITCH_STATE, tracepoint_args(btf, "sched_switch") >= 5);
	features_set(f, FEATURE_TP_WAKING, tracepoint_args(btf, "sched_waking"));
	features_set(f, FEATURE_TP_CONTENTION, tracepoint_args(btf, "contention_begin"));
	features_set(f, FEATURE_TP_SCHED_EXIT, tracepoint_args(btf, "sched_exit_tp"));
	features_set(f, FEATURE_ITER_TASK,
		     btf__find_by_name_kind(btf, "bpf_iter_task", BTF_KIND_FUNC) > 0);
	features_set(f, FEATURE_BPF_CAST,
		     btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0);
	probe_layout(f, btf);
	btf__free(btf);
}

/* ---- BPF ---- */

static int features_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static bool array_maps(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "thaw_try", 4, 8, 1, &opts);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void probe_bpf(struct guard_features *f)
{
	const enum bpf_prog_type type = BPF_PROG_TYPE_PERF_EVENT;

	features_set(f, FEATURE_BPF_MMAP, array_maps());
	features_set(f, FEATURE_BPF_LOAD, libbpf_probe_bpf_prog_type(type, NULL) == 1);
	if (!guard_has(f, FEATURE_BPF_LOAD))
		return;
	features_set(f, FEATURE_BPF_LOOP, libbpf_probe_bpf_helper(type, BPF_FUNC_loop, NULL) == 1);
	features_set(f, FEATURE_BPF_TASK_REGS,
		     libbpf_probe_bpf_helper(type, BPF_FUNC_task_pt_regs, NULL) == 1);
}

/* ---- perf events and timers ---- */

/* 0 or a negative errno. */
static int try_event(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void probe_events(struct guard_features *f)
{
	const struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
	};
	struct perf_event_attr attr = clock, records = clock;
	struct perf_event_attr breakpoint = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)f,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.exclude_kernel = 1,
	};
	int rc, cpu = sched_getcpu();

	attr.exclude_kernel = 1;
	rc = try_event(&attr, 0, -1);
	f->clock_errno = -rc;
	features_set(f, FEATURE_CLOCK_SELF, !rc);
	attr = clock;
	features_set(f, FEATURE_CLOCK_KERNEL, !try_event(&attr, 0, -1));
	attr = clock;
	features_set(f, FEATURE_CLOCK_CPU, !try_event(&attr, -1, cpu < 0 ? 0 : cpu));
	records.exclude_kernel = 1;
	records.context_switch = 1;
	features_set(f, FEATURE_SWITCH_RECORDS, !try_event(&records, 0, -1));
	features_set(f, FEATURE_BREAKPOINT, !try_event(&breakpoint, 0, -1));
}

static bool cpu_timers(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_NONE};
	timer_t id;

	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &id))
		return false;
	timer_delete(id);
	return true;
}

void guard_features_probe(struct guard_features *f, const struct guard_facts *facts)
{
	libbpf_print_fn_t before = libbpf_set_print(features_quiet);

	memset(f, 0, sizeof(*f));
	if (facts->btf)
		probe_types(f);
	if (guard_can_bpf(facts))
		probe_bpf(f);
	probe_events(f);
	features_set(f, FEATURE_CPU_TIMER, cpu_timers());
	libbpf_set_print(before);
}

const char *guard_feature_name(enum guard_feature what)
{
	static const char *const names[FEATURES] = {
#define FEATURE(id, UPPER, name, words) [id] = (name),
#include "guard/features.def"
	};

	return names[what];
}

const char *guard_feature_words(enum guard_feature what)
{
	static const char *const words_of[FEATURES] = {
#define FEATURE(id, UPPER, name, words) [id] = (words),
#include "guard/features.def"
	};

	return words_of[what];
}
