// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "cmd/doctor.h"
#include "engine/engine.h"
#include "report/words.h"

enum { LABEL_WIDE = 8, CHOICE_WIDE = 20 };

static void doctor_text_say(const char *label, const char *words)
{
	printf("  %-*s ", LABEL_WIDE, label);
	words_wrap(stdout, words, LABEL_WIDE + 3, LABEL_WIDE + 3, WORDS_WIDTH);
}

static void headline(const struct diagnosis *d)
{
	static const char *const words[] = {
		[LEVEL_GOOD] = "All is well: thaw can record everything here.",
		[LEVEL_ACCEPTED] = "thaw can record everything here, at a risk that was accepted.",
		[LEVEL_DEGRADED] =
			"thaw can record here, but not everything. What is left out, and "
			"why, is below.",
		[LEVEL_REFUSED] = "thaw cannot record here. Why, and what to do, is below.",
	};

	words_wrap(stdout, words[d->level], 0, 0, WORDS_WIDTH);
}

static void machine_rows(const struct guard_facts *f)
{
	char upstream[32];
	struct buf b = {0};
	const struct passwd *pw = getpwuid(geteuid());

	printf("\nMachine\n");
	buf_printf(&b, "%s%s%s", f->release, f->distro[0] ? ", " : "", f->distro);
	guard_version_text(upstream, sizeof(upstream), f->kernel);
	if (f->kernel && strncmp(f->release, upstream, strlen(upstream)))
		buf_printf(&b, " (upstream's %s)", upstream);
	if (f->vendor == VENDOR_FROZEN)
		buf_printf(&b, "; its version does not tell which fixes are in it");
	if (f->realtime == SETTING_YES)
		buf_printf(&b, "; real-time");
	doctor_text_say("kernel", buf_cstr(&b));
	buf_clear(&b);
	buf_printf(&b, "%s, %s", pw ? pw->pw_name : "an unnamed user",
		   guard_can_bpf(f) && guard_can_perfmon(f) ? "with CAP_BPF and CAP_PERFMON"
		   : guard_can_perfmon(f)		    ? "with CAP_PERFMON, without CAP_BPF"
		   : guard_can_bpf(f)			    ? "with CAP_BPF, without CAP_PERFMON"
							    : "without CAP_BPF and CAP_PERFMON");
	if (f->own_user_ns)
		buf_printf(&b, ", in a user namespace");
	if (f->own_pid_ns)
		buf_printf(&b, ", in a pid namespace");
	if (f->container[0])
		buf_printf(&b, ", in a container (%s)", f->container);
	doctor_text_say("user", buf_cstr(&b));
	buf_done(&b);
}

/* Is it what the list of engines says anyway? */
static bool told_below(const struct diagnosis *d, const char *why)
{
	for (unsigned e = 0; e < ENGINES; e++)
		if (!strcmp(d->g.verdict.engines[e].why, why))
			return true;
	return false;
}

static void choice_row(const struct diagnosis *d, const char *label, const struct choice *c)
{
	struct buf b = {0};

	if (c->engine)
		buf_printf(&b, "with the %s engine", c->engine);
	else if (told_below(d, c->why))
		buf_printf(&b, "not possible, see the engines");
	else
		buf_printf(&b, "not possible: %s", c->why);
	printf("  %-*s ", CHOICE_WIDE, label);
	words_wrap(stdout, buf_cstr(&b), CHOICE_WIDE + 3, CHOICE_WIDE + 3, WORDS_WIDTH);
	buf_done(&b);
}

static void engine_rows(const struct diagnosis *d)
{
	printf("\nRecording\n");
	choice_row(d, "thaw record COMMAND", &d->command);
	choice_row(d, "thaw record -a", &d->system);
	printf("\nEngines, the one that sees most first\n");
	for (size_t i = 0; i < engine_count(); i++) {
		const char *name = engine_at(i)->name;
		int id = guard_engine_id(name);
		const struct guard_engine *e = &d->g.verdict.engines[id < 0 ? 0 : id];
		struct buf b = {0};

		if (id < 0)
			continue;
		if (e->usable)
			buf_printf(&b, "can be used. It sees %s.",
				   guard_engine_sees((enum guard_engine_id)id));
		else
			buf_printf(&b, "cannot be used: %s", e->why);
		doctor_text_say(name, buf_cstr(&b));
		buf_done(&b);
	}
}

static void finding_rows(const struct guard_finding *f, bool brief)
{
	struct buf b = {0};

	buf_printf(&b, "%c%s%s%s.", toupper((unsigned char)f->row->title[0]), f->row->title + 1,
		   f->accepted ? " (accepted)" : "",
		   f->unsure ? " (perhaps: the version does not tell)" : "");
	doctor_text_say(f->row->id, buf_cstr(&b));
	if (!brief)
		doctor_text_say("", f->row->means);
	doctor_text_say("", f->row->todo);
	if (f->row->action > GUARD_LIMIT && !f->accepted && !brief) {
		buf_clear(&b);
		buf_printf(&b, "To run the risk: thaw record --accept %s", f->row->id);
		doctor_text_say("", buf_cstr(&b));
	}
	buf_done(&b);
}

/* Does thaw record differently because of it? */
static bool concerns_thaw(const struct guard_finding *f)
{
	return f->row->mechanisms & ~(1u << MECHANISM_KERNEL_RING);
}

static void findings(const struct guard_verdict *v, bool thaws, const char *title)
{
	bool any = false;

	for (size_t i = 0; i < v->n_findings; i++) {
		if (concerns_thaw(&v->findings[i]) != thaws)
			continue;
		if (!any)
			printf("\n%s\n", title);
		any = true;
		finding_rows(&v->findings[i], !thaws);
	}
}

static void times_row(const char *label, const struct selftest_times *t, const char *why)
{
	char mean[16], p99[16], worst[16], tries[16], failed[16];
	struct buf b = {0};

	if (why[0])
		buf_printf(&b, "not tried: %s", why);
	else if (!t->tries)
		buf_printf(&b, "the breakpoint never fired");
	else
		buf_printf(&b, "%s each time, 99%% within %s, %s at worst; %s of %s lost",
			   units_duration(mean, sizeof(mean), t->mean_ns),
			   units_duration(p99, sizeof(p99), t->p99_ns),
			   units_duration(worst, sizeof(worst), t->worst_ns),
			   units_count(failed, sizeof(failed), t->failed),
			   units_count(tries, sizeof(tries), t->tries));
	doctor_text_say(label, buf_cstr(&b));
	buf_done(&b);
}

static void probe_rows(const struct doctor_probe *p)
{
	if (!p->asked)
		return;
	printf("\nA ring buffer that is interrupted by another writer, measured\n");
	times_row("kernel", &p->kernel, p->kernel_why);
	times_row("thaw", &p->own.nested, p->own_why);
}

void doctor_text(const struct diagnosis *d)
{
	headline(d);
	machine_rows(&d->g.facts);
	engine_rows(d);
	findings(&d->g.verdict, true, "Findings");
	findings(&d->g.verdict, false, "Known bugs of this kernel that do not affect thaw");
	probe_rows(&d->probe);
}
