// SPDX-License-Identifier: MIT
#include "capture/collect.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "capture/cgroup.h"
#include "capture/klocks.h"
#include "capture/perf_stream.h"
#include "capture/places.h"
#include "capture/procfs.h"
#include "capture/procs.h"
#include "capture/runs.h"
#include "capture/stacks.h"
#include "wire/loss.h"
#include "wire/probe.h"
#include "wire/unseen.h"

#define STACKS_BUDGET (8u << 20) /* of this generation of stacks, and as much of the last */
#define STRANGERS_MAX 65536
#define REFRESH_NS (50 * NSEC_PER_MSEC) /* between two looks at what a process has mapped */

struct step_told {
	uint64_t ts;
	struct ev_mark mark;
	char note[200];
};
#define GHOSTS_NS (200 * NSEC_PER_MSEC) /* all records of the beginning have come by then */

struct collector {
	const struct plan *plan;
	struct engine *e;
	struct writer *w;
	struct procs *procs;
	struct stacks *stacks;
	struct tables *tables;
	struct places *places;
	struct map refreshed; /* self_told: pid -> when its mappings were last looked at */
	struct runs *runs;
	VEC(struct step_told) steps; /* that are not yet told: earlier records may still come */
	uint64_t detached_ns;
	bool paused; /* no record is on its way */
	struct perf_stream *stream; /* of the perf engine */
	struct perf_record perf;    /* the one at hand */
	uint64_t damaged;	    /* perf records that are none */
	struct map threads;	    /* tid -> pid, of those that we look at */
	struct map born;	    /* found after arming: their FORK may be on the way */
	struct map strangers;	    /* tids of wakers that we do not look at, but have named */
	VEC(struct thread_facts) found;
	bool armed;
	uint64_t begin_ts;
	VEC(uint32_t) ghosts; /* had ended when the recording began, seen or not */
	uint64_t last_ts;
	uint64_t seen;
	uint64_t lost;
	struct engine_losses told;
	uint64_t told_gone, told_late, told_damaged, told_throttled;
};

static bool look_again(void *ctx, uint32_t pid);
static void on_probe(void *collector, const struct record *rec);
static uint64_t on_copy(void *collector, const struct pr_copy *copy);

struct collector *collector_new(const struct plan *plan, struct engine *e, struct writer *w)
{
	struct collector *c = mem_zalloc(sizeof(*c));

	c->plan = plan;
	c->e = e;
	c->w = w;
	c->procs = procs_new(w);
	c->stacks = stacks_new(w, c->procs, e, STACKS_BUDGET);
	c->tables = tables_new(e, c->procs);
	c->places = places_new(c->procs);
	c->runs = runs_new();
	if (e->self_told)
		tables_set_miss(c->tables, look_again, c);
	if (e->perf) {
		static const struct perf_stream_ops ops = {.probe = on_probe, .walk = on_copy};

		c->stream = perf_stream_new(e->perf, &ops, c);
	}
	return c;
}

void collector_set_idle(struct collector *c, tables_idle_fn *fn, void *ctx)
{
	tables_set_idle(c->tables, fn, ctx);
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	stacks_free(c->stacks);
	tables_free(c->tables);
	places_free(c->places);
	perf_stream_free(c->stream);
	procs_free(c->procs);
	map_done(&c->born);
	map_done(&c->threads);
	map_done(&c->strangers);
	map_done(&c->refreshed);
	runs_free(c->runs);
	vec_done(&c->found);
	vec_done(&c->steps);
	vec_done(&c->ghosts);
	free(c);
}

void collector_passed(struct collector *c, uint64_t until)
{
	size_t n = 0;

	for (; n < c->steps.n && c->steps.v[n].ts <= until; n++) {
		struct step_told *t = &c->steps.v[n];
		struct event ev = {.ts = t->ts, .kind = EV_MARK, .mark = t->mark};

		ev.mark.note = t->note;
		c->last_ts = ev.ts;
		writer_event(c->w, &ev);
	}
	if (!n)
		return;
	c->steps.n -= n;
	memmove(c->steps.v, c->steps.v + n, c->steps.n * sizeof(*c->steps.v));
}

