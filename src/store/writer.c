// SPDX-License-Identifier: MIT
/*
 * The caller's side of a capture: gathers facts, modules, stacks and events, and hands them as
 * chunks to the disk thread. The order of a flush is facts, modules, stacks, events: whatever an
 * event or a frame refers to is in the file before it.
 */
#include "store/writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "store/disk.h"
#include "store/encode.h"
#include "store/reader.h"
#include "store/symtab_private.h"
#include "store/tables.h"
#include "wire/meta.h"
#include "wire/unseen.h"

enum { CHUNK_BYTES = 1 << 20 };
#define FLUSH_NS (NSEC_PER_SEC / 2)

struct writer {
	struct disk *disk;
	int fd; /* the disk's */
	char *path;
	uint64_t flush_ns;
	size_t chunk_bytes;

	struct buf facts;
	uint32_t n_facts;
	struct buf modules;
	uint32_t first_module, n_modules; /* of those not yet handed over */
	struct stacks_out stacks;
	struct encoder events;
	uint64_t n_events;

	uint64_t now;	/* at the last tick */
	uint64_t since; /* what is not handed over came no earlier than this */
	bool pending;
};

static int make_file(const char *path, int *ret_fd)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0)
		return err_set(-errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st))
		rc = err_set(-errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = err_set(-EINVAL, "%s: not a regular file", path);
	else if (ftruncate(fd, 0))
		rc = err_set(-errno, "%s: %s", path, strerror(errno));
	if (rc) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

int writer_open(const char *path, const struct writer_opts *opts, struct writer **ret)
{
	int fd = -1, rc = make_file(path, &fd);

	return rc ? rc : writer_open_fd(fd, path, opts, ret);
}

int writer_open_fd(int fd, const char *path, const struct writer_opts *opts, struct writer **ret)
{
	static const struct writer_opts defaults;
	const struct writer_opts *o = opts ? opts : &defaults;
	struct disk *disk;
	struct writer *w;
	int rc = disk_open(fd, o, &disk);

	if (rc)
		return err_add(rc, "%s", path);
	w = mem_zalloc(sizeof(*w));
	w->fd = fd;
	w->disk = disk;
	w->path = mem_strdup(path);
	w->flush_ns = o->flush_ns ? o->flush_ns : FLUSH_NS;
	w->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : CHUNK_BYTES;
	w->first_module = 1;
	w->stacks.first = 1;
	w->now = clock_mono_ns();
	encoder_init(&w->events);
	*ret = w;
	return 0;
}

static struct chunk *chunk_new(uint16_t type, uint32_t items)
{
	struct chunk *c = mem_zalloc(sizeof(*c));

	c->type = type;
	c->items = items;
	return c;
}

static void put_facts(struct writer *w)
{
	struct chunk *c;

	if (!w->n_facts)
		return;
	c = chunk_new(CHUNK_META, w->n_facts);
	c->raw = w->facts;
	w->facts = (struct buf){0};
	w->n_facts = 0;
	disk_put(w->disk, c);
}

static void put_modules(struct writer *w)
{
	struct chunk *c;

	if (!w->n_modules)
		return;
	c = chunk_new(CHUNK_MODULES, w->n_modules);
	modules_put_head(&c->raw, w->first_module, w->n_modules);
	buf_put(&c->raw, w->modules.p, w->modules.len);
	buf_clear(&w->modules);
	w->first_module += w->n_modules;
	w->n_modules = 0;
	disk_put(w->disk, c);
}

static void put_stacks(struct writer *w)
{
	struct chunk *c;

	put_modules(w);
	if (!w->stacks.n)
		return;
	c = chunk_new(CHUNK_STACKS, w->stacks.n);
	stacks_finish(&w->stacks, &c->raw);
	disk_put(w->disk, c);
}

static void put_events(struct writer *w)
{
	struct encoder *e = &w->events;
	struct chunk *c;

	put_stacks(w);
	if (!e->n_events)
		return;
	c = chunk_new(CHUNK_EVENTS, (uint32_t)e->n_events);
	c->ts_min = e->ts_min;
	c->ts_max = e->ts_max;
	memcpy(c->counts, e->counts, sizeof(c->counts));
	encoder_finish(e, &c->raw, &c->seams);
	disk_put(w->disk, c);
}

static __attribute__((noinline)) void put_all(struct writer *w)
{
	put_facts(w);
	put_events(w);
	w->pending = false;
}

static inline void note_pending(struct writer *w)
{
	if (!w->pending) {
		w->pending = true;
		w->since = w->now;
	}
}

void writer_meta(struct writer *w, const char *key, const char *value)
{
	note_pending(w);
	facts_put(&w->facts, key, value ? value : "");
	w->n_facts++;
	if (w->facts.len >= w->chunk_bytes)
		put_facts(w);
}

void writer_meta_number(struct writer *w, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	writer_meta(w, key, text);
}

void writer_unseen(struct writer *w, uint32_t bits)
{
	for (size_t i = 0; i < ARRAY_LEN(unseen_rows); i++)
		if (bits & unseen_rows[i].bit)
			writer_meta(w, META_UNSEEN, unseen_rows[i].name);
}

uint32_t writer_module(struct writer *w, const struct module *m)
{
	uint32_t index = w->first_module + w->n_modules;

	note_pending(w);
	modules_put(&w->modules, m);
	w->n_modules++;
	if (w->modules.len >= w->chunk_bytes)
		put_modules(w);
	return index;
}

uint32_t writer_stack(struct writer *w, const struct frame *frames, size_t n, uint32_t stop)
{
	uint32_t index = w->stacks.first + w->stacks.n;

	if (!n)
		return 0;
	note_pending(w);
	stacks_put(&w->stacks, frames, n > STACK_FRAMES_MAX ? STACK_FRAMES_MAX : n, stop);
	if (stacks_out_bytes(&w->stacks) >= w->chunk_bytes)
		put_stacks(w);
	return index;
}

void writer_event(struct writer *w, const struct event *ev)
{
	if (!kind_known(ev->kind))
		return;
	note_pending(w);
	encoder_add(&w->events, ev);
	w->n_events++;
	if (w->events.raw_bytes >= w->chunk_bytes || w->events.n_events >= EVENTS_PER_CHUNK_MAX)
		put_all(w);
}

void writer_tick(struct writer *w, uint64_t now_ns)
{
	w->now = now_ns;
	if (w->pending && now_ns - w->since >= w->flush_ns)
		put_all(w);
}

static int named(const struct writer *w, int rc)
{
	return rc ? err_add(rc, "%s", w->path) : 0;
}

int writer_flush(struct writer *w, bool wait)
{
	put_all(w);
	return named(w, wait ? disk_wait(w->disk) : disk_status(w->disk));
}

static void put_data(struct writer *w, struct symtab *st)
{
	for (size_t done = 0; done < symtab_data_count(st);) {
		struct chunk *c = chunk_new(CHUNK_DATA, 0);

		c->items =
			(uint32_t)symdata_put(&c->raw, symtab_data(st), done, SYMBOL_CHUNK_BYTES);
		done += c->items;
		disk_put(w->disk, c);
	}
}

void writer_symbols(struct writer *w, struct symtab *st)
{
	struct symtab_entry *sorted;
	size_t n = symtab_count(st);

	symbols_sort(st, &sorted);
	for (size_t done = 0; done < n;) {
		struct chunk *c = chunk_new(CHUNK_SYMBOLS, 0);

		c->items =
			(uint32_t)symbols_put(&c->raw, sorted + done, n - done, SYMBOL_CHUNK_BYTES);
		done += c->items;
		disk_put(w->disk, c);
	}
	free(sorted);
	put_data(w, st);
}

int writer_reader(struct writer *w, struct reader **ret)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", w->fd);
	return reader_open(self, ret);
}

int writer_status(struct writer *w)
{
	return named(w, disk_status(w->disk));
}

uint64_t writer_bytes(const struct writer *w)
{
	return disk_bytes(w->disk);
}

uint64_t writer_events(const struct writer *w)
{
	return w->n_events;
}

static int writer_finish(struct writer *w, enum end_cause cause)
{
	int rc = named(w, disk_close(w->disk, cause));

	buf_done(&w->facts);
	buf_done(&w->modules);
	stacks_out_done(&w->stacks);
	encoder_done(&w->events);
	free(w->path);
	free(w);
	return rc;
}

int writer_close(struct writer *w, enum end_cause cause)
{
	if (!w)
		return 0;
	put_all(w);
	return writer_finish(w, cause);
}

void writer_abandon(struct writer *w)
{
	if (w)
		writer_finish(w, 0);
}
