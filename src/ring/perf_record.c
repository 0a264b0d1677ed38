// SPDX-License-Identifier: MIT
#include "ring/perf_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "arch/host.h"
#include "base/cursor.h"

#define BUILD_ID_MAX 20u

/* Debian 12's header does not have it. */
#define FORMAT_LOST (1u << 4)

struct perf_event_attr perf_record_attr(uint64_t sample_type)
{
	return (struct perf_event_attr){
		.sample_type = sample_type,
		.sample_regs_user = ARCH_PERF_REGS,
		.sample_id_all = 1,
	};
}

/* ---- what every record has ---- */

static void take_who(struct cursor *c, uint64_t type, struct perf_record *r)
{
	if (type & PERF_SAMPLE_TID) {
		r->pid = cur_u32(c);
		r->tid = cur_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		r->ts = cur_u64(c);
}

static void take_where(struct cursor *c, uint64_t type, struct perf_record *r)
{
	if (type & PERF_SAMPLE_ID)
		r->id = cur_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		cur_skip(c, 8);
	if (type & PERF_SAMPLE_CPU) {
		r->cpu = cur_u32(c);
		cur_skip(c, 4);
	}
}

/* Nearly all samples begin with it. */
static void take_head(struct cursor *c, uint64_t type, struct perf_record *r)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = cur_u64(c);
	r->sample.ip = type & PERF_SAMPLE_IP ? cur_u64(c) : 0;
	take_who(c, type, r);
	if (type & PERF_SAMPLE_ADDR)
		cur_skip(c, 8);
	take_where(c, type, r);
}

/* All others end with it. */
static bool take_tail(struct cursor *c, uint64_t type, struct perf_record *r, struct cursor *body)
{
	size_t n =
		8 * (size_t)__builtin_popcountll(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
							 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER));

	if (cur_left(c) < n)
		return false;
	*body = cur_take(c, cur_left(c) - n);
	take_who(c, type, r);
	take_where(c, type, r);
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = cur_u64(c);
	return cur_ok(c);
}

static bool perf_record_split(const struct perf_event_attr *a, const void *data, size_t len,
			      struct perf_record *r, struct cursor *body)
{
	struct cursor c = cur_init(data, len);
	struct perf_event_header h;

	cur_copy(&c, &h, sizeof(h));
	if (!cur_ok(&c) || h.size != len)
		return false;
	r->type = h.type;
	r->misc = h.misc;
	r->cpu = r->pid = r->tid = 0;
	r->ts = r->id = 0;
	if (h.type != PERF_RECORD_SAMPLE && a->sample_id_all)
		return take_tail(&c, a->sample_type, r, body);
	if (h.type == PERF_RECORD_SAMPLE)
		take_head(&c, a->sample_type, r);
	*body = c;
	return cur_ok(&c);
}

/* ---- samples ---- */

static void skip_times(struct cursor *c, uint64_t n, size_t each)
{
	if (n > cur_left(c) / each)
		c->bad = true;
	else
		cur_skip(c, n * each);
}

/* The counts of the event itself, or of all of its group. */
static void skip_counts(struct cursor *c, uint64_t format)
{
	size_t each = 8 + 8 * !!(format & PERF_FORMAT_ID) + 8 * !!(format & FORMAT_LOST);
	uint64_t n = format & PERF_FORMAT_GROUP ? cur_u64(c) : 1;

	cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED));
	cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
	skip_times(c, n, each);
}

static void skip_branches(struct cursor *c, uint64_t type)
{
	uint64_t n = cur_u64(c);

	cur_skip(c, type & PERF_SAMPLE_BRANCH_HW_INDEX ? 8 : 0);
	skip_times(c, n, sizeof(struct perf_branch_entry));
}

static void take_chain(struct cursor *c, struct perf_sample *s)
{
	s->n_chain = cur_u64(c);
	s->chain = c->base + c->pos;
	skip_times(c, s->n_chain, 8);
}

static void take_raw(struct cursor *c, struct perf_sample *s)
{
	s->n_raw = cur_u32(c);
	s->raw = s->n_raw <= cur_left(c) ? cur_bytes(c, s->n_raw) : NULL;
	c->bad |= !s->raw;
}

