// SPDX-License-Identifier: MIT
#include "cmd/load.h"

#include "base/err.h"
#include "cmd/cmd.h"
#include "model/load.h"
#include "store/reader.h"

/* Events between two looks at the clock. */
enum { STEP = 1 << 16 };

int cmd_check_choice(const struct cmd_choice *c)
{
	if (c->to && c->to <= c->from)
		return err_set(-EINVAL, "--to must be later than --from");
	return 0;
}

static int load(struct reader *r, const char *path, const struct model_opts *opts,
		struct progress *p, struct model **ret)
{
	struct loading *l = loading_new(r, opts);
	int rc;

	while ((rc = loading_step(l, STEP)) > 0)
		progress_show(p, loading_progress(l));
	if (rc) {
		loading_free(l);
		return rc;
	}
	*ret = loading_finish(l, path);
	return 0;
}

int cmd_load_stage(const char *path, const struct cmd_choice *choice,
		   const struct summary_opts *opts, struct progress *p, struct cmd_capture *ret)
{
	struct model_opts window = {
		.from = choice->from, .to = choice->to, .min_lock_wait = choice->min_lock_wait};
	struct summary_opts with = *opts;
	struct cmd_capture c = {0};
	int rc = cmd_open(path, true, &c.reader);

	with.thread = choice->thread;
	rc = rc ? rc : load(c.reader, path, &window, p, &c.model);
	rc = rc ? rc : summary_new(c.model, &with, &c.summary);
	if (rc)
		cmd_unload(&c);
	else
		*ret = c;
	return rc;
}

int cmd_load(const char *path, const struct cmd_choice *choice, const struct summary_opts *opts,
	     struct cmd_capture *ret)
{
	struct progress p;
	int rc;

	progress_begin(&p, "reading");
	rc = cmd_load_stage(path, choice, opts, &p, ret);
	progress_end(&p);
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
