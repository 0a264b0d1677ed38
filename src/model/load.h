/* SPDX-License-Identifier: MIT */
/* A capture into a model. */
#ifndef THAW_MODEL_LOAD_H
#define THAW_MODEL_LOAD_H

#include "model/model.h"

struct loading;
struct reader;

/* opts->frames is ignored: the reader's are used, so it must outlive the model. */
int model_load(struct reader *r, const char *path, const struct model_opts *opts,
	       struct model **ret);

/*
 * The same in steps of so many events, for callers with something to show meanwhile: 1 while there
 * is more to do, 0 at the end (then call loading_finish(), which frees it), negative on I/O errors.
 */
struct loading *loading_new(struct reader *r, const struct model_opts *opts);
int loading_step(struct loading *l, uint64_t events);
double loading_progress(const struct loading *l); /* 0 to 1 */
struct model *loading_finish(struct loading *l, const char *path);
void loading_free(struct loading *l);

/*
 * The same for a growing capture: call model_follow_more() whenever it has grown (reader_follow()).
 * A loss is known only after the time that it covers: lost events are counted, but the threads'
 * time keeps its last kind meanwhile. To see results, finish a copy (fork).
 */
struct model *model_follow(struct reader *r, const struct model_opts *opts);
int model_follow_more(struct model *m, struct reader *r);
void model_follow_finish(struct model *m, const struct reader *r, const char *path);

#endif
