// SPDX-License-Identifier: MIT
/*
 * No program of thaw takes a lock: checked on what the kernel has really loaded.
 *
 * Loads every program of the probes, in every variant that a kernel can make the collector choose,
 * reads the instructions back from the kernel as it has translated them, and fails on a call to
 * anything but the helpers below, on any map that is not an array, and on a program smaller than
 * its minimum: one whose body the verifier has removed as dead code would pass everything else.
 * Of an array of maps the lookups in the maps inside are seen among the calls, or are those of an
 * array, which the verifier writes out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "wire/unwind.h"
#include "thaw.skel.h"

/* The kernel functions behind the helpers of the design; none of them can wait. */
static const char *const allowed[] = {
	"bpf_ktime_get_ns",
	"bpf_get_smp_processor_id",
	"bpf_get_current_pid_tgid",
	"bpf_get_current_task_btf",
	"bpf_probe_read_kernel",
	"bpf_probe_read_kernel_str",
	"bpf_get_stack_raw_tp",
	"bpf_get_stack_pe",
	"bpf_get_task_stack",
	"bpf_probe_read_user",
	"bpf_task_pt_regs",
	"bpf_loop",
	"array_map_lookup_elem",
	"percpu_array_map_lookup_elem",
	"bpf_seq_write",
};

static const struct {
	const char *name;
	unsigned min, max; /* instructions after translation */
	unsigned steps; /* of the verifier: what 6.18 takes, and half as many again are too many */
} sizes[] = {
	{"thaw_switch", 300, 1700, 4600},
	{"thaw_switch_3", 300, 1700, 4700},
	{"thaw_switch_4", 300, 1700, 4700},
	{"thaw_waking", 250, 4000, 12400},
	{"thaw_waking_only", 250, 3000, 19500},
	{"thaw_waking_old", 250, 4000, 19500},
	{"thaw_sched_exit", 200, 4000, 11100},
	{"thaw_sys_exit", 120, 3000, 17700},
	{"thaw_sample", 250, 4000, 11000},
	{"thaw_sample_only", 250, 3000, 17600},
	{"thaw_fork", 80, 1000, 900},
	{"thaw_exec", 70, 1000, 600},
	{"thaw_exit", 60, 1000, 600},
	{"thaw_rename", 60, 1000, 500},
	{"thaw_cgroup_attach", 80, 1500, 700},
	{"thaw_contention_begin", 150, 2000, 1300},
	{"thaw_contention_end", 150, 3000, 3400},
	{"thaw_asleep", 100, 1000, 1500},
};

#define INSNS_MAX 65536

static int failures;

static void fail(const char *what, const char *why)
{
	printf("FAIL allowlist %s: %s\n", what, why);
	failures++;
}

/* ---- names of kernel functions ---- */

struct ksym {
	uint64_t addr;
	char name[64];
};
static struct ksym *ksyms;
static size_t n_ksyms;

static int load_ksyms(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], type;
	size_t room = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (n_ksyms == room) {
			room = room ? 2 * room : 65536;
			ksyms = mem_grow(ksyms, room, sizeof(*ksyms));
		}
		if (sscanf(line, "%" SCNx64 " %c %63s", &ksyms[n_ksyms].addr, &type,
			   ksyms[n_ksyms].name) == 3)
			n_ksyms++;
	}
	if (f)
		fclose(f);
	return n_ksyms && ksyms[0].addr + ksyms[n_ksyms - 1].addr ? 0 : -1;
}

static uint64_t addr_of(const char *name)
{
	for (size_t i = 0; i < n_ksyms; i++)
		if (!strcmp(ksyms[i].name, name))
			return ksyms[i].addr;
	return 0;
}

/* Several names may share an address; any allowed one will do. */
static bool address_allowed(uint64_t addr, const char **ret_name)
{
	*ret_name = "?";
	for (size_t i = 0; i < n_ksyms; i++) {
		if (ksyms[i].addr != addr)
			continue;
		*ret_name = ksyms[i].name;
		for (size_t k = 0; k < ARRAY_LEN(allowed); k++)
			if (!strcmp(ksyms[i].name, allowed[k]))
				return true;
	}
	return false;
}

/* ---- one loaded program ---- */

static bool may_read_user = true; /* as the variant at hand is set */

/*
 * What can be run. Kernels before 6.8 (2afae08c9dcb "bpf: Validate global subprogs lazily") keep
 * functions in a program that nothing in it calls any more.
 */
