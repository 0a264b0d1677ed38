// SPDX-License-Identifier: MIT
/* What a perf.data file says about itself: in its features, or in the pipe form in records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "import/perfdata.h"

#define COMMAND_MAX 4096u
#define BUILD_IDS_MAX (1u << 16)
#define BUILD_ID_HAS_SIZE (1u << 15)

enum header_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_CLOCK_DATA = 29,
};

bool pd_needs_feature(unsigned feature)
{
	return feature == FEATURE_TRACING_DATA;
}

bool pd_wants_feature(unsigned feature)
{
	return feature <= FEATURE_EVENT_DESC || feature == FEATURE_SAMPLE_TIME ||
	       feature == FEATURE_DIR_FORMAT || feature == FEATURE_CLOCK_DATA;
}

/* A length, and so many bytes, of which the last are NUL. */
static void take_text(struct cursor *c, char *out, size_t room)
{
	uint32_t n = cur_u32(c);
	const char *s = n <= cur_left(c) ? cur_bytes(c, n) : NULL;

	out[0] = '\0';
	if (!s) {
		c->bad = true;
		return;
	}
	snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), s);
}

static void take_command(struct pd_file *f, struct cursor *c)
{
	uint32_t n = cur_u32(c);
	char word[4096];

	while (n-- && cur_ok(c) && f->command.n < COMMAND_MAX) {
		take_text(c, word, sizeof(word));
		if (cur_ok(c))
			vec_push(&f->command, mem_strdup(word));
	}
}

static void take_event_names(struct pd_file *f, struct cursor *c)
{
	uint32_t n = cur_u32(c), size = cur_u32(c);

	while (n-- && cur_ok(c)) {
		char name[64];
		uint64_t *attr = NULL;
		uint32_t ids;

		cur_skip(c, size);
		ids = cur_u32(c);
		take_text(c, name, sizeof(name));
		while (ids-- && cur_ok(c)) {
			uint64_t id = cur_u64(c);

			attr = attr ? attr : map_get(&f->ids, id);
		}
		if (cur_ok(c) && attr && name[0])
			memcpy(f->attrs.v[*attr].name, name, sizeof(name));
	}
}

static void take_clock(struct pd_file *f, struct cursor *c)
{
	uint32_t version = cur_u32(c);
	struct writer_clock clock;

	cur_skip(c, 4);
	clock.unix_ns = cur_u64(c);
	clock.mono_ns = cur_u64(c);
	if (!cur_ok(c) || version != 1)
		return;
	f->has_clock = true;
	f->clock = clock;
}

static void take_build_id(struct pd_file *f, struct cursor *c)
{
	uint16_t misc, size;
	const uint8_t *id;
	const char *name;
	struct pd_build_id b;
	size_t room;

	cur_skip(c, 4);
	misc = cur_u16(c);
	size = cur_u16(c);
	if (!cur_ok(c) || size < 8 + 4 + 24 || size - 8u > cur_left(c)) {
		c->bad = true;
		return;
	}
	cur_skip(c, 4); /* pid */
	id = cur_bytes(c, 24);
	room = size - 8u - 4 - 24;
	name = cur_bytes(c, room);
	if (!cur_ok(c) || !memchr(name, '\0', room) || f->ids_of.n >= BUILD_IDS_MAX)
		return;
	b.len = misc & BUILD_ID_HAS_SIZE ? id[20] : 20;
	if (b.len > BUILD_ID_MAX || name[0] != '/')
		return;
	memcpy(b.id, id, sizeof(b.id));
	vec_push(&f->ids_of, b);
	*map_put(&f->build_ids, map_hash_bytes(name, strlen(name)), NULL) = f->ids_of.n;
}

int pd_take_formats(struct pd_file *f, const uint8_t *data, size_t len)
{
	struct traceformats *t;
	int rc = traceformats_parse(data, len, &t);

	if (rc)
		return err_add(rc, "%s", f->path);
	traceformats_free(f->formats);
	f->formats = t;
	return 0;
}

