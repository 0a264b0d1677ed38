// SPDX-License-Identifier: MIT
#include "cmd/cmd.h"

#include <stdio.h>

#include "base/err.h"
#include "record/symbolize.h"
#include "store/reader.h"

void cmd_show_help(const struct cmd_form *f)
{
	fputs(f->usage, stdout);
	options_help(f->rows, stdout);
	if (f->more)
		f->more();
}

int cmd_parse(const struct cmd_form *f, int argc, char **argv, void *into, const char **ret_path)
{
	int first, rc = options_parse(f->rows, argc, argv, OPTIONS_PERMUTE, into, &first);

	if (rc > 0)
		cmd_show_help(f);
	if (rc)
		return rc;
	if (argc - first > 1)
		return err_set(-EINVAL, "one file at a time, not %d", argc - first);
	*ret_path = first < argc ? argv[first] : NULL;
	return 0;
}

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
		reader_set_symtab(r, symbolize(r, NULL, notes, sizeof(notes)));
	reader_read_ahead(r);
	*ret = r;
	return 0;
}

void cmd_tell_damage(const char *verb, const char *path, struct reader *r)
{
	const struct reader_info *info = reader_info(r);

	if (!info->complete)
		fprintf(stderr, "thaw %s: %s: %s; this shows what could be read\n", verb, path,
			*info->damage ? info->damage : "it has no end");
}
