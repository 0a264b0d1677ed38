// SPDX-License-Identifier: MIT
/* What the events of a perf.data file are good for: which give samples, switches and wakings. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "import/perfdata.h"

#define FREQ_MAX 1000000u

static bool is_sched(const struct pd_attr *a, const char *name)
{
	return a->format && !strcmp(a->format->system, "sched") && !strcmp(a->format->name, name);
}

bool pd_is_aside(const struct pd_attr *a)
{
	return a->a.type == PERF_TYPE_SOFTWARE &&
	       (a->a.config == PERF_COUNT_SW_DUMMY || a->a.config == PERF_COUNT_SW_BPF_OUTPUT ||
		a->a.config == PERF_COUNT_SW_CONTEXT_SWITCHES);
}

static struct pd_attr *find_named(struct pd_file *f, const char *name)
{
	for (size_t i = 0; i < f->attrs.n; i++) {
		const char *own = f->attrs.v[i].name, *colon = strchr(own, ':');
		size_t n = strlen(name);

		/* "cycles:u", and "sched:sched_switch" */
		if (!strcmp(own, name) || (!strncmp(own, name, n) && own[n] == ':') ||
		    (colon && !strcmp(colon + 1, name)))
			return &f->attrs.v[i];
	}
	return NULL;
}

static int no_such_event(const struct pd_file *f, const char *name)
{
	char list[400] = "";

	for (size_t i = 0; i < f->attrs.n; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
			 f->attrs.v[i].name);
	}
	return err_set(-EINVAL, "%s has no event '%s'; it has: %s", f->path, name, list);
}

/* The first whose samples say where threads ran; a tracepoint only if there is nothing else. */
static struct pd_attr *find_sampled(struct pd_file *f, bool tracepoints)
{
	for (size_t i = 0; i < f->attrs.n; i++) {
		struct pd_attr *a = &f->attrs.v[i];

		if (a->role == PD_NOTHING && !pd_is_aside(a) &&
		    (a->a.type == PERF_TYPE_TRACEPOINT) == tracepoints)
			return a;
	}
	return NULL;
}

static int find_tracepoints(struct pd_file *f)
{
	struct pd_attr *wakeup = NULL;
	bool waking = false;

	for (size_t i = 0; i < f->attrs.n; i++) {
		struct pd_attr *a = &f->attrs.v[i];
		uint64_t needs = PERF_SAMPLE_RAW | PERF_SAMPLE_CPU | PERF_SAMPLE_TID;

		if (a->a.type != PERF_TYPE_TRACEPOINT)
			continue;
		a->format = traceformats_find(f->formats, (uint32_t)a->a.config);
		if (!a->format && !f->formats)
			return err_set(-EBADMSG,
				       "%s has tracepoints, but not their formats: it is cut off, "
				       "or perf was killed while it wrote it",
				       f->path);
		/* An event of single threads shows a switch only when they leave. */
		if ((a->a.sample_type & needs) != needs || a->a.enable_on_exec)
			continue;
		if (is_sched(a, "sched_switch"))
			a->role = PD_SWITCH;
		else if (is_sched(a, "sched_process_fork"))
			a->role = PD_FORK;
		else if (is_sched(a, "sched_waking"))
			a->role = PD_WAKING, waking = true;
		else if (is_sched(a, "sched_wakeup"))
			wakeup = a;
	}
	/* Both mean the same waking; sched_waking fires where the waker is. */
	if (wakeup && !waking)
		wakeup->role = PD_WAKING;
	return 0;
}

const struct pd_attr *pd_with_role(const struct pd_file *f, enum pd_role role)
{
	for (size_t i = 0; i < f->attrs.n; i++)
		if (f->attrs.v[i].role == role)
			return &f->attrs.v[i];
	return NULL;
}

int pd_choose(struct pd_import *i, const char *event)
{
	struct pd_file *f = i->f;
	struct pd_attr *sampled;
	int rc;

	for (size_t k = 0; k < f->attrs.n; k++) {
		struct pd_attr *a = &f->attrs.v[k];

		if (!a->time_at)
			return err_set(
				-EINVAL,
				"%s was recorded without times (perf record --no-timestamp): "
				"thaw cannot tell what came first",
				f->path);
		i->fork_records |= a->a.task;
		i->switch_records |= a->a.context_switch;
		i->no_cpus |= a->a.context_switch && !(a->a.sample_type & PERF_SAMPLE_CPU);
		if (!strcmp(a->name, "offcpu-time") &&
		    a->a.sample_type & (PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW))
			a->role = PD_OFFCPU;
	}
	rc = find_tracepoints(f);
	if (rc)
		return rc;
	i->scheduler = pd_with_role(f, PD_SWITCH);
	if (i->scheduler)
		i->switch_records = false;
	i->has_switches = i->switch_records || i->scheduler;
	/* Switches say more than measured waits. */
	if (pd_with_role(f, PD_OFFCPU) && !i->has_switches)
		i->no_cpus = true;
	for (size_t k = 0; i->has_switches && k < f->attrs.n; k++)
		if (f->attrs.v[k].role == PD_OFFCPU)
			f->attrs.v[k].role = PD_NOTHING;
	sampled = event ? find_named(f, event) : find_sampled(f, false);
	if (event && !sampled)
		return no_such_event(f, event);
	if (!sampled && !i->has_switches)
		sampled = find_sampled(f, true);
	if (sampled)
		sampled->role = PD_SAMPLE;
	return 0;
}

uint64_t pd_freq(const struct pd_attr *a)
{
	uint64_t hz = a->a.sample_freq;

	if (a->a.freq)
		return hz <= FREQ_MAX ? hz : 0;
	if (a->a.type == PERF_TYPE_SOFTWARE && a->a.sample_period &&
	    (a->a.config == PERF_COUNT_SW_CPU_CLOCK || a->a.config == PERF_COUNT_SW_TASK_CLOCK)) {
		hz = (NSEC_PER_SEC + a->a.sample_period / 2) / a->a.sample_period;
		return hz <= FREQ_MAX ? hz : 0;
	}
	return 0;
}

uint32_t pd_unseen(const struct pd_import *i)
{
	const struct pd_attr *sampled = pd_with_role(i->f, PD_SAMPLE);
	const struct pd_attr *sw = pd_with_role(i->f, PD_SWITCH),
			     *waking = pd_with_role(i->f, PD_WAKING);
	bool measured = i->has_switches && pd_with_role(i->f, PD_OFFCPU);
	uint32_t unseen = UNSEEN_LOCKS;

	if (!i->has_switches)
		unseen |= UNSEEN_SWITCHES;
	if (!sw)
		unseen |= UNSEEN_STATES;
	if (!sw || !waking)
		unseen |= UNSEEN_WAKERS | UNSEEN_RUN_QUEUE;
	if (!measured && (!sw || !(sw->a.sample_type & PERF_SAMPLE_CALLCHAIN)))
		unseen |= UNSEEN_WAIT_STACKS;
	if (i->no_cpus)
		unseen |= UNSEEN_CPUS;
	if (!sampled)
		return unseen | UNSEEN_SAMPLES;
	if (sampled->a.exclude_kernel)
		unseen |= UNSEEN_KERNEL_MODE;
	if (!(sampled->a.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER)))
		unseen |= UNSEEN_CALLERS;
	return unseen;
}
