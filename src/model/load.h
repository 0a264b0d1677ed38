/* SPDX-License-Identifier: MIT */
/* A capture into a model. */
#ifndef THAW_MODEL_LOAD_H
#define THAW_MODEL_LOAD_H

#include "model/model.h"

struct reader;

/* opts->frames is ignored: the reader's are used, so it must outlive the model. */
int model_load(struct reader *r, const char *path, const struct model_opts *opts,
	       struct model **ret);

#endif
