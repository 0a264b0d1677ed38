// SPDX-License-Identifier: MIT
#include <linux/capability.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/doctor.h"
#include "engine/engine.h"

static void json_number(struct json *j, const char *key, int32_t v)
{
	if (v == GUARD_UNKNOWN)
		json_null(j, key);
	else
		json_i64(j, key, v);
}

static void json_setting(struct json *j, const char *key, enum guard_setting v)
{
	if (v == SETTING_UNKNOWN)
		json_null(j, key);
	else
		json_bool(j, key, v == SETTING_YES);
}

static void json_machine(struct json *j, const struct guard_facts *f)
{
	static const char *const lockdown[] = {"none", "integrity", "confidentiality"};
	static const char *const vendors[] = {"stable", "series", "frozen"};
	char text[32];

	json_obj(j, "kernel");
	json_str(j, "release", f->release);
	json_str(j, "version", f->version);
	json_str(j, "upstream",
		 f->kernel ? guard_version_text(text, sizeof(text), f->kernel) : NULL);
	json_str(j, "fixes", vendors[f->vendor]);
	json_str(j, "machine", f->machine);
	json_str(j, "distribution", f->distro);
	json_str(j, "config", f->config[0] ? f->config : NULL);
	json_setting(j, "hardened_usercopy", f->hardened_usercopy);
	json_setting(j, "uprobes", f->uprobes);
	json_setting(j, "realtime", f->realtime);
	json_setting(j, "bpf_syscall", f->bpf_syscall);
	json_bool(j, "btf", f->btf);
	json_str(j, "lockdown", lockdown[f->lockdown]);
	json_obj_end(j);
	json_obj(j, "process");
	json_u64(j, "uid", geteuid());
	json_bool(j, "cap_bpf", guard_can_bpf(f));
	json_bool(j, "cap_perfmon", guard_can_perfmon(f));
	json_bool(j, "cap_syslog", guard_capable(f, CAP_SYSLOG));
	json_bool(j, "cap_sys_ptrace", guard_capable(f, CAP_SYS_PTRACE));
	json_bool(j, "own_user_ns", f->own_user_ns);
	json_bool(j, "own_pid_ns", f->own_pid_ns);
	json_str(j, "container", f->container[0] ? f->container : NULL);
	json_obj_end(j);
	json_obj(j, "sysctl");
	json_number(j, "perf_event_paranoid", f->paranoid);
	json_number(j, "perf_event_max_sample_rate", f->max_sample_rate);
	json_number(j, "perf_cpu_time_max_percent", f->cpu_percent);
	json_number(j, "perf_event_mlock_kb", f->mlock_kb);
	json_number(j, "kptr_restrict", f->kptr_restrict);
	json_number(j, "unprivileged_bpf_disabled", f->unprivileged_bpf);
	json_obj_end(j);
}

static void json_choice(struct json *j, const char *key, const struct choice *c)
{
	json_obj(j, key);
	json_str(j, "engine", c->engine);
	json_str(j, "why_not", c->engine ? NULL : c->why);
	json_obj_end(j);
}

static void json_engines(struct json *j, const struct diagnosis *d)
{
	json_arr(j, "engines");
	for (size_t i = 0; i < engine_count(); i++) {
		int id = guard_engine_id(engine_at(i)->name);
		const struct guard_engine *e = &d->g.verdict.engines[id < 0 ? 0 : id];

		if (id < 0)
			continue;
		json_obj(j, NULL);
		json_str(j, "name", engine_at(i)->name);
		json_bool(j, "usable", e->usable);
		json_str(j, "why_not", e->usable ? NULL : e->why);
		json_str(j, "sees", guard_engine_sees((enum guard_engine_id)id));
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_verdict(struct json *j, const struct guard *g)
{
	static const char *const stacks[] = {"none", "frame_pointers", "tables"};

	json_str(j, "user_stacks", stacks[verdict_stacks(&g->verdict)]);
	json_obj(j, "mechanisms");
	for (unsigned m = 0; m < MECHANISMS; m++)
		json_str(j, guard_mechanism_name(m), guard_action_name(g->verdict.mechanisms[m]));
	json_obj_end(j);
	json_obj(j, "features");
	for (unsigned k = 0; k < FEATURES; k++)
		json_bool(j, guard_feature_name(k), guard_has(&g->features, k));
	json_obj_end(j);
	json_arr(j, "findings");
	for (size_t i = 0; i < g->verdict.n_findings; i++) {
		const struct guard_finding *f = &g->verdict.findings[i];

		json_obj(j, NULL);
		json_str(j, "id", f->row->id);
		json_str(j, "action", guard_action_name(f->row->action));
		json_bool(j, "accepted", f->accepted);
		json_bool(j, "certain", !f->unsure);
		json_arr(j, "mechanisms");
		for (unsigned m = 0; m < MECHANISMS; m++)
			if (f->row->mechanisms >> m & 1)
				json_str(j, NULL, guard_mechanism_name(m));
		json_arr_end(j);
		json_str(j, "fix", f->row->fix[0] ? f->row->fix : NULL);
		json_str(j, "title", f->row->title);
		json_str(j, "means", f->row->means);
		json_str(j, "todo", f->row->todo);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_times(struct json *j, const char *key, const struct selftest_times *t,
		       const char *why)
{
	json_obj(j, key);
	json_str(j, "why_not", why[0] ? why : NULL);
	json_u64(j, "tries", t->tries);
	json_u64(j, "failed", t->failed);
	json_u64(j, "mean_ns", t->mean_ns);
	json_u64(j, "p99_ns", t->p99_ns);
	json_u64(j, "worst_ns", t->worst_ns);
	json_obj_end(j);
}

static void json_probe(struct json *j, const struct doctor_probe *p)
{
	if (!p->asked) {
		json_null(j, "probe");
		return;
	}
	json_obj(j, "probe");
	json_str(j, "refused", p->refused ? p->refused->id : NULL);
	json_times(j, "kernel_ring", &p->kernel, p->kernel_why);
	json_times(j, "thaw_ring", &p->own.nested, p->own_why);
	json_obj_end(j);
}

void doctor_json(const struct diagnosis *d, FILE *out)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j, NULL);
	json_str(&j, "schema", DOCTOR_SCHEMA);
	json_str(&j, "verdict", guard_level_name(d->level));
	json_choice(&j, "command", &d->command);
	json_choice(&j, "system", &d->system);
	json_engines(&j, d);
	json_verdict(&j, &d->g);
	json_machine(&j, &d->g.facts);
	json_probe(&j, &d->probe);
	json_obj_end(&j);
}
