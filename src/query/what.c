// SPDX-License-Identifier: MIT
#include "query/what.h"

#include <stdlib.h>
#include <string.h>

static char *what_name_of(const struct model *m, uint32_t what)
{
	const struct thread *th;
	struct buf b = {0};
	char *text;

	switch (what & WHAT_KIND) {
	case WHAT_FRAME:
		return mem_strdup(names_function(&m->names, what_function(what))->name);
	case WHAT_REASON:
		return mem_strdup(reason_label(what & ~WHAT_KIND));
	case WHAT_THREAD:
		th = m->timeline.threads.v[what & ~WHAT_KIND];
		buf_printf(&b, "%s (%u)", th->name, th->tid);
		text = mem_strdup(buf_cstr(&b));
		buf_done(&b);
		return text;
	}
	return mem_strdup(what == WHAT_NO_STACK ? "(no stack)"
			  : what == WHAT_SMALL	? "(small)"
						: "all");
}

size_t what_name(struct what_names *n, const struct model *m, uint32_t what)
{
	uint64_t *slot;
	bool fresh;

	if (what_is_frame(what))
		what &= ~1u;
	slot = map_put(&n->by_what, what, &fresh);
	if (fresh) {
		*slot = n->names.n;
		vec_push(&n->names, what_name_of(m, what));
	}
	return *slot;
}

size_t what_module(struct what_names *n, const struct model *m, uint32_t what)
{
	const char *module =
		what_is_frame(what) ? names_function(&m->names, what_function(what))->module : "";
	uint64_t key = map_hash_bytes(module, strlen(module)), *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&n->by_module, key, &fresh);
		if (fresh || !strcmp(n->modules.v[*slot], module))
			break;
	}
	if (fresh) {
		*slot = n->modules.n;
		vec_push(&n->modules, module);
	}
	return *slot;
}

void what_names_put(const struct what_names *n, struct json *j)
{
	json_arr(j, "names");
	for (size_t i = 0; i < n->names.n; i++)
		json_str(j, NULL, n->names.v[i]);
	json_arr_end(j);
	json_arr(j, "modules");
	for (size_t i = 0; i < n->modules.n; i++)
		json_str(j, NULL, n->modules.v[i]);
	json_arr_end(j);
}

void what_names_done(struct what_names *n)
{
	for (size_t i = 0; i < n->names.n; i++)
		free(n->names.v[i]);
	vec_done(&n->names);
	vec_done(&n->modules);
	map_done(&n->by_what);
	map_done(&n->by_module);
}
