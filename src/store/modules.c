// SPDX-License-Identifier: MIT
/*
 * MODULES chunks: first index, count, then one record a module, each with its length in front, so
 * that fields can be added after those that an old reader knows.
 */
#include "store/tables.h"

#include <string.h>

#include "base/err.h"

/* Length, kind, pid, an empty path, no build id. */
enum { RECORD_MIN = 5 };

void modules_put_head(struct buf *out, uint32_t first, uint32_t n)
{
	buf_put_varint(out, first);
	buf_put_varint(out, n);
}

void modules_put(struct buf *out, const struct module *m)
{
	struct buf rec = {0};
	uint8_t len = m->build_id_len <= BUILD_ID_MAX ? m->build_id_len : BUILD_ID_MAX;

	buf_put_varint(&rec, (uint64_t)m->kind);
	buf_put_varint(&rec, m->pid);
	buf_put_str(&rec, m->path ? m->path : "");
	buf_put_u8(&rec, len);
	buf_put(&rec, m->build_id, len);
	if (m->inode) {
		buf_put_varint(&rec, m->dev);
		buf_put_varint(&rec, m->inode);
	}
	buf_put_varint(out, rec.len);
	buf_put(out, rec.p, rec.len);
	buf_done(&rec);
}

static bool read_one(struct modules *m, struct cursor c)
{
	struct module *mod = vec_add(&m->list);
	uint64_t kind = cur_varint(&c);
	const char *path;
	const void *id;
	size_t n;

	mod->kind = kind <= MODULE_GUESS ? (enum module_kind)kind : MODULE_UNKNOWN;
	m->guesses += mod->kind == MODULE_GUESS;
	mod->pid = (uint32_t)cur_varint(&c);
	path = cur_str_ref(&c, &n);
	mod->path = path ? pool_str(&m->pool, path, n) : "";
	n = cur_u8(&c);
	id = cur_bytes(&c, n);
	if (!id || n > BUILD_ID_MAX)
		return false;
	mod->build_id_len = (uint8_t)n;
	memcpy(mod->build_id, id, n);
	if (cur_end(&c))
		return true;
	mod->dev = cur_varint(&c);
	mod->inode = cur_varint(&c);
	return cur_ok(&c);
}

int modules_read(struct modules *m, struct cursor c, uint64_t max)
{
	uint64_t first = cur_varint(&c), n = cur_varint(&c);

	if (!cur_ok(&c) || n > cur_left(&c) / RECORD_MIN || !ranges_add(&m->ranges, first, n, max))
		return err_set(-EBADMSG, "its module numbers are malformed");
	for (uint64_t i = 0; i < n; i++) {
		struct cursor rec = cur_take(&c, (size_t)cur_varint(&c));

		if (!read_one(m, rec)) {
			/* The numbers are used up: the remaining modules are unknown. */
			m->list.v[m->list.n - 1] = (struct module){.path = ""};
			while (++i < n)
				vec_push(&m->list, (struct module){.path = ""});
			return err_set(-EBADMSG, "a module is malformed");
		}
	}
	return 0;
}

void modules_done(struct modules *m)
{
	vec_done(&m->list);
	vec_done(&m->ranges.list);
	pool_done(&m->pool);
}
