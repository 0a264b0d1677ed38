// SPDX-License-Identifier: MIT
#include "cmd/load.h"

#include "base/err.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "model/load.h"
#include "store/reader.h"

/* Events between two looks at the clock. */
enum { STEP = 1 << 16 };

static int parse_moment(const char *option, const char *word, struct cmd_moment *ret)
{
	int rc = word ? moment_parse(word, NSEC_PER_SEC, ret) : 0;

	return rc ? err_add(rc, "--%s", option) : 0;
}

int cmd_check_choice(struct cmd_choice *c)
{
	int rc = parse_moment("from", c->from_word, &c->from);

	rc = rc ? rc : parse_moment("to", c->to_word, &c->to);
	if (!rc && c->to.word && !c->to.clock && !c->from.clock && c->to.ns <= c->from.ns)
		return err_set(-EINVAL, "--to must be later than --from");
	return rc;
}

/* The start of the recording is a mark near the front, or else the first event. */
static int find_span(const char *path, struct moment_span *ret)
{
	uint64_t begin = 0;
	struct reader *r;
	struct event ev;
	int rc = reader_open(path, &r);

	if (rc)
		return rc;
	while ((rc = reader_next(r, &ev)) > 0) {
		begin = begin ? begin : ev.ts;
		if (ev.kind == EV_MARK && ev.mark.what == MARK_BEGIN) {
			begin = ev.ts;
			break;
		}
	}
	if (rc >= 0 && begin && reader_info(r)->start_unix_ns) {
		const struct reader_info *info = reader_info(r);

		ret->begin = info->start_unix_ns + (begin - info->start_mono_ns);
		ret->end = ret->begin + (info->last_ts > begin ? info->last_ts - begin : 0);
	}
	reader_close(r);
	return rc < 0 ? rc : 0;
}

int cmd_window(const char *path, const struct cmd_choice *c, uint64_t *ret_from, uint64_t *ret_to)
{
	struct moment_span span = {0};
	int rc = c->from.clock || c->to.clock ? find_span(path, &span) : 0;

	rc = rc ? rc : moment_resolve(&c->from, &span, ret_from);
	rc = rc ? rc : moment_resolve(&c->to, &span, ret_to);
	if (!rc && c->to.word && *ret_to <= *ret_from)
		rc = err_set(-EINVAL, "--to must be later than --from");
	return rc;
}

static int load_capture(struct reader *r, const char *path, const struct model_opts *opts,
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
	struct model_opts window = {.min_lock_wait = choice->min_lock_wait};
	struct summary_opts with = *opts;
	struct cmd_capture c = {0};
	int rc = cmd_open(path, true, &c.reader);

	rc = rc ? rc : cmd_window(path, choice, &window.from, &window.to);

	with.thread = choice->thread;
	rc = rc ? rc : load_capture(c.reader, path, &window, p, &c.model);
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
