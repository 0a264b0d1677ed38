// SPDX-License-Identifier: MIT
#include "model/wait/waited_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "timeline/machine.h"

static uint64_t hash_text(const char *s)
{
	return map_hash_bytes(s, strlen(s));
}

static bool is_same(const struct waited_file *f, const struct ev_file *e)
{
	return !strcmp(f->path, e->path) && !strcmp(f->type, e->fstype) &&
	       !strcmp(f->source, e->source);
}

static uint32_t file_number(struct waited_files *f, const struct ev_file *e)
{
	uint64_t key =
		map_mix(map_mix(hash_text(e->path)) ^ hash_text(e->fstype)) ^ hash_text(e->source);
	uint64_t *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&f->by_text, key, &fresh);
		if (fresh) {
			vec_push(&f->list,
				 (struct waited_file){mem_strdup(e->path), mem_strdup(e->fstype),
						      mem_strdup(e->source)});
			*slot = f->list.n;
		}
		if (fresh || is_same(&f->list.v[*slot - 1], e))
			return (uint32_t)*slot;
	}
}

void waited_file_event(struct waited_files *f, const struct timeline *t, const struct ev_file *e)
{
	struct ev_file known = {.path = e->path ? e->path : "",
				.fstype = e->fstype ? e->fstype : "",
				.source = e->source ? e->source : ""};
	struct thread *th = life_alive(t, e->tid);

	if (!th || th->life->phase != INTERVAL_WAITING)
		return;
	th->life->file = *known.path ? file_number(f, &known) : 0;
}

void waited_files_done(struct waited_files *f)
{
	for (size_t i = 0; i < f->list.n; i++) {
		free(f->list.v[i].path);
		free(f->list.v[i].type);
		free(f->list.v[i].source);
	}
	vec_done(&f->list);
	map_done(&f->by_text);
}

const struct waited_file *waited_file_at(const struct waited_files *f, uint32_t file)
{
	return file && file <= f->list.n ? &f->list.v[file - 1] : NULL;
}