void collector_step(struct collector *c, uint64_t ts, const struct ev_mark *mark)
{
	struct step_told *t = vec_add(&c->steps);

	*t = (struct step_told){.ts = ts, .mark = *mark};
	snprintf(t->note, sizeof(t->note), "%s", mark->note ? mark->note : "");
}

void collector_detached(struct collector *c, uint64_t ts)
{
	c->detached_ns = ts;
}

static void put(struct collector *c, struct event *ev)
{
	if (c->steps.n)
		collector_passed(c, ev->ts);
	c->last_ts = ev->ts;
	writer_event(c->w, ev);
}

/* ---- which threads ---- */

static bool thread_add(struct collector *c, uint32_t tid, uint32_t pid)
{
	bool fresh;

	*map_put(&c->threads, tid, &fresh) = pid;
	if (fresh) {
		procs_thread(c->procs, pid);
		c->seen++;
	}
	return fresh;
}

static void thread_del(struct collector *c, uint32_t tid)
{
	uint64_t *pid = map_get(&c->threads, tid);

	if (!pid)
		return;
	procs_thread_end(c->procs, (uint32_t)*pid);
	if (!procs_known(c->procs, (uint32_t)*pid)) {
		tables_exit(c->tables, (uint32_t)*pid);
		places_forget(c->places, (uint32_t)*pid);
	}
	map_del(&c->threads, tid);
}

static void find_one(void *ctx, uint32_t pid, uint32_t tid)
{
	struct collector *c = ctx;
	struct thread_facts facts;

	engine_beat(c->e);
	/* A set bit that we did not set: its FORK record is on the way. */
	if (map_get(&c->threads, tid) || (!c->paused && c->e->ops->watched(c->e, tid)))
		return;
	if (procfs_thread(pid, tid, &facts) || (facts.state & (STATE_ZOMBIE | STATE_DEAD)))
		return;
	if (c->plan->scope != SCOPE_SYSTEM) {
		c->e->ops->watch(c->e, tid, true);
		/* It may be gone by now, and the engine be told so. */
		if (!c->e->ops->watched(c->e, tid))
			return;
	}
	if (c->armed && c->stream)
		map_put(&c->born, tid, NULL);
	thread_add(c, tid, pid);
	vec_push(&c->found, facts);
}

static void find_in_cgroup(void *ctx, uint32_t tid)
{
	uint32_t pid;

	if (!procfs_pid_of(tid, &pid))
		find_one(ctx, pid, tid);
}

static int find_all(struct collector *c)
{
	struct cgroup_ref ref;
	uint32_t pid;
	int rc = 0;

	switch (c->plan->scope) {
	case SCOPE_SYSTEM:
		return procfs_each_thread(0, find_one, c);
	case SCOPE_CGROUP:
		rc = cgroup_find(c->plan->cgroup, &ref);
		return rc ? rc : cgroup_each_thread(&ref, find_in_cgroup, c);
	case SCOPE_COMMAND:
	case SCOPE_PROCESS:
		for (size_t i = 0; i < c->plan->n_ids && !rc; i++)
			rc = procfs_each_thread(c->plan->ids[i], find_one, c);
		return rc;
	case SCOPE_THREAD:
		for (size_t i = 0; i < c->plan->n_ids && !rc; i++) {
			rc = procfs_pid_of(c->plan->ids[i], &pid);
			if (!rc)
				find_one(c, pid, c->plan->ids[i]);
		}
		return rc;
	}
	return -EINVAL;
}

int collector_find(struct collector *c)
{
	int rc = find_all(c);
	size_t before;

	/* Threads made by a thread that we had not found yet: look again until there is none. */
	do {
		before = c->found.n;
		if (!rc)
			rc = find_all(c);
	} while (!rc && c->found.n > before && c->plan->scope != SCOPE_SYSTEM);
	return rc;
}

static void tell_map(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module)
{
	struct collector *c = ctx;
	struct event ev = {.ts = c->last_ts,
			   .kind = EV_MAP,
			   .map = {.pid = pid,
				   .addr = m->start,
				   .len = m->len,
				   .pgoff = m->pgoff,
				   .module = module}};

	writer_event(c->w, &ev);
}

