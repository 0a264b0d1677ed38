// SPDX-License-Identifier: MIT
/* Which threads are looked at: found at the start, met on the way, and looked for again. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "capture/cgroup.h"
#include "capture/collect_private.h"
#include "wire/loss.h"

#define REFRESH_NS (50 * NSEC_PER_MSEC) /* between two looks at what a process has mapped */

bool collect_thread_add(struct collector *c, uint32_t tid, uint32_t pid)
{
	bool fresh;

	*map_put(&c->threads, tid, &fresh) = pid;
	if (fresh) {
		procs_thread(c->procs, pid);
		c->seen++;
	}
	return fresh;
}

void collect_thread_del(struct collector *c, uint32_t tid)
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
	collect_thread_add(c, tid, pid);
	vec_push(&c->found, facts);
}

static void find_in_cgroup(void *ctx, uint32_t tid)
{
	uint32_t pid;

	if (!procfs_pid_of(tid, &pid))
		find_one(ctx, pid, tid);
}

int collect_find_all(struct collector *c)
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
	int rc = collect_find_all(c);
	size_t before;

	/* Threads made by a thread that we had not found yet: look again until there is none. */
	do {
		before = c->found.n;
		if (!rc)
			rc = collect_find_all(c);
	} while (!rc && c->found.n > before && c->plan->scope != SCOPE_SYSTEM);
	return rc;
}

void collect_tell_map(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module)
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
bool collect_look_again(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;
	uint64_t now = clock_mono_ns(), *last = map_put(&c->refreshed, pid, NULL);

	if (*last && now - *last < REFRESH_NS)
		return false;
	*last = now;
	return procs_refresh(c->procs, pid, collect_tell_map, c);
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

static bool is_gone(const struct thread_facts *t)
{
	return syscall(SYS_tgkill, t->pid, t->tid, 0) && errno == ESRCH;
}

/* Threads that were found, and the code that their processes map. */
void collect_tell_found(struct collector *c)
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
			procs_load(c->procs, t->pid, collect_tell_map, c);
	}
	map_done(&loaded);
	vec_done(&c->found);
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

		engine_beat(c->e);
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
		collect_thread_del(c, ch->gone.v[i]);
	}
	/* New threads of processes that we look at, whoever made them. */
	for (size_t i = 0; map_next(&ch->pids, &i, &slot);)
		(void)procfs_each_thread((uint32_t)slot->key, find_one, c);
	(void)collect_find_all(c);
}

/* A thread may have another name now, if its process has called exec(). */
static void tell_changes(struct collector *c, const struct changes *ch, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_LEAVE};

	for (size_t i = 0; i < ch->gone.n; i++) {
		ev.leave = (struct ev_leave){.tid = ch->gone.v[i]};
		collect_put(c, &ev);
	}
	ev.kind = EV_RENAME;
	for (size_t i = 0; i < ch->here.n; i++) {
		ev.rename =
			(struct ev_rename){.tid = ch->here.v[i].tid, .name = ch->here.v[i].name};
		collect_put(c, &ev);
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
	collect_put(c, &ev);
	tell_changes(c, &ch, ev.ts);
	(void)collect_find_all(c);
	collect_tell_found(c);
	vec_done(&ch.gone);
	vec_done(&ch.here);
	map_done(&ch.pids);
	return ev.ts;
}

/* ---- who comes and goes ---- */

static void join_one(void *ctx, uint32_t pid, uint32_t tid)
{
	struct collector *c = ctx;
	struct thread_facts facts;

	if (map_get(&c->threads, tid) || procfs_thread(pid, tid, &facts))
		return;
	c->e->ops->watch(c->e, tid, true);
	collect_thread_add(c, tid, pid);
	tell_thread(c, &facts);
}

static void leave_one(struct collector *c, uint32_t tid)
{
	struct event ev = {.ts = c->last_ts, .kind = EV_LEAVE, .leave = {.tid = tid}};

	c->e->ops->watch(c->e, tid, false);
	collect_thread_del(c, tid);
	collect_put(c, &ev);
}

void collect_cgroup_move(struct collector *c, const struct pr_task *r, bool in)
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
		procs_load(c->procs, r->pid, collect_tell_map, c);
		return;
	}
	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (slot->key == r->tid || (r->other && slot->val == r->pid))
			vec_push(&tids, (uint32_t)slot->key);
	for (size_t i = 0; i < tids.n; i++)
		leave_one(c, tids.v[i]);
	vec_done(&tids);
}

/* Who ended before there was anybody to tell would seem to live for ever. */
void collect_lay_ghosts(struct collector *c)
{
	for (size_t i = 0; i < c->ghosts.n; i++)
		if (map_get(&c->threads, c->ghosts.v[i]))
			leave_one(c, c->ghosts.v[i]);
	vec_done(&c->ghosts);
}

/* The threads of a process that are known, but for one. */
void collect_end_threads(struct collector *c, uint32_t pid, uint32_t but, uint64_t ts)
{
	VEC(uint32_t) tids = {0};
	struct map_slot *slot;

	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (slot->val == pid && slot->key != but)
			vec_push(&tids, (uint32_t)slot->key);
	for (size_t i = 0; i < tids.n; i++) {
		struct event ev = {.ts = ts, .kind = EV_EXIT, .exit = {.tid = tids.v[i]}};

		collect_put(c, &ev);
		collect_thread_del(c, tids.v[i]);
	}
	vec_done(&tids);
}

/* Who was killed, or ended without a word, cannot tell. */
void collect_end_the_dead(struct collector *c)
{
	VEC(uint32_t) pids = {0};
	struct map_slot *slot;

	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (kill((pid_t)slot->val, 0) && errno == ESRCH)
			vec_push(&pids, (uint32_t)slot->val);
	for (size_t i = 0; i < pids.n; i++)
		collect_end_threads(c, pids.v[i], 0, c->last_ts);
	vec_done(&pids);
}
