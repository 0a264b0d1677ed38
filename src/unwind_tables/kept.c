// SPDX-License-Identifier: MIT
#include "unwind_tables/kept.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/units.h"
#include "unwind/pack.h"

#define MAGIC 0x3265706b77616874ull /* "thawkpe2" */
/* A file may change twice within a tick of the clock that its time of change is read from. */
#define SETTLED_NS (100 * NSEC_PER_MSEC)

/* Which file, and in which state: the end of an entry, after the packed table. */
struct kept_file {
	uint64_t magic;
	uint64_t dev, inode, size;
	uint64_t changed_ns;
};

static bool file_of(const struct opener_facts *f, struct kept_file *ret)
{
	*ret = (struct kept_file){.magic = MAGIC,
				  .dev = f->dev,
				  .inode = f->inode,
				  .size = f->size,
				  .changed_ns = f->changed_ns};
	return !f->served;
}

static bool is_settled(const struct opener_facts *f)
{
	return f->changed_ns + SETTLED_NS < f->seen_ns;
}

static void kept_name_of(const struct kept_file *h, char name[KEPT_NAME_LEN + 1])
{
	uint64_t a = map_mix(h->inode + map_mix(h->dev));
	uint64_t b = map_mix(h->changed_ns + map_mix(h->size));

	snprintf(name, KEPT_NAME_LEN + 1, "%016llx%016llx", (unsigned long long)a,
		 (unsigned long long)b);
}

struct unwind_table *kept_get(struct kept *k, const struct opener_facts *f)
{
	struct unwind_table *t = NULL;
	char name[KEPT_NAME_LEN + 1];
	struct kept_file want;
	struct buf b = {0};

	if (!file_of(f, &want))
		return NULL;
	kept_name_of(&want, name);
	if (kept_read(k, name, UNWIND_PACK_MAX + sizeof(want), &b) && b.len >= sizeof(want)) {
		b.len -= sizeof(want);
		if (memcmp(b.p + b.len, &want, sizeof(want)) || unwind_unpack(&b, &t))
			t = NULL;
	}
	buf_done(&b);
	return t;
}

void kept_put(struct kept *k, const struct opener_facts *f, const struct unwind_table *t)
{
	char name[KEPT_NAME_LEN + 1];
	struct kept_file file;
	struct buf b = {0};

	if (!k || !file_of(f, &file) || !is_settled(f))
		return;
	unwind_pack(t, &b);
	buf_put(&b, &file, sizeof(file));
	kept_name_of(&file, name);
	kept_write(k, name, &b);
	buf_done(&b);
}