/* An address that a program that tells of itself has not told of: it has loaded something since. */
static bool look_again(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;
	uint64_t now = clock_mono_ns(), *last = map_put(&c->refreshed, pid, NULL);

	if (*last && now - *last < REFRESH_NS)
		return false;
	*last = now;
	return procs_refresh(c->procs, pid, tell_map, c);
}

static void tell_thread(struct collector *c, const struct thread_facts *t)
{
	struct event ev = {.ts = c->last_ts,
			   .kind = EV_THREAD,
			   .thread = {.tid = t->tid,
				      .pid = t->pid,
				      .state = t->state,
				      .flags = t->kernel ? THREAD_KERNEL : 0,
				      .name = t->name,
				      .vtid = t->vtid,
				      .call = t->call}};

	writer_event(c->w, &ev);
}

static void tell_unseen(struct collector *c)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} rows[] = {
#define UNSEEN(bit, UPPER, name, words) {UNSEEN_##UPPER, name},
#include "wire/unseen.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (c->e->unseen & rows[i].bit)
			writer_meta(c->w, "unseen", rows[i].name);
}

static bool is_gone(const struct thread_facts *t)
{
	return syscall(SYS_tgkill, t->pid, t->tid, 0) && errno == ESRCH;
}

/* Threads that were found, and the code that their processes map. */
static void tell_found(struct collector *c)
{
	struct map loaded = {0};

	for (size_t i = 0; i < c->found.n; i++) {
		const struct thread_facts *t = &c->found.v[i];
		bool fresh;

		engine_beat(c->e);
		if (c->stream && is_gone(t))
			vec_push(&c->ghosts, t->tid);
		tell_thread(c, t);
		map_put(&loaded, t->pid, &fresh);
		if (fresh && !t->kernel)
			procs_load(c->procs, t->pid, tell_map, c);
	}
	map_done(&loaded);
	vec_done(&c->found);
}

void collector_begin(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_MARK, .mark = {.what = MARK_BEGIN}};

	put(c, &ev);
	writer_meta(c->w, "kernel_locks", c->e->kernel_locks ? "yes" : "no");
	tell_unseen(c);
	if (c->stream)
		perf_stream_begin(c->stream, ts);
	c->armed = true;
	c->begin_ts = ts;
	/* Born between the first look and arming; gone ones are no error now. */
	(void)find_all(c);
	tell_found(c);
}

/* ---- after a time in which nothing was recorded ---- */

struct changes {
	VEC(uint32_t) gone; /* tids */
	VEC(struct thread_facts) here;
	struct map pids; /* of those that are here */
};

static void find_changes(struct collector *c, struct changes *ch)
{
	struct thread_facts facts;
	struct map_slot *slot;

	for (size_t i = 0; map_next(&c->threads, &i, &slot);) {
		uint32_t tid = (uint32_t)slot->key, pid = (uint32_t)slot->val;

		if (procfs_thread(pid, tid, &facts) ||
		    (facts.state & (STATE_ZOMBIE | STATE_DEAD))) {
			vec_push(&ch->gone, tid);
		} else {
			vec_push(&ch->here, facts);
			map_put(&ch->pids, pid, NULL);
		}
	}
	for (size_t i = 0; i < ch->gone.n; i++) {
		c->e->ops->watch(c->e, ch->gone.v[i], false);
		thread_del(c, ch->gone.v[i]);
	}
	/* New threads of processes that we look at, whoever made them. */
	for (size_t i = 0; map_next(&ch->pids, &i, &slot);)
		(void)procfs_each_thread((uint32_t)slot->key, find_one, c);
	(void)find_all(c);
}

/* A thread may have another name now, if its process has called exec(). */
static void tell_changes(struct collector *c, const struct changes *ch, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_LEAVE};

	for (size_t i = 0; i < ch->gone.n; i++) {
		ev.leave = (struct ev_leave){.tid = ch->gone.v[i]};
		put(c, &ev);
	}
	ev.kind = EV_RENAME;
	for (size_t i = 0; i < ch->here.n; i++) {
		ev.rename =
			(struct ev_rename){.tid = ch->here.v[i].tid, .name = ch->here.v[i].name};
		put(c, &ev);
	}
}

