// SPDX-License-Identifier: MIT
#include "ring/perf_record.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "base/cursor.h"

#define TRAILER 24u /* pid, tid; time; cpu, reserved */

/* A record without its header and what is in every record: the body is what is left. */
struct parts {
	struct perf_event_header h;
	struct cursor body;
};

static size_t trailer_len(uint64_t sample_type)
{
	return TRAILER + (sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
}

static void take_context(struct cursor *c, struct perf_record *r)
{
	r->pid = cur_u32(c);
	r->tid = cur_u32(c);
	r->ts = cur_u64(c);
	r->cpu = cur_u32(c);
	cur_skip(c, 4);
}

/* A sample begins with its context, the others end with it. */
static bool split(uint64_t sample_type, const void *data, size_t len, struct parts *p,
		  struct perf_record *r)
{
	struct cursor c = cur_init(data, len);
	struct cursor tail;

	cur_copy(&c, &p->h, sizeof(p->h));
	if (!cur_ok(&c) || p->h.size != len)
		return false;
	r->type = p->h.type;
	r->id = 0;
	if (p->h.type == PERF_RECORD_SAMPLE) {
		if (sample_type & PERF_SAMPLE_IDENTIFIER)
			r->id = cur_u64(&c);
		take_context(&c, r);
		p->body = c;
		return cur_ok(&c);
	}
	if (cur_left(&c) < trailer_len(sample_type))
		return false;
	p->body = cur_take(&c, cur_left(&c) - trailer_len(sample_type));
	tail = c;
	take_context(&tail, r);
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		r->id = cur_u64(&tail);
	return cur_ok(&tail);
}

static void take_callchain(struct cursor *c, struct perf_sample *s)
{
	uint64_t n = cur_u64(c);
	bool kernel = false;

	if (n > cur_left(c) / 8) {
		c->bad = true;
		return;
	}
	while (n--) {
		uint64_t ip = cur_u64(c);

		/* Markers say whose the following addresses are. */
		if (ip >= PERF_CONTEXT_MAX)
			kernel = ip == PERF_CONTEXT_KERNEL;
		else if (kernel && s->n_kernel < PERF_RECORD_FRAMES)
			s->kernel[s->n_kernel++] = ip;
	}
}

static void take_regs(struct cursor *c, struct perf_sample *s)
{
	s->user = cur_u64(c) != PERF_SAMPLE_REGS_ABI_NONE;
	if (!s->user)
		return;
	s->bx = cur_u64(c);
	s->di = cur_u64(c);
	s->bp = cur_u64(c);
	s->sp = cur_u64(c);
	s->ip = cur_u64(c);
}

/* The room is always taken; how much of it was filled stands behind it. */
void perf_take_stack(struct cursor *c, const uint8_t **ret, uint64_t *ret_len)
{
	uint64_t room = cur_u64(c), len;
	const uint8_t *stack;

	*ret = NULL;
	*ret_len = 0;
	if (!room)
		return;
	if (room > cur_left(c)) {
		c->bad = true;
		return;
	}
	stack = cur_bytes(c, room);
	len = cur_u64(c);
	if (len > room)
		c->bad = true;
	if (!cur_ok(c))
		return;
	*ret = stack;
	*ret_len = len;
}

static void take_sample(uint64_t sample_type, struct cursor *c, struct perf_sample *s)
{
	s->n_kernel = 0;
	s->user = false;
	s->stack = NULL;
	s->stack_len = 0;
	if (sample_type & PERF_SAMPLE_CALLCHAIN)
		take_callchain(c, s);
	if (sample_type & PERF_SAMPLE_REGS_USER)
		take_regs(c, s);
	if (sample_type & PERF_SAMPLE_STACK_USER)
		perf_take_stack(c, &s->stack, &s->stack_len);
}

static void take_mmap(struct cursor *c, bool build_id, struct perf_mmap2 *m)
{
	const uint8_t *who;

	m->pid = cur_u32(c);
	m->tid = cur_u32(c);
	m->addr = cur_u64(c);
	m->len = cur_u64(c);
	m->pgoff = cur_u64(c);
	who = cur_bytes(c, 24); /* size and build id, or device and inode */
	cur_skip(c, 8);
	m->build_id = who && build_id ? who + 4 : NULL;
	m->build_id_len = m->build_id && who[0] <= 20 ? who[0] : 0;
	m->path = (const char *)c->base + c->pos;
	if (cur_left(c) == 0 || !memchr(m->path, '\0', cur_left(c)))
		c->bad = true;
}

static void take_comm(struct cursor *c, struct perf_record *r)
{
	size_t n;

	r->comm.pid = cur_u32(c);
	r->comm.tid = cur_u32(c);
	n = cur_left(c) < sizeof(r->comm.name) - 1 ? cur_left(c) : sizeof(r->comm.name) - 1;
	memset(r->comm.name, 0, sizeof(r->comm.name));
	cur_copy(c, r->comm.name, n);
}

int perf_record_parse(uint64_t sample_type, const void *data, size_t len, struct perf_record *ret)
{
	struct parts p;
	struct cursor *c = &p.body;

	if (!split(sample_type, data, len, &p, ret))
		return -EPROTO;
	switch (p.h.type) {
	case PERF_RECORD_SAMPLE:
		take_sample(sample_type, c, &ret->sample);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		ret->switched = (struct perf_switch){
			.out = p.h.misc & PERF_RECORD_MISC_SWITCH_OUT,
			.preempt = p.h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
			.wide = p.h.type == PERF_RECORD_SWITCH_CPU_WIDE,
		};
		if (ret->switched.wide) {
			ret->switched.other_pid = cur_u32(c);
			ret->switched.other_tid = cur_u32(c);
		}
		break;
	case PERF_RECORD_MMAP2:
		take_mmap(c, p.h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID, &ret->mmap);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ret->task.pid = cur_u32(c);
		ret->task.ppid = cur_u32(c);
		ret->task.tid = cur_u32(c);
		ret->task.ptid = cur_u32(c);
		break;
	case PERF_RECORD_COMM:
		take_comm(c, ret);
		ret->comm.exec = p.h.misc & PERF_RECORD_MISC_COMM_EXEC;
		break;
	case PERF_RECORD_LOST:
		cur_skip(c, 8); /* the event's id */
		ret->lost = cur_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		ret->lost = cur_u64(c);
		break;
	}
	return cur_ok(c) ? 0 : -EPROTO;
}

uint64_t perf_record_time(uint64_t sample_type, const void *data, size_t len)
{
	struct perf_record r;
	struct parts p;

	return split(sample_type, data, len, &p, &r) ? r.ts : 0;
}
