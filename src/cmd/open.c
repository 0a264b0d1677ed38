// SPDX-License-Identifier: MIT
#include "base/err.h"
#include "capture/symbolize.h"
#include "cmd/cmd.h"
#include "store/reader.h"

int cmd_open(const char *path, bool names, struct reader **ret)
{
	char notes[256];
	struct reader *r;
	int rc = reader_open(path, &r);

	if (rc == -ENOENT)
		return err_set(
			rc,
			"there is no file %s; record one with: thaw record -- COMMAND, or name "
			"another",
			path);
	if (rc)
		return rc;
	if (names && !reader_info(r)->has_symbols && reader_stacks(r))
		reader_set_symtab(r, symbolize(r, notes, sizeof(notes)));
	*ret = r;
	return 0;
}