uint64_t collector_resume(struct collector *c, uint64_t from)
{
	struct event ev = {.kind = EV_LOST, .cpu = EVENT_ALL_CPUS};
	struct changes ch = {0};

	c->paused = true;
	tables_forget(c->tables);
	find_changes(c, &ch);
	c->paused = false;
	c->e->ops->arm(c->e);
	ev.ts = clock_mono_ns();
	from = from < ev.ts ? from : ev.ts;
	ev.lost = (struct ev_lost){.cause = LOSS_PAUSED, .span_ns = ev.ts - from};
	put(c, &ev);
	tell_changes(c, &ch, ev.ts);
	(void)find_all(c);
	tell_found(c);
	vec_done(&ch.gone);
	vec_done(&ch.here);
	map_done(&ch.pids);
	return ev.ts;
}

/* ---- records ---- */

static void on_switch(struct collector *c, const struct record *rec)
{
	const struct pr_switch *r = rec->data;
	struct event ev = {
		.ts = rec->ts,
		.kind = EV_SWITCH,
		.cpu = rec->cpu,
		.switch_ = {.prev = r->prev, .next = r->next, .state = r->state, .call = r->call}};

	put(c, &ev);
}

/* A waker that is not looked at gets its name told, so that it can be called by it. */
static void name_stranger(struct collector *c, uint32_t tid, uint32_t pid, uint64_t ts)
{
	struct thread_facts facts;
	bool fresh;

	if (!tid || map_get(&c->threads, tid))
		return;
	if (c->strangers.n > STRANGERS_MAX)
		map_clear(&c->strangers);
	map_put(&c->strangers, tid, &fresh);
	if (fresh && !procfs_thread(pid, tid, &facts)) {
		struct event ev = {
			.ts = ts, .kind = EV_RENAME, .rename = {.tid = tid, .name = facts.name}};

		put(c, &ev);
	}
}

static void on_waking(struct collector *c, const struct record *rec)
{
	const struct pr_waking *r = rec->data;
	bool stacks = PR_KIND(r->h.hdr) == PR_WAKING_LONG;
	struct event ev = {
		.ts = rec->ts,
		.kind = EV_WAKING,
		.cpu = rec->cpu,
		.waking = {.wakee = r->wakee, .waker = r->waker, .ctx = (uint8_t)r->ctx}};

	if (stacks) {
		if ((r->ctx & WAKE_CTX) == WAKE_TASK)
			name_stranger(c, r->waker, r->waker_pid, rec->ts);
		ev.waking.kstack = stacks_kernel(c->stacks, r->kstack);
		ev.waking.ustack = stacks_user(c->stacks, r->ustack, r->waker_pid);
	}
	put(c, &ev);
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

	if (places_ask(c->places, r->pid, r->addr, rec->ts, &place.place))
		put(c, &place);
	put(c, &ev);
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
	put(c, &ev);
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
	put(c, &ev);
}

static void on_sample(struct collector *c, const struct record *rec)
{
	const struct pr_sample *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_SAMPLE,
			   .cpu = rec->cpu,
			   .sample = {.tid = r->tid,
				      .kstack = stacks_kernel(c->stacks, r->kstack),
				      .ustack = stacks_user(c->stacks, r->ustack, r->pid)}};

	put(c, &ev);
}

static void on_wait(struct collector *c, const struct record *rec)
{
	const struct pr_sample *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_WAIT,
			   .cpu = rec->cpu,
			   .wait = {.tid = r->tid,
				    .kstack = stacks_kernel(c->stacks, r->kstack),
				    .ustack = stacks_user(c->stacks, r->ustack, r->pid)}};

	put(c, &ev);
}

static void on_fork(struct collector *c, struct event *ev, const struct pr_task *r, char *name)
{
	/* Found by itself before its record came. */
	if (map_del(&c->born, r->tid) && map_get(&c->threads, r->tid))
		return;
	procs_fork(c->procs, r->pid, r->code);
	if (r->tid == r->pid)
		tables_fork(c->tables, r->pid);
	thread_add(c, r->tid, r->pid);
	ev->kind = EV_FORK;
	ev->fork = (struct ev_fork){
		.tid = r->tid, .pid = r->pid, .parent = r->other, .name = name, .vtid = r->vtid};
	put(c, ev);
}