static void mark_reachable(const struct bpf_insn *insns, size_t n, bool *seen)
{
	static size_t ahead[2 * INSNS_MAX];
	size_t left = 0;

	ahead[left++] = 0;
	while (left) {
		size_t i = ahead[--left];

		while (i < n && !seen[i]) {
			const struct bpf_insn *p = &insns[i];
			__u8 class = BPF_CLASS(p->code), op = BPF_OP(p->code);

			seen[i++] = true;
			if (p->code == (BPF_LD | BPF_IMM | BPF_DW)) {
				if (p->src_reg == BPF_PSEUDO_FUNC)
					ahead[left++] = i + p->imm;
				i++;
			} else if (class == BPF_JMP && op == BPF_CALL) {
				/* The kernel says the distance in `off`, in `imm` which one. */
				if (p->src_reg == BPF_PSEUDO_CALL)
					ahead[left++] = i + (p->off ? p->off : p->imm);
			} else if (class == BPF_JMP && op == BPF_EXIT) {
				break;
			} else if (class == BPF_JMP && op == BPF_JA) {
				i += p->off;
			} else if (class == BPF_JMP32 && op == BPF_JA) {
				i += p->imm;
			} else if (class == BPF_JMP || class == BPF_JMP32) {
				ahead[left++] = i + p->off;
			}
		}
	}
}

static void check_calls(const char *name, const struct bpf_insn *insns, size_t n, uint64_t base)
{
	static bool run[INSNS_MAX];

	memset(run, 0, sizeof(run));
	mark_reachable(insns, n, run);
	for (size_t i = 0; i < n; i++) {
		const char *callee;
		char why[160];

		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg == BPF_PSEUDO_CALL)
			continue;
		if (insns[i].src_reg == BPF_PSEUDO_KFUNC_CALL) {
			fail(name, "calls a kernel function");
			continue;
		}
		if (!address_allowed(base + (uint64_t)(int64_t)insns[i].imm, &callee)) {
			snprintf(why, sizeof(why), "calls %s, which is not on the list", callee);
			fail(name, why);
		}
		/* Into the file of an iterator, by whom it is read. */
		if (!strcmp(callee, "bpf_seq_write") && strcmp(name, "thaw_asleep"))
			fail(name, "writes to a file");
		if (!may_read_user && run[i] && !strcmp(callee, "bpf_probe_read_user"))
			fail(name, "reads user memory although it is told not to");
	}
}

static void check_size(const char *name, size_t n)
{
	char why[160];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (strcmp(sizes[i].name, name))
			continue;
		if (n < sizes[i].min || n > sizes[i].max) {
			snprintf(why, sizeof(why), "%zu instructions, expected %u to %u", n,
				 sizes[i].min, sizes[i].max);
			fail(name, why);
		}
		return;
	}
	fail(name, "is not in the table of sizes");
}

/* Recordings begin later with every step, and one function in a loop can make it ten times as many.
 */
static void check_steps(const char *name, unsigned steps)
{
	char why[160];

	/* Other kernels count other steps. */
	for (size_t i = 0; addr_of("__traceiter_sched_exit_tp") && i < ARRAY_LEN(sizes); i++)
		if (!strcmp(sizes[i].name, name) && steps > sizes[i].steps + sizes[i].steps / 2) {
			snprintf(why, sizeof(why), "%u steps of the verifier, %u before", steps,
				 sizes[i].steps);
			fail(name, why);
		}
}

static void check_maps(const char *name, const __u32 *ids, __u32 n)
{
	for (__u32 i = 0; i < n; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);
		char why[160];

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len)) {
			fail(name, "a map could not be read back");
		} else if (info.type != BPF_MAP_TYPE_ARRAY &&
			   info.type != BPF_MAP_TYPE_PERCPU_ARRAY &&
			   info.type != BPF_MAP_TYPE_ARRAY_OF_MAPS) {
			snprintf(why, sizeof(why), "map %s is of type %u, not an array", info.name,
				 info.type);
			fail(name, why);
		}
	}
}

