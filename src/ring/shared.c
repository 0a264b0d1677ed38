// SPDX-License-Identifier: MIT
/*
 * The rings of wire/shared.h: the consumer's side of wire/ring.h, for producers that may be killed
 * in the middle of a record, or may be hostile.
 *
 * A record is copied out before anything in it is believed, then checked by its kind. Its user can
 * rely on its length, on terminated text, and on a time that is not in the future. Its space in the
 * ring is free again at once.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/ring.h"

struct shared_block {
	uint64_t end; /* the position after it */
	void *mem;
};

struct shared_source {
	struct source base;
	struct ring_head *head;
	uint8_t *data;
	uint64_t size;
	uint32_t salt;
	uint64_t seen;
	uint64_t stuck_ns;
	uint64_t stuck_at, stuck_since; /* a record that is reserved, and since when */
	uint64_t damaged;
	VEC(struct shared_block) blocks;
};

static uint64_t header_at(const struct shared_source *b, uint64_t pos)
{
	return __atomic_load_n((uint64_t *)(b->data + (pos & (b->size - 8))), __ATOMIC_ACQUIRE);
}

/* Is this a header for this very position, of a plausible record? */
static bool committed(const struct shared_source *b, uint64_t pos, uint64_t prod, uint64_t *ret)
{
	uint64_t hdr = header_at(b, pos);
	uint32_t len = PR_LEN(hdr);

	*ret = hdr;
	return hdr == ring_header(pos, b->salt, PR_KIND(hdr), len) &&
	       len >= sizeof(struct pr_hdr) && !(len & 7) && len <= prod - pos;
}

static bool text_ends(const char *text, size_t room)
{
	return memchr(text, '\0', room);
}

static bool ids_ok(uint32_t pid, uint32_t tid)
{
	return pid && tid && pid < TID_LIMIT && tid < TID_LIMIT;
}

/* Clears bits of `have` for pieces that the record does not have. */
static bool check_copy(struct pr_copy *r, uint32_t len)
{
	uint32_t chunks = len < PR_COPY_HEAD ? 0 : (len - PR_COPY_HEAD) / COPY_CHUNK;

	if (len < PR_COPY_HEAD || len != PR_COPY_LEN(chunks) || chunks > COPY_CHUNKS)
		return false;
	r->have &= chunks ? ~0ull >> (64 - chunks) : 0;
	r->execs = 0;
	return r->id && ids_ok(r->pid, r->pid);
}

static bool shared_check(void *data, uint32_t kind, uint32_t len)
{
	const struct pr_sample *sample = data;
	const struct pr_task *task = data;
	const struct pr_map *map = data;
	const struct pr_run *run = data;

	switch (kind) {
	case PR_SAMPLE:
		return len == sizeof(*sample) && ids_ok(sample->pid, sample->tid) &&
		       !sample->kstack;
	case PR_COPY:
		return check_copy(data, len);
	case PR_FORK:
	case PR_EXEC:
	case PR_EXIT:
	case PR_RENAME:
		return len == sizeof(*task) && ids_ok(task->pid, task->tid) &&
		       (kind != PR_FORK || ids_ok(task->code, task->other)) &&
		       (kind != PR_EXEC || task->other == task->tid);
	case PR_MAP:
		return len > PR_MAP_HEAD && ids_ok(map->pid, map->pid) && map->start < map->end &&
		       text_ends(map->path, len - PR_MAP_HEAD);
	case PR_RUN:
		return len == sizeof(*run) && ids_ok(run->pid, run->pid) &&
		       text_ends(run->path, sizeof(run->path));
	default:
		return false;
	}
}