/* The threads of a process that are known, but for one. */
static void end_threads(struct collector *c, uint32_t pid, uint32_t but, uint64_t ts)
{
	VEC(uint32_t) tids = {0};
	struct map_slot *slot;

	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (slot->val == pid && slot->key != but)
			vec_push(&tids, (uint32_t)slot->key);
	for (size_t i = 0; i < tids.n; i++) {
		struct event ev = {.ts = ts, .kind = EV_EXIT, .exit = {.tid = tids.v[i]}};

		put(c, &ev);
		thread_del(c, tids.v[i]);
	}
	vec_done(&tids);
}

/* A program has begun that records itself: it may be the first that is heard of its process. */
static void on_own_exec(struct collector *c, const struct pr_task *r, char *name)
{
	struct event ev = {.ts = r->h.ts,
			   .kind = EV_FORK,
			   .fork = {.tid = r->tid, .pid = r->pid, .parent = r->code, .name = name}};

	runs_there(c->runs, r->pid, r->h.ts);
	end_threads(c, r->pid, r->tid, r->h.ts);
	map_del(&c->refreshed, r->pid);
	if (thread_add(c, r->tid, r->pid))
		put(c, &ev);
}

static void on_own_map(struct collector *c, const struct pr_map *r)
{
	struct map_facts f = {.start = r->start,
			      .end = r->end,
			      .pgoff = r->pgoff,
			      .dev = makedev(r->dev >> 32, (uint32_t)r->dev),
			      .inode = r->inode,
			      .exec = true,
			      .path = r->path};

	if (!procs_known(c->procs, r->pid))
		return;
	if (r->h.ts > c->last_ts)
		c->last_ts = r->h.ts;
	if (r->first)
		procs_exec(c->procs, r->pid);
	procs_map_read(c->procs, r->pid, &f, tell_map, c);
	tables_mapped(c->tables, r->pid);
}

/* Who was killed, or ended without a word, cannot tell. */
static void end_the_dead(struct collector *c)
{
	VEC(uint32_t) pids = {0};
	struct map_slot *slot;

	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (kill((pid_t)slot->val, 0) && errno == ESRCH)
			vec_push(&pids, (uint32_t)slot->val);
	for (size_t i = 0; i < pids.n; i++)
		end_threads(c, pids.v[i], 0, c->last_ts);
	vec_done(&pids);
}

static void on_exec(struct collector *c, struct event *ev, const struct pr_task *r, char *name)
{
	if (c->e->self_told)
		on_own_exec(c, r, name);
	if (r->other != r->tid) {
		thread_add(c, r->tid, r->pid);
		thread_del(c, r->other);
	}
	tables_exec(c->tables, r->pid, c->e->self_told ? 0 : r->code);
	places_forget(c->places, r->pid);
	ev->kind = EV_EXEC;
	ev->exec = (struct ev_exec){.tid = r->tid, .old_tid = r->other, .name = name};
	put(c, ev);
}

static void join_one(void *ctx, uint32_t pid, uint32_t tid)
{
	struct collector *c = ctx;
	struct thread_facts facts;

	if (map_get(&c->threads, tid) || procfs_thread(pid, tid, &facts))
		return;
	c->e->ops->watch(c->e, tid, true);
	thread_add(c, tid, pid);
	tell_thread(c, &facts);
}

static void leave_one(struct collector *c, uint32_t tid)
{
	struct event ev = {.ts = c->last_ts, .kind = EV_LEAVE, .leave = {.tid = tid}};

	c->e->ops->watch(c->e, tid, false);
	thread_del(c, tid);
	put(c, &ev);
}

