// SPDX-License-Identifier: MIT
#include "export/profile.h"

#include "model/summary/parts.h"

static const struct {
	const char *type, *unit;
	enum export_kind kind;
} values[PROFILE_VALUES] = {
#define PROFILE_VALUE(UPPER, type, unit, kind) {type, unit, EXPORT_##kind},
#include "export/profile.def"
};

const char *profile_type(enum profile_value v)
{
	return values[v].type;
}

const char *profile_unit(enum profile_value v)
{
	return values[v].unit;
}

void profile_init(struct profile *p, const struct export_job *job)
{
	uint64_t hz = job->model->facts.freq_hz;

	*p = (struct profile){.job = job, .period = hz ? 1000000000 / hz : 0};
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		if (EXPORT_HAS(job->kinds, values[v].kind) && (v != PROFILE_CPU || p->period))
			p->values |= 1u << v;
	if (profile_has(p, PROFILE_OFF_CPU) || profile_has(p, PROFILE_DELAY))
		blamed_waits_init(&p->blamed, job->model);
}

void profile_done(struct profile *p)
{
	blamed_waits_done(&p->blamed);
}

size_t profile_rows(const struct profile *p)
{
	return p->job->model->tally.samples.n + p->job->model->tally.waits.n;
}

static bool sample_row(const struct profile *p, const struct sample_row *r, struct profile_row *ret)
{
	if (!profile_has(p, PROFILE_SAMPLES) || !r->count)
		return false;
	*ret = (struct profile_row){.thread = r->thread, .kstack = r->kstack, .ustack = r->ustack};
	ret->value[PROFILE_SAMPLES] = r->count;
	ret->value[PROFILE_CPU] = r->count * p->period;
	return true;
}

static void add_lock(const struct profile *p, const struct wait_row *r, struct profile_row *ret)
{
	const struct summary *s = p->job->summary;
	uint32_t lock = locks_index(&p->job->model->locks, r->lock);
	size_t sum = summary_lock(s, lock);

	ret->lock = sum < s->locks.n ? &s->locks.v[sum] : NULL;
	ret->holder = blamed_holder(&p->blamed, p->job->model, lock, r->thread);
}

static bool wait_row(const struct profile *p, const struct wait_row *r, struct profile_row *ret)
{
	bool lock = profile_has(p, PROFILE_DELAY) && reason_has(r->verdict.reason, TRAIT_LOCK);

	if ((!profile_has(p, PROFILE_OFF_CPU) && !lock) || !(r->total || r->count))
		return false;
	*ret = (struct profile_row){
		.thread = r->thread,
		.kstack = r->kstack,
		.ustack = r->ustack,
		.probed = true,
		.reason = reason_name(r->verdict.reason),
	};
	ret->value[PROFILE_OFF_CPU] = r->total;
	ret->value[PROFILE_CONTENTIONS] = lock ? r->count : 0;
	ret->value[PROFILE_DELAY] = lock ? r->total : 0;
	if (r->lock)
		add_lock(p, r, ret);
	return true;
}

bool profile_row(const struct profile *p, size_t i, struct profile_row *ret)
{
	const struct tally *t = &p->job->model->tally;
	bool there = i < t->samples.n ? sample_row(p, &t->samples.v[i], ret)
				      : wait_row(p, &t->waits.v[i - t->samples.n], ret);

	return there && export_wants(p->job, ret->thread);
}
