// SPDX-License-Identifier: MIT
/*
 * Turns the probes' records into events. Looking up a user stack or a place may wait for the scout,
 * and a record's data does not outlive that wait: copy what is needed later.
 */
#include <string.h>

#include "base/units.h"
#include "collect/collect_private.h"
#include "collect/klocks.h"
#include "wire/loss.h"

#define STRANGERS_MAX 65536
#define NAMES_A_SECOND 1000 /* bounds the work if processes come and go fast */

static void on_switch(struct collector *c, const struct record *rec)
{
	const struct pr_switch *r = rec->data;
	struct event ev = {
		.ts = rec->ts,
		.kind = EV_SWITCH,
		.cpu = rec->cpu,
		.switch_ = {.prev = r->prev, .next = r->next, .state = r->state, .call = r->call}};

	collect_put(c, &ev);
}

/* Writes the name of a waker that is not itself recorded, so that reports can name it. */
static void name_stranger(struct collector *c, uint32_t tid, uint32_t pid, uint64_t ts)
{
	char name[64];
	struct event ev = {.ts = ts, .kind = EV_RENAME, .rename = {.tid = tid, .name = name}};
	bool fresh;

	if (!tid || map_get(&c->threads, tid) || map_get(&c->strangers, tid))
		return;
	if (ts > c->names_from + NSEC_PER_SEC) {
		c->names_from = ts;
		c->names = 0;
	}
	if (c->names++ >= NAMES_A_SECOND)
		return;
	if (c->strangers.n > STRANGERS_MAX)
		map_clear(&c->strangers);
	map_put(&c->strangers, tid, &fresh);
	if (procfs_name(pid, tid, name, sizeof(name)))
		collect_put(c, &ev);
}

static void on_waking(struct collector *c, const struct record *rec)
{
	const struct pr_waking *r = rec->data;
	bool stacks = PR_KIND(r->h.hdr) == PR_WAKING_LONG;
	uint32_t pid = stacks ? r->waker_pid : 0;
	uint64_t ustack = stacks ? r->ustack : 0;
	struct event ev = {
		.ts = rec->ts,
		.kind = EV_WAKING,
		.cpu = rec->cpu,
		.waking = {.wakee = r->wakee, .waker = r->waker, .ctx = (uint8_t)r->ctx}};

	if (stacks) {
		if ((r->ctx & WAKE_CTX) == WAKE_TASK)
			name_stranger(c, r->waker, r->waker_pid, rec->ts);
		ev.waking.kstack = stacks_kernel(c->stacks, r->kstack);
		ev.waking.ustack = stacks_user(c->stacks, ustack, pid);
	}
	collect_put(c, &ev);
}

static void on_futex(struct collector *c, const struct record *rec)
{
	const struct pr_futex *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_FUTEX,
			   .cpu = rec->cpu,
			   .futex = {.tid = r->tid,
				     .addr = r->addr,
				     .op = r->op,
				     .val = r->val,
				     .word = r->word[0],
				     .word1 = r->word[1],
				     .word2 = r->word[2],
				     .word3 = r->word[3],
				     .word4 = r->word[4]}};
	struct event place = {.ts = rec->ts, .kind = EV_PLACE, .cpu = rec->cpu};

	if (places_ask(c->places, r->pid, r->addr, &place.place))
		collect_put(c, &place);
	collect_put(c, &ev);
}

static void on_klock(struct collector *c, const struct record *rec)
{
	const struct pr_klock *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_KLOCK,
			   .cpu = rec->cpu,
			   .klock = {.tid = r->tid,
				     .addr = r->addr,
				     .flags = r->flags,
				     .owner = r->owner,
				     .what = r->what,
				     .of = r->of}};

	klock_settle(c->e, r->addr, r->flags, &ev.klock.what, &ev.klock.of);
	collect_put(c, &ev);
}

static void on_klocked(struct collector *c, const struct record *rec)
{
	const struct pr_klock *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_KLOCKED,
			   .cpu = rec->cpu,
			   .klocked = {.tid = r->tid,
				       .addr = r->addr,
				       .flags = r->flags,
				       .owner = r->owner,
				       .what = r->what,
				       .of = r->of,
				       .took_ns = r->took_ns,
				       .failed = r->failed != 0,
				       .kstack = stacks_kernel(c->stacks, r->kstack)}};

	klock_settle(c->e, r->addr, r->flags, &ev.klocked.what, &ev.klocked.of);
	collect_put(c, &ev);
}