static void on_cgroup_move(struct collector *c, const struct pr_task *r, bool in)
{
	VEC(uint32_t) tids = {0};
	struct map_slot *slot;

	c->last_ts = r->h.ts;
	if (in) {
		join_one(c, r->pid, r->tid);
		if (r->other)
			(void)procfs_each_thread(r->pid, join_one, c);
		if (!procs_version(c->procs, r->pid))
			return;
		procs_load(c->procs, r->pid, tell_map, c);
		return;
	}
	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (slot->key == r->tid || (r->other && slot->val == r->pid))
			vec_push(&tids, (uint32_t)slot->key);
	for (size_t i = 0; i < tids.n; i++)
		leave_one(c, tids.v[i]);
	vec_done(&tids);
}

static void on_task(struct collector *c, const struct record *rec, uint32_t kind)
{
	const struct pr_task *r = rec->data;
	struct event ev = {.ts = rec->ts, .cpu = rec->cpu};
	char name[PR_COMM + 1];

	memcpy(name, r->comm, PR_COMM);
	name[PR_COMM] = '\0';
	switch (kind) {
	case PR_FORK:
		on_fork(c, &ev, r, name);
		break;
	case PR_EXEC:
		on_exec(c, &ev, r, name);
		break;
	case PR_EXIT:
		ev.kind = EV_EXIT;
		ev.exit = (struct ev_exit){.tid = r->tid, .code = r->code};
		put(c, &ev);
		thread_del(c, r->tid);
		if (r->other)
			end_threads(c, r->pid, 0, rec->ts);
		break;
	case PR_RENAME:
		ev.kind = EV_RENAME;
		ev.rename = (struct ev_rename){.tid = r->tid, .name = name};
		put(c, &ev);
		break;
	default:
		on_cgroup_move(c, r, kind == PR_JOIN);
	}
}

static void on_lost_span(struct collector *c, const struct record *rec)
{
	const struct pr_lost *r = rec->data;
	struct event ev = {.ts = rec->ts,
			   .kind = EV_LOST,
			   .cpu = rec->cpu,
			   .lost = {.cause = LOSS_RING_FULL, .span_ns = rec->ts - r->from}};

	put(c, &ev);
}

/* Without an id of its own, a copy is known by what the walk finds. */
static uint64_t on_copy(void *collector, const struct pr_copy *copy)
{
	uint64_t ips[PR_FRAMES_MAX], id = copy->id;
	struct collector *c = collector;
	enum unwind_stop stop;
	size_t n = tables_walk(c->tables, copy, ips, PR_FRAMES_MAX, &stop);

	if (!id)
		id = (map_hash_bytes(ips, n * sizeof(ips[0])) ^ map_mix(stop)) | 1;
	stacks_add(c->stacks, id, ips, n, stop);
	return id;
}

static void on_probe(void *collector, const struct record *rec)
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
	case PR_SAMPLE:
		on_sample(c, rec);
		break;
	case PR_WAIT:
		on_wait(c, rec);
		break;
	case PR_STACK:
		stacks_add(c->stacks, stack->id, (const uint64_t *)stack->ip, stack->n,
			   stack->stop);
		break;
	case PR_COPY:
		(void)on_copy(c, rec->data);
		break;
	case PR_LOST:
		on_lost_span(c, rec);
		break;
	case PR_MAP:
		on_own_map(c, rec->data);
		break;
	case PR_RUN:
		runs_begin(c->runs, run->pid, rec->ts, run->path);
		break;
	default:
		on_task(c, rec, kind);
	}
}

/* ---- the side-band ---- */

static void on_mmap(struct collector *c, const struct perf_mmap2 *r, uint64_t ts)
{
	struct mapping m = {.start = r->addr,
			    .len = r->len,
			    .pgoff = r->pgoff,
			    .path = r->path,
			    .build_id = r->build_id,
			    .build_id_len = r->build_id_len};

	if (!procs_known(c->procs, r->pid))
		return;
	if (ts > c->last_ts)
		c->last_ts = ts;
	tell_map(c, r->pid, &m, procs_map(c->procs, r->pid, &m));
	tables_mapped(c->tables, r->pid);
}

/* Threads of ours end by their own EXIT record; of others, the mappings must not outlive them. */
static void on_stranger_exit(struct collector *c, uint32_t pid, uint32_t tid)
{
	if (pid != tid || map_get(&c->threads, tid) || !procs_known(c->procs, pid))
		return;
	procs_forget_stranger(c->procs, pid);
	if (!procs_known(c->procs, pid))
		tables_exit(c->tables, pid);
}

