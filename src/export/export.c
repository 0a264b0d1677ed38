// SPDX-License-Identifier: MIT
#include "export/export.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

int export_find(const struct exporter *const *known, const char *name, const struct exporter **ret)
{
	struct buf list = {0};
	int rc;

	for (size_t i = 0; known[i]; i++) {
		if (!strcmp(known[i]->name, name)) {
			*ret = known[i];
			buf_done(&list);
			return 0;
		}
		buf_printf(&list, "%s%s", i ? ", " : "", known[i]->name);
	}
	rc = err_set(-EINVAL, "there is no format '%s'; those known are: %s", name,
		     buf_cstr(&list));
	buf_done(&list);
	return rc;
}

static const char *const kinds[] = {
	[EXPORT_CPU] = "cpu",
	[EXPORT_WAIT] = "wait",
	[EXPORT_LOCK] = "lock",
};

const char *export_kind_word(size_t i)
{
	return i < ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

int export_kind_parse(const char *word, enum export_kind *ret)
{
	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], word))
			continue;
		*ret = i;
		return 0;
	}
	return err_set(-EINVAL, "--kind: '%s' is none of cpu, wait and lock", word);
}

int export_written(const struct export_job *job)
{
	return ferror(job->out) ? err_set(-EIO, "%s", strerror(errno ? errno : EIO)) : 0;
}

/* The last one is said: what others rest on comes later in the table. */
static int missing(const struct model *m, uint32_t unseen)
{
	for (size_t i = ARRAY_LEN(unseen_rows); i-- > 0;) {
		const struct unseen_row *row = &unseen_rows[i];

		if (row->with && (row->bit & unseen))
			return err_set(-ENODATA,
				       "it was recorded with the %s engine, which does not see %s; "
				       "record with %s",
				       m->facts.engine, row->brief, row->with);
	}
	return err_set(-ENODATA, "it was recorded with the %s engine, which does not see all of it",
		       m->facts.engine);
}

static uint32_t needs_of(enum export_kind kind)
{
	return kind == EXPORT_WAIT   ? UNSEEN_SWITCHES
	       : kind == EXPORT_LOCK ? UNSEEN_LOCKS
				     : UNSEEN_SAMPLES;
}

int export_choose(const struct exporter *e, const struct model *m, enum export_kind asked,
		  unsigned *ret_kinds)
{
	uint32_t unseen = m->facts.unseen;

	*ret_kinds = 0;
	if (e->needs & unseen)
		return missing(m, e->needs & unseen);
	if (asked < EXPORT_KINDS && !EXPORT_HAS(e->kinds, asked))
		return err_set(-EINVAL, "%s has no --kind %s", e->name, kinds[asked]);
	if (asked < EXPORT_KINDS && (needs_of(asked) & unseen))
		return missing(m, needs_of(asked) & unseen);
	for (unsigned k = 0; k < EXPORT_KINDS; k++) {
		if (!EXPORT_HAS(e->kinds, k) || (needs_of(k) & unseen))
			continue;
		if (asked == k || (asked == EXPORT_KINDS && !(e->one_kind && *ret_kinds)))
			*ret_kinds |= 1u << k;
	}
	return 0;
}