/* False: there are none, or not all that unwinding needs. */
static bool take_regs(struct cursor *c, uint64_t mask, struct perf_regs *ret)
{
	const uint64_t needed = 1ull << ARCH_PERF_SP | 1ull << ARCH_PERF_IP | 1ull << ARCH_PERF_BP;

	if (cur_u64(c) == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t v = mask >> i & 1 ? cur_u64(c) : 0;

		if (i == ARCH_PERF_BX)
			ret->bx = v;
		else if (i == ARCH_PERF_DI)
			ret->di = v;
		else if (i == ARCH_PERF_BP)
			ret->bp = v;
		else if (i == ARCH_PERF_SP)
			ret->sp = v;
		else if (i == ARCH_PERF_IP)
			ret->ip = v;
	}
	return (mask & needed) == needed;
}

/* The copy always has its full size; the number of valid bytes follows it. */
static void take_stack(struct cursor *c, struct perf_sample *s)
{
	uint64_t room = cur_u64(c), len;
	const uint8_t *stack;

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
	s->stack = stack;
	s->stack_len = len;
}

static void take_sample(const struct perf_event_attr *a, struct cursor *c, struct perf_sample *s)
{
	uint64_t type = a->sample_type;

	*s = (struct perf_sample){.ip = s->ip};
	if (type & PERF_SAMPLE_PERIOD)
		s->period = cur_u64(c);
	if (type & PERF_SAMPLE_READ)
		skip_counts(c, a->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_chain(c, s);
	if (type & PERF_SAMPLE_RAW)
		take_raw(c, s);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(c, a->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		s->user = take_regs(c, a->sample_regs_user, &s->regs);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(c, s);
}

size_t perf_chain(const struct perf_record *r, bool kernel, uint64_t *ret, size_t max)
{
	bool ours =
		((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) == kernel;
	uint64_t mark = kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
	size_t n = 0;

	for (uint64_t k = 0; k < r->sample.n_chain; k++) {
		uint64_t ip;

		memcpy(&ip, r->sample.chain + 8 * k, sizeof(ip));
		/* Marks say whose the following addresses are. */
		if (ip >= PERF_CONTEXT_MAX)
			ours = ip == mark;
		else if (ours && n < max)
			ret[n++] = ip;
	}
	return n;
}

/* ---- other records ---- */

static void take_mmap(struct cursor *c, const struct perf_record *r, struct perf_mmap *m)
{
	*m = (struct perf_mmap){.pid = cur_u32(c)};
	m->tid = cur_u32(c);
	m->addr = cur_u64(c);
	m->len = cur_u64(c);
	m->pgoff = cur_u64(c);
	m->prot = r->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC;
	if (r->type == PERF_RECORD_MMAP2) {
		const uint8_t *who = c->base + c->pos;
		uint32_t major = cur_u32(c), minor = cur_u32(c);

		m->dev = makedev(major, minor);
		m->inode = cur_u64(c);
		m->generation = cur_u64(c);
		m->prot = cur_u32(c);
		cur_skip(c, 4);
		if (cur_ok(c) && r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
		    who[0] <= BUILD_ID_MAX) {
			m->build_id = who + 4;
			m->build_id_len = who[0];
		}
	}
	m->path = (const char *)c->base + c->pos;
	if (cur_left(c) == 0 || !memchr(m->path, '\0', cur_left(c)))
		c->bad = true;
}

static void take_comm(struct cursor *c, struct perf_record *r)
{
	size_t n;

	r->comm.pid = cur_u32(c);
	r->comm.tid = cur_u32(c);
	r->comm.exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
	n = cur_left(c) < sizeof(r->comm.name) - 1 ? cur_left(c) : sizeof(r->comm.name) - 1;
	memset(r->comm.name, 0, sizeof(r->comm.name));
	cur_copy(c, r->comm.name, n);
}

static void take_switch(struct cursor *c, const struct perf_record *r, struct perf_switch *s)
{
	*s = (struct perf_switch){
		.out = r->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.preempt = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
		.wide = r->type == PERF_RECORD_SWITCH_CPU_WIDE,
	};
	if (s->wide) {
		s->other_pid = cur_u32(c);
		s->other_tid = cur_u32(c);
	}
}

int perf_record_parse(const struct perf_event_attr *a, const void *data, size_t len,
		      struct perf_record *ret)
{
	struct cursor body, *c = &body;

	if (!perf_record_split(a, data, len, ret, c))
		return -EPROTO;
	switch (ret->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(a, c, &ret->sample);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(c, ret, &ret->switched);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(c, ret, &ret->mmap);
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

uint64_t perf_record_time(const struct perf_event_attr *a, const void *data, size_t len)
{
	struct perf_record r;
	struct cursor body;

	return perf_record_split(a, data, len, &r, &body) ? r.ts : 0;
}
