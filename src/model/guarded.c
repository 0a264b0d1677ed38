// SPDX-License-Identifier: MIT
#include "model/guarded.h"

#include <string.h>

#include "wire/meta.h"

/* Takes the next word from *s. */
static char *guarded_word(const char **s)
{
	size_t n = strcspn(*s, " ");
	char *w = mem_strndup(*s, n);

	*s += n + ((*s)[n] == ' ');
	return w;
}

void guarded_take(struct guarded *g, const struct reader *r)
{
	const char *val = reader_meta(r, META_GUARD_VERDICT, 0);

	guarded_done(g);
	g->verdict = val ? mem_strdup(val) : NULL;
	for (size_t i = 0; (val = reader_meta(r, META_GUARD_FINDING, i)); i++) {
		struct guarded_finding *f = vec_add(&g->findings);

		f->id = guarded_word(&val);
		f->action = guarded_word(&val);
		f->mechanisms = guarded_word(&val);
		f->title = mem_strdup(val);
	}
	for (size_t i = 0; (val = reader_meta(r, META_GUARD_ENGINE, i)); i++)
		vec_push(&g->passed_over, mem_strdup(val));
}

void guarded_done(struct guarded *g)
{
	for (size_t i = 0; i < g->findings.n; i++) {
		free(g->findings.v[i].id);
		free(g->findings.v[i].action);
		free(g->findings.v[i].mechanisms);
		free(g->findings.v[i].title);
	}
	for (size_t i = 0; i < g->passed_over.n; i++)
		free(g->passed_over.v[i]);
	vec_done(&g->findings);
	vec_done(&g->passed_over);
	free(g->verdict);
	g->verdict = NULL;
}

bool guarded_matters(const struct guarded *g)
{
	return g->verdict && strcmp(g->verdict, "good") != 0;
}