static void check_program(struct bpf_program *prog, uint64_t base)
{
	const char *name = bpf_program__name(prog);
	static struct bpf_insn insns[INSNS_MAX];
	__u32 ids[64];
	struct bpf_prog_info info = {.xlated_prog_insns = (uintptr_t)insns,
				     .xlated_prog_len = sizeof(insns),
				     .map_ids = (uintptr_t)ids,
				     .nr_map_ids = ARRAY_LEN(ids)};
	__u32 len = sizeof(info);
	size_t n;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len)) {
		fail(name, "could not be read back from the kernel");
		return;
	}
	n = info.xlated_prog_len / sizeof(*insns);
	check_size(name, n);
	check_steps(name, info.verified_insns);
	check_calls(name, insns, n, base);
	check_maps(name, ids, info.nr_map_ids);
	printf("ok allowlist %s (%zu instructions, %u steps, %u maps)\n", name, n,
	       info.verified_insns, info.nr_map_ids);
}

/* Has this kernel what the program needs? */
static bool loadable(const struct thaw_bpf *s, const struct bpf_program *prog)
{
	/* Guesses are for kernels that have sched_exit_tp: see choose_programs(). */
	if (prog == s->progs.thaw_sched_exit || prog == s->progs.thaw_sample)
		return addr_of("__traceiter_sched_exit_tp");
	if (prog == s->progs.thaw_waking)
		return addr_of("__traceiter_sched_exit_tp") && addr_of("bpf_rdonly_cast");
	if (prog == s->progs.thaw_contention_begin || prog == s->progs.thaw_contention_end)
		return addr_of("__traceiter_contention_begin");
	if (prog == s->progs.thaw_switch || prog == s->progs.thaw_waking_only)
		return addr_of("bpf_rdonly_cast");
	return true;
}

/* With sched_exit_tp or without; walking by tables, or by frame pointers; reading futexes. */
static void check_variant(bool exit_tp, bool tables, bool reads, uint64_t base)
{
	struct thaw_bpf *s = thaw_bpf__open();
	struct bpf_program *prog;
	uint64_t ring_bytes = 1 << 20;

	s->rodata->ring_size = ring_bytes;
	s->rodata->waits_at_exit_tp = exit_tp;
	s->rodata->unwind_tables = tables;
	s->rodata->user_reads = reads;
	may_read_user = reads;
	bpf_map__set_value_size(s->maps.unwind_spaces, sizeof(struct unwind_space) * UNWIND_SPACES);
	bpf_map__set_value_size(s->maps.unwind_objects,
				sizeof(struct unwind_object) * UNWIND_OBJECTS);
	s->rodata->cgroup_id = 1;
	s->rodata->preempt_count_off = 8;
	s->rodata->runqueues_off = 16;
	bpf_map__set_max_entries(s->maps.rings, (__u32)libbpf_num_possible_cpus());
	bpf_map__set_value_size(s->maps.rings, (__u32)(RING_HEAD + ring_bytes + RING_SLACK));
	bpf_map__set_max_entries(s->maps.sent, (__u32)libbpf_num_possible_cpus() * SENT_SLOTS);
	bpf_object__for_each_program(prog, s->obj)
	{
		bpf_program__set_autoload(prog, loadable(s, prog));
		if (!loadable(s, prog))
			printf("skip allowlist %s: this kernel has not what it needs\n",
			       bpf_program__name(prog));
	}
	if (thaw_bpf__load(s)) {
		fail("load", strerror(errno));
	} else {
		bpf_object__for_each_program(prog, s->obj) if (bpf_program__autoload(prog))
			check_program(prog, base);
	}
	thaw_bpf__destroy(s);
}

/* As many checks on every kernel. */
static void skip_variant(const char *why)
{
	struct thaw_bpf *s = thaw_bpf__open();
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, s->obj)
		printf("skip allowlist %s: %s\n", bpf_program__name(prog), why);
	thaw_bpf__destroy(s);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int main(void)
{
	uint64_t base;

	if (load_ksyms() || !(base = addr_of("__bpf_call_base"))) {
		printf("skip all of live/allowlist: /proc/kallsyms does not show addresses\n");
		return 0;
	}
	if (!getenv("THAW_TEST_VERBOSE"))
		libbpf_set_print(quiet);
	check_variant(false, true, true, base);
	check_variant(false, false, true, base);
	check_variant(false, false, false, base);
	if (addr_of("__traceiter_sched_exit_tp")) {
		check_variant(true, true, true, base);
		check_variant(true, false, false, base);
	} else {
		skip_variant("this kernel has no sched_exit_tp");
		skip_variant("this kernel has no sched_exit_tp");
	}
	free(ksyms);
	return failures != 0;
}
