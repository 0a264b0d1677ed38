// SPDX-License-Identifier: MIT
/* The fields of one record, which depend on what its event was asked for (sample_type). */
#include "base/cursor.h"
#include "import/perfdata.h"
#include "ring/perf_record.h"

/* Of x86-64, as the kernel numbers them: see arch/x86/include/uapi/asm/perf_regs.h. */
enum { REG_BX = 1, REG_DI = 5, REG_BP = 6, REG_SP = 7, REG_IP = 8 };

#define BRANCH_HW_INDEX (1ull << 17)

static void skip_times(struct cursor *c, uint64_t n, size_t each)
{
	if (n > cur_left(c) / each)
		c->bad = true;
	else
		cur_skip(c, n * each);
}

/* The counts of the event itself, or of all of its group. */
static void skip_read(struct cursor *c, uint64_t format)
{
	size_t each = 8;

	if (format & PERF_FORMAT_ID)
		each += 8;
	if (format & (1u << 4)) /* PERF_FORMAT_LOST */
		each += 8;
	if (format & PERF_FORMAT_GROUP) {
		uint64_t n = cur_u64(c);

		cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED));
		cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
		skip_times(c, n, each);
		return;
	}
	cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED));
	cur_skip(c, 8 * !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
	cur_skip(c, each);
}

static void skip_branches(struct cursor *c, uint64_t type)
{
	uint64_t n = cur_u64(c);

	cur_skip(c, type & BRANCH_HW_INDEX ? 8 : 0);
	skip_times(c, n, 24);
}

static void take_regs(struct cursor *c, uint64_t mask, struct pd_sample *s)
{
	if (cur_u64(c) == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t v;

		if (!(mask >> i & 1))
			continue;
		v = cur_u64(c);
		if (i == REG_BX)
			s->bx = v;
		else if (i == REG_DI)
			s->di = v;
		else if (i == REG_BP)
			s->bp = v;
		else if (i == REG_SP)
			s->sp = v;
		else if (i == REG_IP)
			s->pc = v;
	}
	s->user = mask >> REG_SP & 1 && mask >> REG_IP & 1 && mask >> REG_BP & 1;
}

/* The room is always taken; how much of it was filled stands behind it. */
/* Since 6.16 the thread, the time waited and the stack are what perf's BPF program has put there.
 */
static bool take_wait(struct pd_sample *s)
{
	struct cursor c = cur_init(s->raw, s->n_raw);

	s->pid = cur_u32(&c);
	s->tid = cur_u32(&c);
	s->period = cur_u64(&c);
	s->n_chain = cur_u64(&c);
	s->chain = c.base + c.pos;
	skip_times(&c, s->n_chain, 8);
	return cur_ok(&c);
}

bool pd_sample_parse(const struct pd_attr *a, const uint8_t *rec, size_t len, struct pd_sample *s)
{
	uint64_t type = a->a.sample_type;
	struct cursor c = cur_init(rec, len);
	struct perf_event_header h;

	memset(s, 0, sizeof(*s));
	cur_copy(&c, &h, sizeof(h));
	s->misc = h.misc;
	cur_skip(&c, 8 * !!(type & PERF_SAMPLE_IDENTIFIER));
	if (type & PERF_SAMPLE_IP)
		s->ip = cur_u64(&c);
	if (type & PERF_SAMPLE_TID) {
		s->pid = cur_u32(&c);
		s->tid = cur_u32(&c);
	}
	cur_skip(&c, 8 * !!(type & PERF_SAMPLE_TIME) + 8 * !!(type & PERF_SAMPLE_ADDR));
	cur_skip(&c, 8 * !!(type & PERF_SAMPLE_ID) + 8 * !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = cur_u32(&c);
		cur_skip(&c, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = cur_u64(&c);
	if (type & PERF_SAMPLE_READ)
		skip_read(&c, a->a.read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->n_chain = cur_u64(&c);
		s->chain = c.base + c.pos;
		skip_times(&c, s->n_chain, 8);
	}
	if (type & PERF_SAMPLE_RAW) {
		s->n_raw = cur_u32(&c);
		s->raw = s->n_raw <= cur_left(&c) ? cur_bytes(&c, s->n_raw) : NULL;
		c.bad |= !s->raw;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, a->a.branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		take_regs(&c, a->a.sample_regs_user, s);
	if (type & PERF_SAMPLE_STACK_USER)
		perf_take_stack(&c, &s->stack, &s->n_stack);
	if (cur_ok(&c) && a->role == PD_OFFCPU && type & PERF_SAMPLE_RAW)
		return take_wait(s);
	return cur_ok(&c);
}

bool pd_context_parse(const struct pd_attr *a, const uint8_t *rec, size_t len,
		      struct pd_context *ret, size_t *ret_body)
{
	uint64_t type = a->a.sample_type;
	struct cursor c;
	size_t n;

	*ret = (struct pd_context){0};
	*ret_body = len;
	if (!a->a.sample_id_all)
		return true;
	n = 8 * (!!(type & PERF_SAMPLE_TID) + !!(type & PERF_SAMPLE_TIME) +
		 !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID) +
		 !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_IDENTIFIER));
	if (len < n + sizeof(struct perf_event_header))
		return false;
	*ret_body = len - n;
	c = cur_init(rec + *ret_body, n);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = cur_u32(&c);
		ret->tid = cur_u32(&c);
	}
	cur_skip(&c, 8 * (!!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ID) +
			  !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU)
		ret->cpu = cur_u32(&c);
	return cur_ok(&c);
}