static void shared_take(struct shared_source *b, uint64_t hdr, uint8_t *to, uint64_t now,
			record_vec *out)
{
	uint32_t len = PR_LEN(hdr);
	struct pr_hdr *h = (struct pr_hdr *)to;

	memcpy(to, b->data + (b->seen & (b->size - 8)), len);
	h->hdr = hdr; /* the producer may have changed it meanwhile */
	if (h->ts > now)
		h->ts = now;
	if (!shared_check(to, PR_KIND(hdr), len)) {
		b->damaged++;
		return;
	}
	vec_push(out, (struct record){.ts = h->ts,
				      .pos = b->seen,
				      .data = to,
				      .len = len,
				      .cpu = b->base.cpu,
				      .type = RECORD_PROBE});
}

/*
 * A producer has reserved a record and does not finish it, as a rule because it was killed. The
 * length is not known, but a header marks the next record. True if there is one.
 */
static bool step_over(struct shared_source *b, uint64_t prod, uint64_t now)
{
	uint64_t hdr;

	if (b->stuck_at != b->seen || !b->stuck_since) {
		b->stuck_at = b->seen;
		b->stuck_since = now;
	}
	if (now - b->stuck_since < b->stuck_ns)
		return false;
	b->stuck_since = 0;
	b->damaged++;
	for (b->seen += 8; b->seen < prod; b->seen += 8)
		if (committed(b, b->seen, prod, &hdr))
			return true;
	return false;
}

static void shared_pull(struct source *s, record_vec *out)
{
	struct shared_source *b = (struct shared_source *)s;
	uint64_t prod = __atomic_load_n(&b->head->prod, __ATOMIC_ACQUIRE), hdr, used = 0;
	uint64_t now = clock_mono_ns();
	uint8_t *mem;

	if (prod == b->seen)
		return;
	if ((prod & 7) || prod - b->seen > b->size) {
		/* No producer does that. */
		b->damaged++;
		b->seen = prod & ~7ull;
		__atomic_store_n(&b->head->cons, b->seen, __ATOMIC_RELEASE);
		return;
	}
	mem = mem_alloc(prod - b->seen);
	while (b->seen < prod) {
		if (!committed(b, b->seen, prod, &hdr)) {
			if (!step_over(b, prod, now))
				break;
			continue;
		}
		shared_take(b, hdr, mem + used, now, out);
		used += PR_LEN(hdr);
		b->seen += PR_LEN(hdr);
	}
	if (used)
		vec_push(&b->blocks, (struct shared_block){b->seen, mem});
	else
		free(mem);
	__atomic_store_n(&b->head->cons, b->seen, __ATOMIC_RELEASE);
}

static void shared_release(struct source *s, uint64_t pos)
{
	struct shared_source *b = (struct shared_source *)s;
	size_t n = 0;

	while (n < b->blocks.n && b->blocks.v[n].end <= pos)
		free(b->blocks.v[n++].mem);
	if (!n)
		return;
	b->blocks.n -= n;
	memmove(b->blocks.v, b->blocks.v + n, b->blocks.n * sizeof(*b->blocks.v));
}

static void close_shared(struct source *s)
{
	struct shared_source *b = (struct shared_source *)s;

	shared_release(s, SOURCE_ALL);
	vec_done(&b->blocks);
	free(b);
}

static const struct source_ops shared_ops = {
	.pull = shared_pull, .release = shared_release, .close = close_shared};

struct source *source_shared_new(void *ring, uint64_t size, uint32_t salt, uint16_t cpu,
				 uint64_t stuck_ns)
{
	struct shared_source *b = mem_zalloc(sizeof(*b));

	b->base = (struct source){.ops = &shared_ops, .cpu = cpu};
	b->head = ring;
	b->data = (uint8_t *)ring + RING_HEAD;
	b->size = size;
	b->salt = salt;
	b->stuck_ns = stuck_ns;
	return &b->base;
}

uint64_t source_shared_damaged(const struct source *s)
{
	return ((const struct shared_source *)s)->damaged;
}

uint64_t source_shared_fill(const struct source *s)
{
	const struct shared_source *b = (const struct shared_source *)s;
	uint64_t fill = __atomic_load_n(&b->head->prod, __ATOMIC_RELAXED) - b->seen;

	return fill > b->size ? 0 : fill;
}
