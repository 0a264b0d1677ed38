// SPDX-License-Identifier: MIT
#include "view/export.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"

const struct exporter *const exporters[] = {
	&export_collapsed,
	NULL,
};

int export_find(const char *name, const struct exporter **ret)
{
	struct buf known = {0};
	int rc;

	for (size_t i = 0; exporters[i]; i++) {
		if (!strcmp(exporters[i]->name, name)) {
			*ret = exporters[i];
			buf_done(&known);
			return 0;
		}
		buf_printf(&known, "%s%s", i ? ", " : "", exporters[i]->name);
	}
	rc = err_set(-EINVAL, "there is no format '%s'; those known are: %s", name,
		     buf_cstr(&known));
	buf_done(&known);
	return rc;
}
