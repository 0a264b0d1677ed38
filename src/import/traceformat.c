// SPDX-License-Identifier: MIT
/*
 * The bytes: "\027\010\104tracing", a version that ends with NUL, endian, size of a long, page
 * size; "header_page" and "header_event" with their lengths; the formats of ftrace's own events;
 * then for each system its name and the formats of its events. What comes after (kallsyms, printk)
 * is not looked at.
 */
#include "import/traceformat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#define EVENTS_MAX 65536

struct traceformats {
	VEC(struct trace_event) events;
	struct map by_id;
};

static const char *const field_names[TRACE_FIELDS] = {
	[TRACE_COMMON_FLAGS] = "common_flags",
	[TRACE_PREV_PID] = "prev_pid",
	[TRACE_PREV_COMM] = "prev_comm",
	[TRACE_PREV_STATE] = "prev_state",
	[TRACE_NEXT_PID] = "next_pid",
	[TRACE_NEXT_COMM] = "next_comm",
	[TRACE_PID] = "pid",
	[TRACE_COMM] = "comm",
	[TRACE_PARENT_PID] = "parent_pid",
	[TRACE_CHILD_PID] = "child_pid",
	[TRACE_CHILD_COMM] = "child_comm",
};

/* ---- one format ---- */

/* "field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;" */
static void take_field(const char *line, struct trace_event *e)
{
	char decl[128], *name;
	unsigned offset, size;
	size_t n = strcspn(line, ";");

	if (n >= sizeof(decl) || sscanf(line + n, "; offset:%u; size:%u;", &offset, &size) != 2)
		return;
	/* Its value is somewhere else in the record. */
	if (!strncmp(line, "__data_loc", 10) || !strncmp(line, "__rel_loc", 9))
		return;
	memcpy(decl, line, n);
	decl[n] = '\0';
	decl[strcspn(decl, "[")] = '\0';
	name = strrchr(decl, ' ');
	for (unsigned i = 0; name && i < TRACE_FIELDS; i++) {
		if (strcmp(name + 1, field_names[i]))
			continue;
		e->at[i].offset = offset;
		e->at[i].size = size;
	}
}

/* `{ 0x00000001, "S" }, ...`: the flags of prev_state. "Preempted" is the bit above them all. */
static void take_letters(const char *print, struct trace_event *e)
{
	const char *at = strstr(print, "__print_flags(REC->prev_state");
	const char *end = at ? strstr(at, ") :") : NULL;
	unsigned long bit;
	int used;
	char letter;

	for (; at && end && (at = strchr(at, '{')) && at < end; at++) {
		used = 0;
		if (sscanf(at, "{ %li , \"%c\"%n", (long *)&bit, &letter, &used) < 2 || !used)
			continue;
		if (!bit || bit & (bit - 1) || bit >> 31)
			continue;
		e->letters[__builtin_ctzl(bit)] = letter;
		if (bit << 1 > e->preempted)
			e->preempted = bit << 1;
	}
}

bool trace_event_parse(const char *text, size_t len, struct trace_event *ret)
{
	char *copy = mem_alloc(len + 1), *save = NULL;
	bool has_id = false;

	*ret = (struct trace_event){0};
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (!strncmp(line, "name: ", 6))
			snprintf(ret->name, sizeof(ret->name), "%.63s", line + 6);
		else if (!strncmp(line, "ID: ", 4))
			has_id = sscanf(line + 4, "%u", &ret->id) == 1;
		else if (!strncmp(line, "field:", 6))
			take_field(line + 6, ret);
		else if (!strncmp(line, "print fmt: ", 11))
			take_letters(line, ret);
	}
	free(copy);
	return has_id && ret->name[0];
}

/* ---- all of them ---- */

/* NUL-terminated, in place. */
static const char *take_string(struct cursor *c)
{
	const char *s = (const char *)c->base + c->pos;
	const void *end = cur_left(c) ? memchr(s, '\0', cur_left(c)) : NULL;

	if (!end) {
		c->bad = true;
		return "";
	}
	cur_skip(c, (size_t)((const char *)end - s) + 1);
	return s;
}

static void skip_sized(struct cursor *c)
{
	uint64_t n = cur_u64(c);

	if (n > cur_left(c))
		c->bad = true;
	else
		cur_skip(c, n);
}

static void take_event(struct traceformats *t, struct cursor *c, const char *system)
{
	uint64_t n = cur_u64(c);
	struct trace_event e;
	const char *text;

	if (n > cur_left(c)) {
		c->bad = true;
		return;
	}
	text = cur_bytes(c, n);
	if (!text || !trace_event_parse(text, n, &e) || t->events.n >= EVENTS_MAX)
		return;
	snprintf(e.system, sizeof(e.system), "%.31s", system);
	vec_push(&t->events, e);
	*map_put(&t->by_id, e.id, NULL) = t->events.n;
}

static void take_systems(struct traceformats *t, struct cursor *c)
{
	uint32_t systems = cur_u32(c);

	while (systems-- && cur_ok(c)) {
		const char *name = take_string(c);
		uint32_t n = cur_u32(c);

		while (n-- && cur_ok(c))
			take_event(t, c, name);
	}
}

int traceformats_parse(const uint8_t *data, size_t len, struct traceformats **ret)
{
	static const char magic[10] = "\027\010\104tracing";
	struct cursor c = cur_init(data, len);
	const void *head = cur_bytes(&c, sizeof(magic));
	struct traceformats *t;
	bool swapped;
	uint32_t n;

	if (!head || memcmp(head, magic, sizeof(magic)))
		return err_set(-EBADMSG, "the formats of its tracepoints make no sense");
	take_string(&c);
	swapped = cur_u8(&c);
	cur_skip(&c, 1 + 4); /* the size of a long, and of a page */
	if (swapped)
		return err_set(-EBADMSG, "its tracepoints are of the other byte order");
	take_string(&c);
	skip_sized(&c);
	take_string(&c);
	skip_sized(&c);
	n = cur_u32(&c);
	t = mem_zalloc(sizeof(*t));
	while (n-- && cur_ok(&c))
		take_event(t, &c, "ftrace");
	take_systems(t, &c);
	if (!cur_ok(&c)) {
		traceformats_free(t);
		return err_set(-EBADMSG, "the formats of its tracepoints are cut off or damaged");
	}
	*ret = t;
	return 0;
}

void traceformats_free(struct traceformats *t)
{
	if (!t)
		return;
	vec_done(&t->events);
	map_done(&t->by_id);
	free(t);
}

const struct trace_event *traceformats_find(const struct traceformats *t, uint32_t id)
{
	uint64_t *i = t ? map_get(&t->by_id, id) : NULL;

	return i ? &t->events.v[*i - 1] : NULL;
}

bool trace_number(const struct trace_event *e, enum trace_field f, const uint8_t *raw, size_t len,
		  uint64_t *ret)
{
	uint32_t offset = e->at[f].offset, size = e->at[f].size;
	uint64_t v = 0;

	if (!size || size > 8 || (size & (size - 1)) || offset > len || size > len - offset)
		return false;
	memcpy(&v, raw + offset, size);
	*ret = v;
	return true;
}

void trace_name(const struct trace_event *e, enum trace_field f, const uint8_t *raw, size_t len,
		char out[17])
{
	uint32_t offset = e->at[f].offset, size = e->at[f].size;

	memset(out, 0, 17);
	if (size && offset <= len && size <= len - offset)
		memcpy(out, raw + offset, size < 16 ? size : 16);
}