static void on_perf(struct collector *c, const struct record *rec)
{
	struct perf_record *r = &c->perf;

	if (perf_record_parse(c->e->perf_samples, rec->data, rec->len, r)) {
		c->damaged++;
		return;
	}
	r->ts = rec->ts;
	if (c->stream && !perf_stream_begun(c->stream, r->ts))
		return;
	if (r->type == PERF_RECORD_EXIT && !c->stream)
		on_stranger_exit(c, r->task.pid, r->task.tid);
	else if (r->type == PERF_RECORD_MMAP2)
		on_mmap(c, &r->mmap, r->ts);
	else if (r->type == PERF_RECORD_COMM && r->comm.exec && procs_known(c->procs, r->comm.pid))
		procs_exec(c->procs, r->comm.pid);
	if (c->stream)
		perf_stream_record(c->stream, r, rec->cpu);
}

void collector_record(void *collector, const struct record *rec)
{
	if (rec->type == RECORD_PROBE)
		on_probe(collector, rec);
	else
		on_perf(collector, rec);
}

/* Who ended before there was anybody to tell would seem to live for ever. */
static void lay_ghosts(struct collector *c)
{
	for (size_t i = 0; i < c->ghosts.n; i++)
		if (map_get(&c->threads, c->ghosts.v[i]))
			leave_one(c, c->ghosts.v[i]);
	vec_done(&c->ghosts);
}

void collector_settle(struct collector *c)
{
	if (c->ghosts.n && clock_mono_ns() > c->begin_ts + GHOSTS_NS)
		lay_ghosts(c);
	tables_settle(c->tables);
}

/* ---- losses ---- */

static const uint8_t event_of[PR_KINDS] = {
	[PR_SWITCH] = EV_SWITCH, [PR_WAKING] = EV_WAKING,   [PR_WAKING_LONG] = EV_WAKING,
	[PR_SAMPLE] = EV_SAMPLE, [PR_WAIT] = EV_WAIT,	    [PR_FORK] = EV_FORK,
	[PR_EXEC] = EV_EXEC,	 [PR_EXIT] = EV_EXIT,	    [PR_RENAME] = EV_RENAME,
	[PR_JOIN] = EV_THREAD,	 [PR_LEAVE] = EV_LEAVE,	    [PR_FUTEX] = EV_FUTEX,
	[PR_KLOCK] = EV_KLOCK,	 [PR_KLOCKED] = EV_KLOCKED,
};

static void tell_loss(struct collector *c, uint32_t cause, uint32_t kind, uint64_t now,
		      uint64_t *told)
{
	struct event ev = {.ts = c->last_ts,
			   .kind = EV_LOST,
			   .lost = {.cause = cause, .kind = kind, .count = now - *told}};

	if (now <= *told)
		return;
	*told = now;
	writer_event(c->w, &ev);
	if (cause != LOSS_HINT && cause != LOSS_STACK_READ && cause != LOSS_STACK_GONE &&
	    cause != LOSS_WAIT_STACK)
		c->lost += ev.lost.count;
}

