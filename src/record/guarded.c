// SPDX-License-Identifier: MIT
#include "record/guarded.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/engine.h"
#include "guard/guard.h"
#include "wire/meta.h"

/* "H1 degrade user_read,unwind reading a program's memory ..." */
static void put_finding(struct writer *w, const struct guard_finding *f)
{
	struct buf b = {0};
	bool any = false;

	buf_printf(&b, "%s %s ", f->row->id,
		   f->accepted ? "accept" : guard_action_name(f->row->action));
	for (unsigned m = 0; m < MECHANISMS; m++)
		if (f->row->mechanisms >> m & 1) {
			buf_printf(&b, "%s%s", any ? "," : "", guard_mechanism_name(m));
			any = true;
		}
	buf_printf(&b, "%s %s", any ? "" : "-", f->row->title);
	writer_meta(w, META_GUARD_FINDING, buf_cstr(&b));
	buf_done(&b);
}

/* Why each engine that sees more was not taken. */
static void put_passed_over(struct writer *w, const struct plan *plan, const char *engine)
{
	for (size_t i = 0; i < engine_count(); i++) {
		const struct engine_ops *ops = engine_at(i);
		struct buf b = {0};

		if (!strcmp(ops->name, engine))
			return;
		if (engine_check(ops, plan))
			buf_printf(&b, "%s: %s", ops->name, err_msg());
		else
			buf_printf(&b, "%s: another one was asked for", ops->name);
		writer_meta(w, META_GUARD_ENGINE, buf_cstr(&b));
		buf_done(&b);
	}
}

void guard_describe(struct writer *w, const struct plan *plan, const char *engine)
{
	const struct guard_verdict *v = &plan->guard->verdict;

	writer_meta(w, META_GUARD_VERDICT, guard_level_name(verdict_level(v, engine)));
	for (size_t i = 0; i < v->n_findings; i++)
		put_finding(w, &v->findings[i]);
	for (unsigned i = 0; i < BUGS; i++)
		if (plan->accepted >> i & 1)
			writer_meta(w, META_GUARD_ACCEPT, guard_rows()[i].id);
	put_passed_over(w, plan, engine);
}

/* The first finding that makes a capture show less, or that was accepted. */
static const struct guard_finding *worst(const struct guard_verdict *v)
{
	for (size_t i = 0; i < v->n_findings; i++) {
		const struct guard_finding *f = &v->findings[i];

		if (f->accepted)
			return f;
		for (unsigned m = 0; m < MECHANISMS; m++)
			if (f->row->mechanisms >> m & 1 && guard_mechanism_costs(m))
				return f;
	}
	return NULL;
}

void guard_note(const struct plan *plan, const char *engine, char *out, size_t room)
{
	const struct guard_verdict *v = &plan->guard->verdict;
	const struct guard_finding *f = worst(v);
	int id = guard_engine_id(engine);

	out[0] = '\0';
	if (verdict_level(v, engine) == LEVEL_GOOD)
		return;
	if (id > 0 && !plan->engine)
		snprintf(out, room, "recorded with the %s engine: %s; thaw doctor says why", engine,
			 guard_engine_sees((enum guard_engine_id)id));
	else if (id == 0 && f)
		snprintf(out, room, "%s%s: %s; thaw doctor tells more", f->row->id,
			 f->accepted ? " was accepted" : "", f->row->title);
}
