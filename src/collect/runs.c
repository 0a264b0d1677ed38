// SPDX-License-Identifier: MIT
#include "collect/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

/* Bounds memory: a recorded program may claim anything, any number of times. */
#define RUNS_MAX 65536

struct thread_run {
	uint32_t pid;
	char *path; /* NULL: it has begun, or the exec failed */
};

struct runs {
	struct map by_pid; /* -> place in list + 1 */
	struct map there;  /* pid -> when it was last heard of as a program */
	VEC(struct thread_run) list;
};

struct runs *runs_new(void)
{
	return mem_zalloc(sizeof(struct runs));
}

void runs_free(struct runs *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->list.n; i++)
		free(r->list.v[i].path);
	vec_done(&r->list);
	map_done(&r->by_pid);
	map_done(&r->there);
	free(r);
}

static void runs_settle(struct runs *r, uint32_t pid)
{
	uint64_t *at = map_get(&r->by_pid, pid);

	if (!at)
		return;
	free(r->list.v[*at - 1].path);
	r->list.v[*at - 1].path = NULL;
}

void runs_begin(struct runs *r, uint32_t pid, uint64_t ts, const char *path)
{
	uint64_t *there = map_get(&r->there, pid), *at;
	bool fresh;

	/* The parent reports a spawned child, perhaps later than the child itself. */
	if (there && *there > ts)
		return;
	runs_settle(r, pid);
	if (!*path || (r->list.n >= RUNS_MAX && !map_get(&r->by_pid, pid)))
		return;
	at = map_put(&r->by_pid, pid, &fresh);
	if (fresh) {
		vec_push(&r->list, (struct thread_run){.pid = pid});
		*at = r->list.n;
	}
	r->list.v[*at - 1].path = mem_strdup(path);
}

void runs_there(struct runs *r, uint32_t pid, uint64_t ts)
{
	runs_settle(r, pid);
	if (r->there.n < RUNS_MAX || map_get(&r->there, pid))
		*map_put(&r->there, pid, NULL) = ts;
}

size_t runs_missed(const struct runs *r, char *names, size_t room)
{
	size_t n = 0, len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < r->list.n; i++) {
		const char *path = r->list.v[i].path;
		const char *name = path ? strrchr(path, '/') : NULL;

		if (!path)
			continue;
		n++;
		name = name ? name + 1 : path;
		if (len + strlen(name) + 3 < room && !strstr(names, name))
			len += (size_t)snprintf(names + len, room - len, "%s%s", len ? ", " : "",
						name);
	}
	return n;
}
