// SPDX-License-Identifier: MIT
#include "view/export.h"

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

int export_kind_parse(const char *word, enum export_kind *ret)
{
	static const char *const kinds[] = {
		[EXPORT_CPU] = "cpu",
		[EXPORT_WAIT] = "wait",
		[EXPORT_LOCK] = "lock",
	};

	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], word))
			continue;
		*ret = i;
		return 0;
	}
	return err_set(-EINVAL, "--kind: '%s' is none of cpu, wait and lock", word);
}

int export_check(const struct model *m, enum export_kind kind)
{
	uint32_t unseen = m->facts.unseen;

	if (kind == EXPORT_WAIT && (unseen & UNSEEN_SWITCHES))
		return err_set(-ENODATA,
			       "it was recorded with the %s engine, which does not see waits; "
			       "record with --engine bpf or perf",
			       m->facts.engine);
	if (kind == EXPORT_LOCK && (unseen & UNSEEN_LOCKS))
		return err_set(-ENODATA,
			       "it was recorded with the %s engine, which does not see locks; "
			       "record with --engine bpf, as root",
			       m->facts.engine);
	return 0;
}
