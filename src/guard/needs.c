// SPDX-License-Identifier: MIT
/* What each engine needs, in the order in which a person would fix it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/host.h"
#include "base/mem.h"
#include "guard/verdict.h"

__attribute__((format(printf, 3, 4))) static void no(struct guard_engine *e, int rc,
						     const char *fmt, ...)
{
	va_list ap;

	e->usable = false;
	e->rc = rc;
	va_start(ap, fmt);
	vsnprintf(e->why, sizeof(e->why), fmt, ap);
	va_end(ap);
}

/* ---- bpf ---- */

/* What the programs cannot do without. */
static const enum guard_feature bpf_needs[] = {FEATURE_BPF_LOAD, FEATURE_BPF_MMAP,
					       FEATURE_BPF_TASK_REGS, FEATURE_TP_SWITCH,
					       FEATURE_TP_WAKING};

static const struct guard_row *needs_refusal(const struct guard_verdict *v, enum guard_mechanism m)
{
	for (size_t i = 0; i < v->n_findings; i++)
		if (v->findings[i].row->action == GUARD_REFUSE && !v->findings[i].accepted &&
		    v->findings[i].row->mechanisms >> m & 1)
			return v->findings[i].row;
	return NULL;
}

static void judge_rights(struct guard_engine *e, const struct guard_facts *f)
{
	bool bpf = guard_can_bpf(f), perfmon = guard_can_perfmon(f);

	if (!bpf || !perfmon)
		no(e, -EPERM,
		   "recording needs %s%s%s, which this user does not have. Run it as root "
		   "(sudo thaw record ...), or let the binary have them: "
		   "setcap cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace+ep thaw",
		   bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
		   perfmon ? "" : "CAP_PERFMON");
	else if (f->own_user_ns)
		no(e, -EPERM,
		   "CAP_BPF and CAP_PERFMON are there, but only within a user namespace (a "
		   "rootless "
		   "container), where they do not count for the kernel. Run it as root outside");
}

static void judge_bpf(struct guard_engine *e, const struct guard_verdict *v,
		      const struct guard_facts *f, const struct guard_features *k)
{
	const struct guard_row *bug = needs_refusal(v, MECHANISM_BPF);

	judge_rights(e, f);
	if (!e->usable)
		return;
	if (bug) {
		no(e, -ENOTSUP, "%s (%s). %s", bug->title, bug->id, bug->todo);
		return;
	}
	if (!f->btf) {
		no(e, -ENOTSUP,
		   "this kernel does not describe its types (/sys/kernel/btf/vmlinux is "
		   "missing: CONFIG_DEBUG_INFO_BTF), so the probes cannot be fitted to it");
		return;
	}
	if (f->own_pid_ns) {
		no(e, -ENOTSUP,
		   "thaw runs in a pid namespace of its own (a container), where the thread "
		   "numbers are not the kernel's. Run it on the host, or start the container "
		   "with --pid=host");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(bpf_needs) && e->usable; i++)
		if (!guard_has(k, bpf_needs[i]))
			no(e, -ENOTSUP,
			   "this kernel (%s) lacks, or a container forbids, what the probes need: "
			   "%s",
			   f->release, guard_feature_words(bpf_needs[i]));
}

/* ---- perf ---- */

static void judge_perf(struct guard_engine *e, const struct guard_verdict *v,
		       const struct guard_facts *f, const struct guard_features *k)
{
	const struct guard_row *bug = needs_refusal(v, MECHANISM_PERF_STACKS);
	bool mighty = guard_can_perfmon(f) && !f->own_user_ns;

	bug = bug ? bug : needs_refusal(v, MECHANISM_PERF_CLOCKS);
	if (bug) {
		no(e, -ENOTSUP, "%s (%s). %s", bug->title, bug->id, bug->todo);
		return;
	}
	if (guard_has(k, FEATURE_CLOCK_SELF))
		return;
	if (!mighty && f->paranoid > 2)
		no(e, -EPERM,
		   "kernel.perf_event_paranoid is %d, which keeps perf events from users without "
		   "CAP_PERFMON. Run it as root, or have kernel.perf_event_paranoid set to 2",
		   f->paranoid);
	else
		no(e, -EPERM,
		   "the kernel refuses perf events (%s): the filter of system calls of a "
		   "container, most likely. Run it outside",
		   strerror(k->clock_errno));
}

/* ---- ctimer ---- */

static void judge_ctimer(struct guard_engine *e, const struct guard_facts *f,
			 const struct guard_features *k)
{
	if (strcmp(f->machine, ARCH_NAME))
		no(e, -ENOTSUP, "thaw walks stacks of " ARCH_WORDS " only, and this is %s",
		   f->machine);
	else if (!guard_has(k, FEATURE_CPU_TIMER))
		no(e, -ENOTSUP, "timers that count a thread's CPU time are not allowed here");
}

void guard_engine_judge(struct guard_engine *e, enum guard_engine_id id,
			const struct guard_verdict *v, const struct guard_facts *facts,
			const struct guard_features *features)
{
	*e = (struct guard_engine){.usable = true};
	switch (id) {
	case ENGINE_BPF:
		judge_bpf(e, v, facts, features);
		break;
	case ENGINE_PERF:
		judge_perf(e, v, facts, features);
		break;
	case ENGINE_CTIMER:
		judge_ctimer(e, facts, features);
		break;
	case ENGINES:
		break;
	}
}
