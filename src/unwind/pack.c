// SPDX-License-Identifier: MIT
/* A head with the counts, then the arrays in the order of their alignment. */
#include "unwind/pack.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define MAGIC 0x77756874u /* "thuw" */

struct pack_head {
	uint32_t magic, version;
	uint64_t sum; /* of all that follows */
	uint64_t first;
	uint32_t n_loads, n_rules, n_leaves, n_words;
	uint32_t n_rows, build_id_len;
	uint8_t build_id[UNWIND_BUILD_ID_MAX];
	uint32_t pad;
};
_Static_assert(sizeof(struct pack_head) % 8 == 0, "the arrays are aligned");

#define SUM_FROM offsetof(struct pack_head, first)

static uint64_t pack_sum_of(const uint8_t *p, size_t len)
{
	return libdeflate_crc32(0, p + SUM_FROM, len - SUM_FROM);
}

void unwind_pack(const struct unwind_table *t, struct buf *out)
{
	struct pack_head h = {.magic = MAGIC,
			      .version = UNWIND_PACK_VERSION,
			      .first = t->first,
			      .n_loads = (uint32_t)t->n_loads,
			      .n_rules = (uint32_t)t->n_rules,
			      .n_leaves = (uint32_t)t->n_leaves,
			      .n_words = (uint32_t)t->n_words,
			      .n_rows = (uint32_t)t->n_rows,
			      .build_id_len = (uint32_t)t->build_id_len};
	size_t at = out->len;

	memcpy(h.build_id, t->build_id, sizeof(h.build_id));
	buf_reserve(out, sizeof(h) + t->n_loads * sizeof(*t->loads) +
				 t->n_rules * sizeof(*t->rules) + (t->n_leaves + t->n_words) * 4);
	buf_put(out, &h, sizeof(h));
	buf_put(out, t->loads, t->n_loads * sizeof(*t->loads));
	buf_put(out, t->rules, t->n_rules * sizeof(*t->rules));
	buf_put(out, t->dir, t->n_leaves * sizeof(*t->dir));
	buf_put(out, t->words, t->n_words * sizeof(*t->words));
	h.sum = pack_sum_of(out->p + at, out->len - at);
	memcpy(out->p + at, &h, sizeof(h));
}

static bool counts_fit(const struct pack_head *h, size_t len)
{
	/* 32 bits each: no sum of these overflows. */
	return h->magic == MAGIC && h->version == UNWIND_PACK_VERSION &&
	       h->build_id_len <= UNWIND_BUILD_ID_MAX &&
	       len == sizeof(*h) + h->n_loads * sizeof(struct unwind_load) +
			       h->n_rules * sizeof(struct unwind_rule) +
			       ((uint64_t)h->n_leaves + h->n_words) * 4;
}

int unwind_unpack(struct buf *bytes, struct unwind_table **ret)
{
	struct unwind_table *t;
	struct pack_head h;

	if (bytes->len < sizeof(h))
		return err_set(-EBADMSG, "not an unwind table: %zu bytes", bytes->len);
	memcpy(&h, bytes->p, sizeof(h));
	if (!counts_fit(&h, bytes->len) || h.sum != pack_sum_of(bytes->p, bytes->len))
		return err_set(-EBADMSG, "not an unwind table, or of another version");
	t = mem_zalloc(sizeof(*t));
	t->first = h.first;
	t->n_loads = h.n_loads;
	t->n_rules = h.n_rules;
	t->n_leaves = h.n_leaves;
	t->n_words = h.n_words;
	t->n_rows = h.n_rows;
	t->build_id_len = h.build_id_len;
	memcpy(t->build_id, h.build_id, sizeof(h.build_id));
	t->loads = (struct unwind_load *)(bytes->p + sizeof(h));
	t->rules = (struct unwind_rule *)(t->loads + t->n_loads);
	t->dir = (uint32_t *)(t->rules + t->n_rules);
	t->words = t->dir + t->n_leaves;
	if (unwind_table_check(t)) {
		free(t);
		return -EBADMSG;
	}
	t->owned = bytes->p;
	*bytes = (struct buf){0};
	unwind_table_shelve(t);
	*ret = t;
	return 0;
}
