// SPDX-License-Identifier: MIT
/*
 * The structure of a perf.data file (tools/perf/Documentation/perf.data-file-format.txt of Linux).
 *
 * A file begins with "PERFILE2", its header's size, and the places of three sections: the events
 * (struct perf_event_attr and the ids of their counters), the records, and one that is no longer
 * used. The records are followed by a section for each bit of the feature mask. The pipe form has a
 * header of 16 bytes, and everything else as records.
 *
 * The reader trusts nothing: sections must lie inside the file, are read whole and bounded, and are
 * parsed by a cursor.
 */
#include "import/perfdata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"

#define HEAD_BYTES 104u
#define SECTION_MAX (64u << 20)
#define ATTRS_MAX 4096u
#define IDS_MAX (1u << 20)

struct section {
	uint64_t at, size;
};

static struct section take_section(struct cursor *c)
{
	struct section s = {.at = cur_u64(c)};

	s.size = cur_u64(c);
	return s;
}

static int read_at(const struct pd_file *f, void *to, size_t n, uint64_t at)
{
	while (n) {
		ssize_t got = pread(f->fd, to, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set(-errno, "%s: %s", f->path, strerror(errno));
		if (!got)
			return err_set(-EBADMSG, "%s is shorter than it was", f->path);
		to = (uint8_t *)to + got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

static bool inside(const struct pd_file *f, struct section s)
{
	return s.at <= f->size && s.size <= f->size - s.at;
}

static int read_section(const struct pd_file *f, struct section s, const char *what, uint8_t **ret)
{
	int rc;

	if (!inside(f, s) || s.size > SECTION_MAX)
		return err_set(-EBADMSG, "%s is damaged: its %s lie outside of it", f->path, what);
	*ret = mem_alloc(s.size + 1);
	rc = read_at(f, *ret, s.size, s.at);
	if (rc)
		free(*ret);
	return rc;
}

/* ---- events ---- */

static void name_by_number(struct pd_attr *a)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches"};

	if (a->a.type == PERF_TYPE_HARDWARE && a->a.config < ARRAY_LEN(hardware))
		snprintf(a->name, sizeof(a->name), "%s", hardware[a->a.config]);
	else if (a->a.type == PERF_TYPE_SOFTWARE && a->a.config < ARRAY_LEN(software))
		snprintf(a->name, sizeof(a->name), "%s", software[a->a.config]);
	else
		snprintf(a->name, sizeof(a->name), "event %u:%llu", a->a.type,
			 (unsigned long long)a->a.config);
}

/* Where a record has its id and its time, which is needed before all else. */
static void find_places(struct pd_attr *a)
{
	uint64_t t = a->a.sample_type;
	uint16_t at = sizeof(struct perf_event_header), back = 0;

#define HAS(bit) ((t & PERF_SAMPLE_##bit) != 0)
	if (HAS(IDENTIFIER))
		a->id_at = at;
	at += 8 * HAS(IDENTIFIER) + 8 * HAS(IP) + 8 * HAS(TID);
	if (HAS(TIME))
		a->time_at = at;
	at += 8 * HAS(TIME) + 8 * HAS(ADDR);
	if (HAS(ID) && !HAS(IDENTIFIER))
		a->id_at = at;
	if (!a->a.sample_id_all)
		return;
	if (HAS(IDENTIFIER))
		a->id_back = 8;
	back = 8 * HAS(IDENTIFIER) + 8 * HAS(CPU) + 8 * HAS(STREAM_ID) + 8 * HAS(ID);
	if (HAS(ID) && !HAS(IDENTIFIER))
		a->id_back = back;
	if (HAS(TIME))
		a->time_back = back + 8;
#undef HAS
}

int pd_add_attr(struct pd_file *f, struct cursor bytes, struct pd_attr **ret)
{
	struct pd_attr *a;
	uint32_t size;
	size_t n = bytes.len;

	if (f->attrs.n >= ATTRS_MAX)
		return err_set(-EBADMSG, "%s is damaged: it has too many events", f->path);
	cur_skip(&bytes, 4);
	size = cur_u32(&bytes);
	if (!cur_ok(&bytes) || n < PERF_ATTR_SIZE_VER0 || size < PERF_ATTR_SIZE_VER0)
		return err_set(-EBADMSG, "%s is damaged: an event is too short", f->path);
	a = vec_add(&f->attrs);
	n = n < size ? n : size;
	memcpy(&a->a, bytes.base, n < sizeof(a->a) ? n : sizeof(a->a));
	name_by_number(a);
	find_places(a);
	*ret = a;
	return 0;
}

void pd_add_id(struct pd_file *f, uint64_t id, size_t attr)
{
	if (f->ids.n < IDS_MAX)
		*map_put(&f->ids, id, NULL) = attr;
}

static int read_ids(struct pd_file *f, struct section s, size_t attr)
{
	struct cursor c;
	uint8_t *data;
	int rc = read_section(f, s, "counters' numbers", &data);

	if (rc)
		return rc;
	c = cur_init(data, s.size);
	while (cur_left(&c) >= 8)
		pd_add_id(f, cur_u64(&c), attr);
	free(data);
	return 0;
}

static int read_attrs(struct pd_file *f, struct section s, uint64_t each)
{
	struct pd_attr *attr;
	struct cursor c;
	uint8_t *data;
	int rc;

	if (each < PERF_ATTR_SIZE_VER0 + 16 || each > 4096 || s.size % each || !s.size)
		return err_set(-EBADMSG, "%s is damaged: its list of events makes no sense",
			       f->path);
	rc = read_section(f, s, "events", &data);
	if (rc)
		return rc;
	c = cur_init(data, s.size);
	while (!rc && !cur_end(&c)) {
		struct cursor one = cur_take(&c, each - 16);
		struct section ids = take_section(&c);

		rc = pd_add_attr(f, one, &attr);
		rc = rc ? rc : read_ids(f, ids, f->attrs.n - 1);
	}
	free(data);
	return rc;
}

/* ---- features ---- */

static int read_features(struct pd_file *f, const uint8_t mask[PD_FEATURES / 8])
{
	uint64_t at = f->data_end;
	int rc = 0;

	for (unsigned i = 0; i < PD_FEATURES && !rc; i++) {
		uint8_t row[16], *data;
		struct cursor c = cur_init(row, sizeof(row));
		struct section s;

		if (!(mask[i / 8] >> i % 8 & 1))
			continue;
		if (f->size - at < sizeof(row))
			return err_set(-EBADMSG, "%s is cut off: its features are missing",
				       f->path);
		rc = read_at(f, row, sizeof(row), at);
		at += sizeof(row);
		if (rc)
			return rc;
		s = take_section(&c);
		/* Without formats no tracepoint can be read; the rest is good to have. */
		if (!inside(f, s) && !pd_needs_feature(i)) {
			f->unsealed = true;
			continue;
		}
		/* Skip those that thaw does not use: some are large. */
		if (!pd_wants_feature(i))
			continue;
		rc = read_section(f, s, "features", &data);
		if (rc)
			return rc;
		rc = pd_take_feature(f, i, data, s.size);
		free(data);
	}
	return rc;
}

/* ---- opening ---- */

static int open_whole(struct pd_file *f, struct cursor *c)
{
	uint64_t each = cur_u64(c);
	struct section attrs = take_section(c), data = take_section(c);
	const uint8_t *mask;
	int rc;

	take_section(c);
	mask = cur_bytes(c, PD_FEATURES / 8);
	if (!mask)
		return err_set(-EBADMSG, "%s is cut off in its header", f->path);
	if (data.at > f->size || data.at < HEAD_BYTES)
		return err_set(-EBADMSG, "%s is damaged: its records lie outside of it", f->path);
	rc = read_attrs(f, attrs, each);
	if (rc)
		return rc;
	f->data_at = data.at;
	f->unsealed = !data.size || data.size > f->size - data.at;
	f->data_end = f->unsealed ? f->size : data.at + data.size;
	return f->unsealed ? 0 : read_features(f, mask);
}

int pd_open(const char *path, int fd, struct pd_file *f)
{
	uint8_t head[HEAD_BYTES] = {0};
	struct cursor c = cur_init(head, sizeof(head));
	const char *magic;
	struct stat st;
	uint64_t size;
	int rc;

	*f = (struct pd_file){.fd = fd, .path = path};
	if (fstat(fd, &st))
		return err_set(-errno, "%s: %s", path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	if (f->size < 16)
		return err_set(-EBADMSG, "%s is cut off in its header", path);
	rc = read_at(f, head, f->size < sizeof(head) ? f->size : sizeof(head), 0);
	if (rc)
		return rc;
	magic = cur_bytes(&c, 8);
	size = cur_u64(&c);
	if (!memcmp(magic, "2ELIFREP", 8))
		return err_set(-EINVAL, "%s was made on a machine of the other byte order", path);
	if (memcmp(magic, "PERFILE2", 8))
		return err_set(-EINVAL, "%s is no perf.data file", path);
	if (size == 16) {
		f->pipe = true;
		f->data_at = 16;
		f->data_end = f->size;
		return 0;
	}
	if (size < HEAD_BYTES || f->size < HEAD_BYTES)
		return err_set(-EBADMSG, "%s is cut off in its header", path);
	return open_whole(f, &c);
}

void pd_close(struct pd_file *f)
{
	traceformats_free(f->formats);
	for (size_t i = 0; i < f->command.n; i++)
		free(f->command.v[i]);
	vec_done(&f->command);
	vec_done(&f->attrs);
	vec_done(&f->ids_of);
	map_done(&f->ids);
	map_done(&f->build_ids);
}

/* ---- records ---- */

static uint64_t perfdata_word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

const struct pd_attr *pd_attr_of(const struct pd_file *f, const uint8_t *rec, size_t len)
{
	struct perf_event_header h;
	const struct pd_attr *a = f->attrs.n ? &f->attrs.v[0] : NULL;
	size_t at;
	uint64_t *i, id;

	if (f->attrs.n <= 1)
		return a;
	memcpy(&h, rec, sizeof(h));
	at = h.type == PERF_RECORD_SAMPLE ? a->id_at : a->id_back ? len - a->id_back : 0;
	if (!at || at > len - 8)
		return a;
	id = perfdata_word(rec + at);
	i = map_get(&f->ids, id);
	/* Records of what was there before the recording have no id. */
	return i ? &f->attrs.v[*i] : h.type == PERF_RECORD_SAMPLE ? NULL : a;
}

uint64_t pd_time_of(const struct pd_file *f, const uint8_t *rec, size_t len)
{
	const struct pd_attr *a = pd_attr_of(f, rec, len);
	struct perf_event_header h;
	size_t at;

	if (!a)
		return 0;
	memcpy(&h, rec, sizeof(h));
	at = h.type == PERF_RECORD_SAMPLE	   ? a->time_at
	     : a->time_back && a->time_back <= len ? len - a->time_back
						   : 0;
	return at >= sizeof(h) && at + 8 <= len ? perfdata_word(rec + at) : 0;
}
