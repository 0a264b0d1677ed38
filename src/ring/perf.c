// SPDX-License-Identifier: MIT
/*
 * A perf mmap buffer as a source. It carries the side-band (mappings, exec), a few records a
 * second, so each record is copied out at once: that also undoes the wrap at the buffer's end.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "ring/source.h"

struct perf_source {
	struct source base;
	int fd;
	struct perf_event_mmap_page *meta;
	const uint8_t *data;
	size_t map_len;
	uint64_t size;
	uint64_t lost;
	uint64_t next_pos;
	VEC(void *) held; /* copies, oldest first */
	uint64_t held_pos;
};

static void copy_out(const struct perf_source *p, uint64_t pos, void *out, size_t n)
{
	size_t at = pos & (p->size - 1), first = n < p->size - at ? n : p->size - at;

	memcpy(out, p->data + at, first);
	memcpy((uint8_t *)out + first, p->data, n - first);
}

/* sample_id_all appends { pid, tid; time; cpu, res } to every record that is not a sample. */
static uint64_t trailer_time(const struct perf_event_header *h)
{
	uint64_t ts;

	memcpy(&ts, (const uint8_t *)h + h->size - 16, sizeof(ts));
	return ts;
}

static void pull(struct source *s, record_vec *out)
{
	struct perf_source *p = (struct perf_source *)s;
	uint64_t head = __atomic_load_n(&p->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = p->meta->data_tail;

	while (tail + sizeof(struct perf_event_header) <= head) {
		struct perf_event_header h, *copy;

		copy_out(p, tail, &h, sizeof(h));
		if (h.size < sizeof(h) + 24 || tail + h.size > head)
			break;
		copy = mem_alloc(h.size);
		copy_out(p, tail, copy, h.size);
		tail += h.size;
		if (h.type == PERF_RECORD_LOST) {
			uint64_t n;

			memcpy(&n, (uint8_t *)copy + sizeof(h) + 8, sizeof(n));
			p->lost += n;
			free(copy);
			continue;
		}
		vec_push(&p->held, copy);
		vec_push(out, (struct record){.ts = trailer_time(copy),
					      .pos = p->next_pos++,
					      .data = copy,
					      .len = h.size,
					      .cpu = s->cpu,
					      .type = RECORD_PERF});
	}
	__atomic_store_n(&p->meta->data_tail, tail, __ATOMIC_RELEASE);
}

static void release(struct source *s, uint64_t pos)
{
	struct perf_source *p = (struct perf_source *)s;
	size_t n;

	if (pos > p->next_pos)
		pos = p->next_pos;
	n = pos - p->held_pos;
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		free(p->held.v[i]);
	memmove(p->held.v, p->held.v + n, (p->held.n - n) * sizeof(*p->held.v));
	p->held.n -= n;
	p->held_pos = pos;
}

static void close_perf(struct source *s)
{
	struct perf_source *p = (struct perf_source *)s;

	release(s, p->next_pos);
	vec_done(&p->held);
	munmap(p->meta, p->map_len);
	close(p->fd);
	free(p);
}

static const struct source_ops perf_ops = {.pull = pull, .release = release, .close = close_perf};

int source_perf_open(int fd, size_t pages, uint16_t cpu, struct source **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (pages + 1) * page;
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct perf_source *p;

	if (map == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return err_set(rc, "mapping the side-band buffer of CPU %u: %s", cpu,
			       strerror(-rc));
	}
	p = mem_zalloc(sizeof(*p));
	p->base = (struct source){.ops = &perf_ops, .cpu = cpu};
	p->fd = fd;
	p->meta = map;
	p->data = (const uint8_t *)map + page;
	p->map_len = len;
	p->size = pages * page;
	*ret = &p->base;
	return 0;
}

uint64_t source_perf_lost(const struct source *s)
{
	return ((const struct perf_source *)s)->lost;
}
