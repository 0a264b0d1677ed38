// SPDX-License-Identifier: MIT
#include "export/folded.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"

static void folded_put_name(struct buf *b, const char *s)
{
	size_t at = b->len;

	text_put_clean(b, s);
	for (; at < b->len; at++)
		if (b->p[at] == ';')
			b->p[at] = ':';
}

static void folded_add(struct folded *l, unsigned side, uint64_t weight)
{
	const char *text = buf_cstr(&l->text);
	uint64_t key = map_hash_bytes(text, l->text.len), *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&l->by_text, key, &fresh);
		if (fresh || !strcmp(l->lines.v[*slot].text, text))
			break;
	}
	if (fresh) {
		*slot = l->lines.n;
		vec_push(&l->lines, (struct folded_line){.text = mem_strdup(text)});
	}
	l->lines.v[*slot].weight[side] += weight;
}

static void folded_add_stack(struct folded *l, const struct names *names, const struct thread *th,
			     const struct named_frame *f, size_t n, unsigned side, uint64_t weight)
{
	buf_clear(&l->text);
	folded_put_name(&l->text, th->name);
	if (!n)
		buf_printf(&l->text, ";[no stack]");
	for (size_t i = n; i-- > 0;) {
		const struct function *fn = names_function(names, f[i].function);

		buf_put_u8(&l->text, ';');
		folded_put_name(&l->text, fn->name);
		buf_printf(&l->text, "%s", fn->kernel ? "_[k]" : f[i].inlined ? "_[i]" : "");
	}
	folded_add(l, side, weight);
}

static void add_samples(struct folded *l, const struct export_job *job, unsigned side)
{
	struct model *m = job->model;

	for (size_t i = 0; i < m->tally.samples.n; i++) {
		const struct sample_row *r = &m->tally.samples.v[i];
		const struct named_frame *f;
		size_t n = names_stack(&m->names, r->kstack, r->ustack, &f);

		if (export_wants(job, r->thread))
			folded_add_stack(l, &m->names, r->thread, f, n, side, r->count);
	}
}

static void add_waits(struct folded *l, const struct export_job *job, unsigned side)
{
	bool only_locks = !EXPORT_HAS(job->kinds, EXPORT_WAIT);
	struct model *m = job->model;

	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];
		const struct named_frame *f;
		size_t n = names_probed_stack(&m->names, r->kstack, r->ustack, &f);

		if (only_locks && !reason_has(r->verdict.reason, TRAIT_LOCK))
			continue;
		if (export_wants(job, r->thread))
			folded_add_stack(l, &m->names, r->thread, f, n, side, r->total);
	}
}

static int by_text(const void *pa, const void *pb)
{
	const struct folded_line *a = pa, *b = pb;

	return strcmp(a->text, b->text);
}

void folded_take(struct folded *l, const struct export_job *job, unsigned side)
{
	if (EXPORT_HAS(job->kinds, EXPORT_CPU))
		add_samples(l, job, side);
	else
		add_waits(l, job, side);
}

void folded_sort(struct folded *l)
{
	sort_by(l->lines.v, l->lines.n, sizeof(*l->lines.v), by_text);
}

void folded_done(struct folded *l)
{
	for (size_t i = 0; i < l->lines.n; i++)
		free(l->lines.v[i].text);
	vec_done(&l->lines);
	map_done(&l->by_text);
	buf_done(&l->text);
}
