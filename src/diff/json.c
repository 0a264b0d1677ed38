// SPDX-License-Identifier: MIT
/*
 * A comparison as JSON, schema "thaw.diff/1". Times are ns: before_ns and after_ns as they were
 * recorded; before, after, change and margin in the unit that "per" says: ns, or ns for each second
 * of wall or CPU time. Keys may be added; none is ever left out.
 */
#include "base/json.h"
#include "diff/shown.h"
#include "report/json_parts.h"

static void put_side(struct json *j, const char *key, const struct diff_side *s)
{
	const struct model *m = s->s->model;
	const struct facts *f = &m->facts;

	json_obj(j, key);
	json_str(j, "file", s->path);
	json_u64(j, "from_ns", s->start - m->timeline.begin);
	json_u64(j, "to_ns", s->start - m->timeline.begin + s->window);
	json_u64(j, "wall_ns", s->window);
	json_u64(j, "cpu_ns", (uint64_t)(s->cpu_sum + 0.5));
	json_u64(j, "samples", s->s->samples);
	json_u64(j, "freq_hz", f->freq_hz);
	json_f64(j, "sample_ns", s->period);
	json_u64(j, "blocks", s->blocks);
	json_str(j, "host", f->host);
	json_str(j, "kernel", f->kernel);
	json_str(j, "engine", f->engine);
	json_arr(j, "command");
	for (size_t i = 0; i < f->command.n; i++)
		json_str(j, NULL, f->command.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void put_numbers(struct json *j, const struct diff *d, const struct diff_row *r)
{
	json_u64(j, "before_ns", (uint64_t)(r->ns_a + 0.5));
	json_u64(j, "after_ns", (uint64_t)(r->ns_b + 0.5));
	json_u64(j, "before_count", r->a ? r->a->count : 0);
	json_u64(j, "after_count", r->b ? r->b->count : 0);
	json_f64(j, "before", r->r.before);
	json_f64(j, "after", r->r.after);
	json_f64(j, "change", r->r.after - r->r.before);
	json_f64(j, "margin", diff_margin(d, r));
	json_bool(j, "tested", r->tested);
	json_f64(j, "p", r->tested ? r->r.p : 1);
	json_f64(j, "p_corrected", r->p);
	json_bool(j, "different", r->different);
}

static void put_row(struct json *j, const struct diff *d, const struct diff_row *r)
{
	const struct diff_item *it = diff_item_of(r);

	json_obj(j, NULL);
	switch (r->kind) {
	case DIFF_SELF:
	case DIFF_TOTAL:
		json_str(j, "name", it->name);
		json_str(j, "module", it->where);
		json_str(j, "module_after", r->b ? r->b->where : it->where);
		break;
	case DIFF_WAIT:
		json_str(j, "reason", it->where);
		json_bool(j, "idle", it->idle);
		json_str(j, "place", it->name);
		break;
	default:
		json_str(j, "kind", it->where);
		json_str(j, "name", it->name);
	}
	put_numbers(j, d, r);
	json_obj_end(j);
}

static void put_rows(struct json *j, const struct diff *d, const struct diff_shown *v,
		     enum diff_kind kind, const char *key, bool seen)
{
	size_t left = v->top ? v->top : SIZE_MAX;

	/* null, not an empty list: what the engine did not see may have happened. */
	if (!seen) {
		json_null(j, key);
		return;
	}
	json_arr(j, key);
	for (size_t i = 0; i < d->rows.n && left; i++)
		if (d->rows.v[i].kind == kind) {
			put_row(j, d, &d->rows.v[i]);
			left--;
		}
	json_arr_end(j);
}

static void put_stuck(struct json *j, const struct diff *d)
{
	const struct summary *s = d->b->s;
	struct buf b = {0};

	json_arr(j, "stuck");
	for (size_t i = 0; i < d->stuck.n; i++) {
		const struct diff_stuck *w = d->stuck.v[i];

		buf_clear(&b);
		diff_stuck_words(d, w, &b);
		json_obj(j, NULL);
		json_u64(j, "pid", w->thread->pid);
		json_u64(j, "tid", w->thread->tid);
		json_str(j, "comm", w->thread->name);
		json_str(j, "reason", reason_name(w->reason));
		json_str(j, "lock", w->at < s->locks.n ? s->locks.v[w->at].name : NULL);
		json_u64(j, "since_ns", w->start - s->model->timeline.begin);
		json_bool(j, "since_before", w->before);
		json_str(j, "words", buf_cstr(&b));
		json_obj_end(j);
	}
	json_arr_end(j);
	buf_done(&b);
}

void diff_json(const struct diff *d, const struct diff_shown *v, FILE *out)
{
	struct buf lead = {0};
	struct json j;

	json_init(&j, out);
	diff_lead(d, &lead);
	json_obj(&j, NULL);
	json_str(&j, "schema", DIFF_SCHEMA);
	json_str(&j, "summary", buf_cstr(&lead));
	json_u64(&j, "different", d->differ);
	json_obj(&j, "method");
	json_str(&j, "per", diff_per_name(d->opts.per));
	json_f64(&j, "pace", d->pace.ratio);
	json_f64(&j, "pace_error", d->pace.error);
	json_u64(&j, "pace_functions", d->pace.functions);
	json_bool(&j, "pace_differs", d->pace.differs);
	json_f64(&j, "alpha", d->opts.alpha);
	json_f64(&j, "noise", d->opts.noise);
	json_str(&j, "correction", "holm");
	json_u64(&j, "tested", d->tested);
	json_u64(&j, "too_small", d->small);
	json_obj_end(&j);
	json_arr(&j, "notes");
	for (size_t i = 0; i < d->notes.n; i++)
		json_str(&j, NULL, d->notes.v[i]);
	json_arr_end(&j);
	put_side(&j, "before", d->a);
	put_side(&j, "after", d->b);
	put_stuck(&j, d);
	put_rows(&j, d, v, DIFF_SELF, "functions_self", d->functions);
	put_rows(&j, d, v, DIFF_TOTAL, "functions_total", d->functions);
	put_rows(&j, d, v, DIFF_WAIT, "waits", d->waits);
	put_rows(&j, d, v, DIFF_LOCK, "locks", d->locks);
	json_obj_end(&j);
	buf_done(&lead);
}
