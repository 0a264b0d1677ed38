// SPDX-License-Identifier: MIT
#include "cmd/load.h"

#include "base/err.h"
#include "cmd/cmd.h"
#include "model/load.h"
#include "store/reader.h"

int cmd_check_choice(const struct cmd_choice *c)
{
	if (c->to && c->to <= c->from)
		return err_set(-EINVAL, "--to must be later than --from");
	return 0;
}

int cmd_load(const char *path, const struct cmd_choice *choice, const struct summary_opts *opts,
	     struct cmd_capture *ret)
{
	struct model_opts window = {
		.from = choice->from, .to = choice->to, .min_lock_wait = choice->min_lock_wait};
	struct summary_opts with = *opts;
	struct cmd_capture c = {0};
	int rc = cmd_open(path, true, &c.reader);

	with.thread = choice->thread;
	rc = rc ? rc : model_load(c.reader, path, &window, &c.model);
	rc = rc ? rc : summary_new(c.model, &with, &c.summary);
	if (rc)
		cmd_unload(&c);
	else
		*ret = c;
	return rc;
}

void cmd_unload(struct cmd_capture *c)
{
	summary_free(c->summary);
	model_free(c->model);
	if (c->reader)
		reader_close(c->reader);
	*c = (struct cmd_capture){0};
}