int pd_take_feature(struct pd_file *f, unsigned feature, const uint8_t *data, size_t len)
{
	struct cursor c = cur_init(data, len);

	switch (feature) {
	case FEATURE_TRACING_DATA:
		return pd_take_formats(f, data, len);
	case FEATURE_BUILD_ID:
		while (!cur_end(&c))
			take_build_id(f, &c);
		break;
	case FEATURE_HOSTNAME:
		take_text(&c, f->host, sizeof(f->host));
		break;
	case FEATURE_OSRELEASE:
		take_text(&c, f->release, sizeof(f->release));
		break;
	case FEATURE_VERSION:
		take_text(&c, f->version, sizeof(f->version));
		break;
	case FEATURE_ARCH:
		take_text(&c, f->arch, sizeof(f->arch));
		break;
	case FEATURE_NRCPUS:
		cur_skip(&c, 4); /* CPUs that there could be; then those online */
		f->cpus = cur_u32(&c);
		break;
	case FEATURE_CMDLINE:
		take_command(f, &c);
		break;
	case FEATURE_EVENT_DESC:
		take_event_names(f, &c);
		break;
	case FEATURE_SAMPLE_TIME:
		cur_skip(&c, 8); /* of the first one */
		f->last_sample = cur_u64(&c);
		break;
	case FEATURE_DIR_FORMAT:
		return err_set(-EINVAL,
			       "%s is part of a perf.data directory, which thaw does not read",
			       f->path);
	case FEATURE_CLOCK_DATA:
		take_clock(f, &c);
		break;
	}
	return 0;
}

/* ---- the pipe form ---- */

static int take_header_attr(struct pd_file *f, const uint8_t *rec, size_t len)
{
	struct cursor c = cur_init(rec, len), size;
	struct pd_attr *attr;
	uint32_t n;
	int rc;

	cur_skip(&c, 8);
	size = c;
	cur_skip(&size, 4);
	n = cur_u32(&size);
	if (!cur_ok(&size) || n > cur_left(&c))
		return err_set(-EBADMSG, "%s is damaged: an event is too short", f->path);
	rc = pd_add_attr(f, cur_take(&c, n), &attr);
	while (!rc && cur_left(&c) >= 8)
		pd_add_id(f, cur_u64(&c), f->attrs.n - 1);
	return rc;
}

static void take_event_update(struct pd_file *f, const uint8_t *rec, size_t len)
{
	struct cursor c = cur_init(rec, len);
	uint64_t type, id, *attr;

	cur_skip(&c, 8);
	type = cur_u64(&c);
	id = cur_u64(&c);
	attr = map_get(&f->ids, id);
	if (cur_ok(&c) && type == 2 && attr) /* its name */
		snprintf(f->attrs.v[*attr].name, sizeof(f->attrs.v[0].name), "%.*s",
			 (int)(cur_left(&c) < 63 ? cur_left(&c) : 63),
			 (const char *)c.base + c.pos);
}

int pd_header_record(struct pd_file *f, const uint8_t *rec, size_t len)
{
	struct perf_event_header h;
	struct cursor c = cur_init(rec, len);
	uint64_t feature;

	memcpy(&h, rec, sizeof(h));
	switch (h.type) {
	case PD_HEADER_ATTR:
		return take_header_attr(f, rec, len);
	case PD_EVENT_UPDATE:
		take_event_update(f, rec, len);
		return 0;
	case PD_BUILD_ID:
		take_build_id(f, &c);
		return 0;
	case PD_HEADER_FEATURE:
		cur_skip(&c, 8);
		feature = cur_u64(&c);
		if (!cur_ok(&c) || feature >= PD_FEATURES || feature == FEATURE_TRACING_DATA ||
		    feature == FEATURE_BUILD_ID)
			return 0;
		return pd_take_feature(f, (unsigned)feature, rec + c.pos, len - c.pos);
	}
	return 0;
}
