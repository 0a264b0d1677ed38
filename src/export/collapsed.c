// SPDX-License-Identifier: MIT
/*
 * Collapsed stacks, one line each, as flamegraph.pl, inferno and speedscope read them:
 *
 *   comm;root;...;leaf count
 *
 * Kernel frames stand above the user's and end in _[k], inlined ones in _[i]. A ';' or a line break
 * inside a name would end a frame or a line, so they become ':' and ' '. Equal lines are summed;
 * the output is sorted, so that two exports can be compared.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

struct line {
	char *text;
	uint64_t weight;
};

struct lines {
	VEC(struct line) v;
	struct map by_text;
	struct buf text;
};

static void put_name(struct buf *b, const char *s)
{
	size_t at = b->len;

	text_put_clean(b, s);
	for (; at < b->len; at++)
		if (b->p[at] == ';')
			b->p[at] = ':';
}

static void add(struct lines *l, uint64_t weight)
{
	const char *text = buf_cstr(&l->text);
	uint64_t key = map_hash_bytes(text, l->text.len), *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&l->by_text, key, &fresh);
		if (fresh || !strcmp(l->v.v[*slot].text, text))
			break;
	}
	if (fresh) {
		*slot = l->v.n;
		vec_push(&l->v, (struct line){.text = mem_strdup(text)});
	}
	l->v.v[*slot].weight += weight;
}

static void add_stack(struct lines *l, const struct names *names, const struct thread *th,
		      const struct named_frame *f, size_t n, uint64_t weight)
{
	buf_clear(&l->text);
	put_name(&l->text, th->name);
	if (!n)
		buf_printf(&l->text, ";[no stack]");
	for (size_t i = n; i-- > 0;) {
		const struct function *fn = names_function(names, f[i].function);

		buf_put_u8(&l->text, ';');
		put_name(&l->text, fn->name);
		buf_printf(&l->text, "%s", fn->kernel ? "_[k]" : f[i].inlined ? "_[i]" : "");
	}
	add(l, weight);
}

static void add_samples(struct lines *l, const struct export_job *job)
{
	struct model *m = job->model;

	for (size_t i = 0; i < m->tally.samples.n; i++) {
		const struct sample_row *r = &m->tally.samples.v[i];
		const struct named_frame *f;
		size_t n = names_stack(&m->names, r->kstack, r->ustack, &f);

		if (export_wants(job, r->thread))
			add_stack(l, &m->names, r->thread, f, n, r->count);
	}
}

static void add_waits(struct lines *l, const struct export_job *job)
{
	bool only_locks = !EXPORT_HAS(job->kinds, EXPORT_WAIT);
	struct model *m = job->model;

	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];
		const struct named_frame *f;
		size_t n = names_probed_stack(&m->names, r->kstack, r->ustack, &f);

		if (only_locks && !export_is_lock(r->verdict.reason))
			continue;
		if (export_wants(job, r->thread))
			add_stack(l, &m->names, r->thread, f, n, r->total);
	}
}

static int by_text(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	return strcmp(a->text, b->text);
}

static int run(const struct export_job *job)
{
	uint64_t unit = EXPORT_HAS(job->kinds, EXPORT_CPU) ? 1 : 1000;
	struct lines l = {0};

	if (EXPORT_HAS(job->kinds, EXPORT_CPU))
		add_samples(&l, job);
	else
		add_waits(&l, job);
	if (l.v.n)
		qsort(l.v.v, l.v.n, sizeof(*l.v.v), by_text);
	for (size_t i = 0; i < l.v.n; i++) {
		if (l.v.v[i].weight >= unit)
			fprintf(job->out, "%s %" PRIu64 "\n", l.v.v[i].text,
				l.v.v[i].weight / unit);
		free(l.v.v[i].text);
	}
	vec_done(&l.v);
	map_done(&l.by_text);
	buf_done(&l.text);
	return 0;
}

const struct exporter export_collapsed = {
	.name = "collapsed",
	.words = "collapsed stacks, for flamegraph.pl, inferno and speedscope",
	.suffix = ".folded",
	.kinds = EXPORT_ALL,
	.one_kind = true,
	.run = run,
};
