// SPDX-License-Identifier: MIT
#include "scout/build_ids.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "symbol/opener.h"
#include "symbol/symbol.h"

/*
 * A file system's clock ticks every 1 to 10 ms. A file that changes twice within a tick keeps its
 * time of change, so answers about a file that has only just changed are not kept.
 */
#define YOUNG_NS (50 * NSEC_PER_MSEC)

struct build_ids {
	pthread_mutex_t lock;
	struct map by_file; /* hash of what stat() says -> index into ids, plus one */
	VEC(struct build_id) ids;
};

struct build_ids *build_ids_new(void)
{
	struct build_ids *b = mem_zalloc(sizeof(*b));

	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void build_ids_free(struct build_ids *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	map_done(&b->by_file);
	vec_done(&b->ids);
	free(b);
}

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NSEC_PER_SEC + (uint64_t)t->tv_nsec;
}

static uint64_t build_ids_key_of(const struct stat *st)
{
	uint64_t key = map_mix(st->st_dev);

	key = map_mix(key ^ st->st_ino);
	key = map_mix(key ^ (uint64_t)st->st_size);
	key = map_mix(key ^ ns_of(&st->st_mtim));
	return map_mix(key ^ ns_of(&st->st_ctim));
}

static bool is_young(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ns_of(&st->st_ctim) + YOUNG_NS > ns_of(&now);
}

static struct build_id read_id(int handle)
{
	struct build_id id = {0};
	int fd, n;

	if (opener_read(handle, &fd))
		return id;
	n = symbols_build_id(fd, id.id, sizeof(id.id));
	close(fd);
	id.len = n > 0 ? (uint8_t)n : 0;
	return id;
}

static bool build_ids_known(struct build_ids *b, uint64_t key, struct build_id *ret)
{
	uint64_t *slot;

	pthread_mutex_lock(&b->lock);
	slot = map_get(&b->by_file, key);
	if (slot)
		*ret = b->ids.v[*slot - 1];
	pthread_mutex_unlock(&b->lock);
	return slot;
}

static void build_ids_keep(struct build_ids *b, uint64_t key, const struct build_id *id)
{
	uint64_t *slot;
	bool fresh;

	pthread_mutex_lock(&b->lock);
	slot = map_put(&b->by_file, key, &fresh);
	if (fresh) {
		vec_push(&b->ids, *id);
		*slot = b->ids.n;
	}
	pthread_mutex_unlock(&b->lock);
}

/* Holds the lock while it looks up what is known, never while it reads a file. */
struct build_id build_ids_ask(struct build_ids *b, const struct opener_want *w)
{
	struct build_id id = {0};
	struct stat st;
	int handle;

	if (opener_find(w, &handle))
		return id;
	if (!fstat(handle, &st)) {
		bool young = is_young(&st);

		if (young || !build_ids_known(b, build_ids_key_of(&st), &id))
			id = read_id(handle);
		if (!young)
			build_ids_keep(b, build_ids_key_of(&st), &id);
	}
	close(handle);
	return id;
}