void collect_klocks(void *collector, const struct pr_klocks *r, uint64_t ts, uint32_t cpu)
{
	struct collector *c = collector;

	for (unsigned i = 0; i < KLOCKS_LENGTHS; i++) {
		struct event ev = {.ts = ts,
				   .kind = EV_KLOCKED,
				   .cpu = cpu,
				   .klocked = {.tid = r->tid,
					       .addr = r->addr,
					       .flags = r->flags,
					       .what = r->what,
					       .of = r->of,
					       .took_ns = r->sum.ns[i],
					       .more = r->sum.n[i] - 1}};

		if (!r->sum.n[i])
			continue;
		klock_settle(c->e, r->addr, r->flags, &ev.klocked.what, &ev.klocked.of);
		collect_put(c, &ev);
	}
}

static void collect_on_sample(struct collector *c, const struct record *rec)
{
	const struct pr_sample r = *(const struct pr_sample *)rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_SAMPLE,
			   .cpu = rec->cpu,
			   .sample = {.tid = r.tid,
				      .kstack = stacks_kernel(c->stacks, r.kstack),
				      .ustack = stacks_user(c->stacks, r.ustack, r.pid)}};

	collect_put(c, &ev);
}

static void on_wait(struct collector *c, const struct record *rec)
{
	const struct pr_sample r = *(const struct pr_sample *)rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_WAIT,
			   .cpu = rec->cpu,
			   .wait = {.tid = r.tid,
				    .kstack = stacks_kernel(c->stacks, r.kstack),
				    .ustack = stacks_user(c->stacks, r.ustack, r.pid)}};

	collect_put(c, &ev);
}

static void on_lost_span(struct collector *c, const struct record *rec)
{
	const struct pr_lost *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_LOST,
			   .cpu = rec->cpu,
			   .lost = {.cause = LOSS_RING_FULL, .span_ns = rec->ts - r->from}};

	collect_put(c, &ev);
}

/* A copy without an id gets one from the stack that the walk finds. */
uint64_t collect_copy(void *collector, const struct pr_copy *copy)
{
	uint64_t ips[PR_FRAMES_MAX], id = copy->id;
	struct collector *c = collector;
	enum unwind_stop stop;
	size_t n;

	if (procs_unread(c->procs, copy->pid) || !procs_known(c->procs, copy->pid)) {
		if (!c->held)
			c->held = mem_alloc(sizeof(*c->held));
		memcpy(c->held, copy, PR_LEN(copy->h.hdr));
		copy = c->held;
		procs_need(c->procs, copy->pid);
	}
	n = unwinds_walk(c->tables, copy, ips, PR_FRAMES_MAX, &stop);
	if (!id)
		id = (map_hash_bytes(ips, n * sizeof(ips[0])) ^ map_mix(stop)) | 1;
	stacks_add(c->stacks, id, ips, n, stop);
	return id;
}

void collect_probe(void *collector, const struct record *rec)
{
	struct collector *c = collector;
	const struct pr_hdr *h = rec->data;
	const struct pr_stack *stack = rec->data;
	const struct pr_run *run = rec->data;
	uint32_t kind = PR_KIND(h->hdr);

	switch (kind) {
	case PR_SWITCH:
		on_switch(c, rec);
		break;
	case PR_WAKING:
	case PR_WAKING_LONG:
		on_waking(c, rec);
		break;
	case PR_FUTEX:
		on_futex(c, rec);
		break;
	case PR_KLOCK:
		on_klock(c, rec);
		break;
	case PR_KLOCKED:
		on_klocked(c, rec);
		break;
	case PR_KLOCKS:
		collect_klocks(c, rec->data, rec->ts, rec->cpu);
		break;
	case PR_SAMPLE:
		collect_on_sample(c, rec);
		break;
	case PR_WAIT:
		on_wait(c, rec);
		break;
	case PR_STACK:
		stacks_add(c->stacks, stack->id, (const uint64_t *)stack->ip, stack->n,
			   stack->stop);
		break;
	case PR_COPY:
		(void)collect_copy(c, rec->data);
		break;
	case PR_LOST:
		on_lost_span(c, rec);
		break;
	case PR_MAP:
		collect_own_map(c, rec->data);
		break;
	case PR_RUN:
		runs_begin(c->runs, run->pid, rec->ts, run->path);
		break;
	default:
		collect_task(c, rec, kind);
	}
}
