// SPDX-License-Identifier: MIT
/*
 * A perf mmap buffer as a source. Each pull copies its contents out as one block: that undoes the
 * wrap at the buffer's end, and gives the kernel its room back at once. A block is freed when its
 * last record is released.
 *
 * With sets of threads, a switch between two recorded threads makes two records: one of the thread
 * that leaves, and a little later one of the thread that comes. The scheduler sees one moment, and
 * so do we: that of the first.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "ring/perf_record.h"
#include "ring/source.h"

#define SWITCH_NS 5000 /* the two records of a switch are not further apart */

struct mapped_block {
	void *bytes;
	uint64_t end; /* position after its last record */
};

struct perf_source {
	struct source base;
	int fd;
	struct perf_event_attr attr; /* what its records hold */
	struct perf_event_mmap_page *meta;
	const uint8_t *data;
	size_t map_len;
	uint64_t size;
	uint64_t lost;
	uint64_t last_ts;
	uint64_t left_ts; /* its time if the last record was a thread leaving; else 0 */
	bool quiet;
	uint64_t next_pos;
	VEC(struct mapped_block) held; /* oldest first */
};

static uint8_t *copy_out(const struct perf_source *p, uint64_t pos, size_t n)
{
	size_t at = pos & (p->size - 1), first = n < p->size - at ? n : p->size - at;
	uint8_t *out = mem_alloc(n);

	memcpy(out, p->data + at, first);
	memcpy(out + first, p->data, n - first);
	return out;
}

static void count_lost(struct perf_source *p, const void *data, size_t len)
{
	struct perf_record r;

	if (!perf_record_parse(&p->attr, data, len, &r))
		p->lost += r.lost;
}

/* When a record's event happened: see above. */
static uint64_t perf_moment(struct perf_source *p, const struct perf_event_header *h, uint64_t ts)
{
	bool switched = h->type == PERF_RECORD_SWITCH;
	bool out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
	uint64_t left = p->left_ts;

	p->left_ts = switched && out ? ts : 0;
	return switched && !out && left && ts > left && ts - left < SWITCH_NS ? left : ts;
}

/* Splits n bytes into records. Drops what is no record, and all that follows it. */
static void perf_cut(struct perf_source *p, const uint8_t *bytes, size_t n, record_vec *out)
{
	size_t at = 0;

	while (n - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		uint64_t ts;

		memcpy(&h, bytes + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > n - at || h.size % 8)
			break;
		ts = perf_record_time(&p->attr, bytes + at, h.size);
		if (!ts)
			break;
		if (h.type == PERF_RECORD_LOST) {
			count_lost(p, bytes + at, h.size);
			if (p->quiet) {
				at += h.size;
				continue;
			}
		}
		ts = perf_moment(p, &h, ts);
		vec_push(out, (struct record){.ts = ts,
					      .pos = p->next_pos++,
					      .data = bytes + at,
					      .len = h.size,
					      .cpu = p->base.cpu,
					      .type = RECORD_PERF});
		at += h.size;
		p->last_ts = ts;
	}
	p->lost += at < n;
}

static void perf_pull(struct source *s, record_vec *out)
{
	struct perf_source *p = (struct perf_source *)s;
	uint64_t head = __atomic_load_n(&p->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = p->meta->data_tail, before = p->next_pos;
	uint8_t *bytes;

	if (head == tail)
		return;
	if (head - tail > p->size) {
		p->lost++;
		__atomic_store_n(&p->meta->data_tail, head, __ATOMIC_RELEASE);
		return;
	}
	bytes = copy_out(p, tail, head - tail);
	__atomic_store_n(&p->meta->data_tail, head, __ATOMIC_RELEASE);
	perf_cut(p, bytes, head - tail, out);
	if (p->next_pos == before)
		free(bytes);
	else
		vec_push(&p->held, (struct mapped_block){bytes, p->next_pos});
}

static void perf_release(struct source *s, uint64_t pos)
{
	struct perf_source *p = (struct perf_source *)s;
	size_t n = 0;

	while (n < p->held.n && p->held.v[n].end <= pos)
		free(p->held.v[n++].bytes);
	if (!n)
		return;
	memmove(p->held.v, p->held.v + n, (p->held.n - n) * sizeof(*p->held.v));
	p->held.n -= n;
}

static void close_perf(struct source *s)
{
	struct perf_source *p = (struct perf_source *)s;

	perf_release(s, SOURCE_ALL);
	vec_done(&p->held);
	munmap(p->meta, p->map_len);
	close(p->fd);
	free(p);
}

static const struct source_ops perf_ops = {
	.pull = perf_pull, .release = perf_release, .close = close_perf};

int source_perf_open(int fd, const struct source_perf_opts *o, struct source **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = o->pages;
	struct perf_source *p;
	void *map;
	int rc;

	for (;; pages /= 2) {
		map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			break;
		rc = -errno;
		/* More than this user may lock in memory: try a smaller one. */
		if ((rc == -EPERM || rc == -ENOMEM) && pages > o->pages_min && pages > 1)
			continue;
		close(fd);
		return err_set(rc, "mapping the perf buffer of CPU %u (%zu KiB): %s", o->cpu,
			       (pages + 1) * page / 1024, strerror(-rc));
	}
	p = mem_zalloc(sizeof(*p));
	p->base = (struct source){.ops = &perf_ops, .cpu = o->cpu};
	p->fd = fd;
	p->attr = perf_record_attr(o->sample_type);
	p->quiet = o->quiet;
	p->meta = map;
	p->data = (const uint8_t *)map + page;
	p->map_len = (pages + 1) * page;
	p->size = pages * page;
	*ret = &p->base;
	return 0;
}

uint64_t source_perf_lost(const struct source *s)
{
	return ((const struct perf_source *)s)->lost;
}

uint64_t source_perf_last(const struct source *s)
{
	return ((const struct perf_source *)s)->last_ts;
}

uint64_t source_perf_size(const struct source *s)
{
	return ((const struct perf_source *)s)->size;
}

uint64_t source_perf_fill(const struct source *s)
{
	const struct perf_source *p = (const struct perf_source *)s;

	return __atomic_load_n(&p->meta->data_head, __ATOMIC_ACQUIRE) - p->meta->data_tail;
}