void collector_losses(struct collector *c, uint64_t late)
{
	struct engine_losses now;

	c->e->ops->losses(c->e, &now);
	/* A stack that did not get in is counted where it is missed: LOSS_STACK_GONE. */
	for (uint32_t k = 1; k < PR_KINDS; k++)
		if (event_of[k])
			tell_loss(c, LOSS_RING_FULL, event_of[k], now.by_kind[k],
				  &c->told.by_kind[k]);
	tell_loss(c, LOSS_RING_FULL, 0, now.records, &c->told.records);
	tell_loss(c, LOSS_UNREADABLE, 0, c->damaged, &c->told_damaged);
	if (c->stream)
		tell_loss(c, LOSS_THROTTLED, EV_SAMPLE, perf_stream_throttled(c->stream),
			  &c->told_throttled);
	tell_loss(c, LOSS_SIDEBAND, 0, now.sideband, &c->told.sideband);
	tell_loss(c, LOSS_RECURSION, 0, now.recursion, &c->told.recursion);
	tell_loss(c, LOSS_HINT, 0, now.no_hint, &c->told.no_hint);
	tell_loss(c, LOSS_KLOCK, 0, now.no_klock, &c->told.no_klock);
	tell_loss(c, LOSS_STACK_READ, 0, now.no_stack, &c->told.no_stack);
	tell_loss(c, LOSS_WAIT_STACK, 0, now.no_wait_stack, &c->told.no_wait_stack);
	tell_loss(c, LOSS_STACK_GONE, 0, stacks_gone(c->stacks), &c->told_gone);
	tell_loss(c, LOSS_LATE, 0, late, &c->told_late);
	tell_loss(c, LOSS_BLOCKED, EV_SAMPLE, now.blocked, &c->told.blocked);
	tell_loss(c, LOSS_NO_TIMER, EV_SAMPLE, now.no_timer, &c->told.no_timer);
	tell_loss(c, LOSS_UNFINISHED, 0, now.unfinished, &c->told.unfinished);
	if (c->e->self_told)
		end_the_dead(c);
}

/* What walking the stacks took. */
static void tell_tables(struct collector *c)
{
	struct tables_stats st;

	tables_stats(c->tables, &st);
	const struct {
		const char *key;
		uint64_t val;
	} facts[] = {{"unwind_objects", st.objects},	 {"unwind_rows", st.rows},
		     {"unwind_bytes", st.bytes},	 {"unwind_build_ns", st.build_ns},
		     {"unwind_copies", st.copies},	 {"unwind_copy_bytes", st.copy_bytes},
		     {"unwind_published", st.published}, {"unwind_resets", st.resets}};

	for (size_t i = 0; c->tables && i < ARRAY_LEN(facts); i++) {
		char text[24];

		snprintf(text, sizeof(text), "%llu", (unsigned long long)facts[i].val);
		writer_meta(c->w, facts[i].key, text);
	}
}

/* Programs that could not be followed. */
static void tell_runs(struct collector *c)
{
	char names[256], text[320];
	size_t n = runs_missed(c->runs, names, sizeof(names));

	if (!n)
		return;
	snprintf(text, sizeof(text), "%zu (%s)", n, names);
	writer_meta(c->w, "not_followed", text);
}

void collector_notes(const struct collector *c, char *out, size_t room)
{
	size_t len = strlen(out);
	char names[160];
	size_t n = runs_missed(c->runs, names, sizeof(names));

	if (n && len < room)
		snprintf(out + len, room - len,
			 "%s%zu program%s could not be followed, being static, or having other "
			 "rights or another machine: %s",
			 len ? "; " : "", n, n == 1 ? "" : "s", names);
}

void collector_end(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts > c->last_ts ? ts : c->last_ts};

	tell_tables(c);
	tell_runs(c);
	collector_passed(c, ev.ts);
	if (c->detached_ns && c->detached_ns < ev.ts) {
		ev.kind = EV_LOST;
		ev.cpu = EVENT_ALL_CPUS;
		ev.lost =
			(struct ev_lost){.cause = LOSS_DETACHED, .span_ns = ev.ts - c->detached_ns};
		put(c, &ev);
	}
	for (size_t i = 0; i < c->e->n_sources; i++) {
		uint64_t from = c->e->ops->open_loss(c->e, i);

		if (!from || from > ev.ts)
			continue;
		ev.kind = EV_LOST;
		ev.cpu = c->e->sources[i]->cpu;
		ev.lost = (struct ev_lost){.cause = LOSS_RING_FULL, .span_ns = ev.ts - from};
		put(c, &ev);
	}
	ev.kind = EV_MARK;
	ev.cpu = 0;
	ev.mark = (struct ev_mark){.what = MARK_END};
	put(c, &ev);
}

uint64_t collector_alive(const struct collector *c)
{
	return c->threads.n;
}

uint64_t collector_seen(const struct collector *c)
{
	return c->seen;
}

uint64_t collector_lost(const struct collector *c)
{
	return c->lost;
}

uint64_t collector_build_ns(const struct collector *c)
{
	return tables_cpu_ns(c->tables);
}
