// SPDX-License-Identifier: MIT
/* Which threads are recorded: those found at the start, met on the way, or found later. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "collect/collect_private.h"
#include "engine/cgroup.h"
#include "wire/loss.h"

#define START_NS (2 * NSEC_PER_SEC)	/* that the beginning may wait for the scout */
#define GHOSTS_NS (200 * NSEC_PER_MSEC) /* a thread's last record has come by then */
#define GHOSTS_LOOKS 64
#define JOIN_NS (20 * NSEC_PER_MSEC)
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
		unwinds_exit(c->tables, (uint32_t)*pid);
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
		/* The thread may be gone by now, and the engine may know. */
		if (!c->e->ops->watched(c->e, tid))
			return;
	}
	if (c->armed && c->stream)
		map_put(&c->born, tid, NULL);
	collect_thread_add(c, tid, pid);
	vec_push(&c->found, facts);
	*map_put(&c->found_at, tid, NULL) = c->found.n;
}

static void find_in_cgroup(void *ctx, uint32_t tid)
{
	uint32_t pid;

	if (!procfs_pid_of(tid, &pid))
		find_one(ctx, pid, tid);
}

static void find_process(void *ctx, uint32_t pid, uint32_t tid)
{
	(void)procfs_each_thread(pid, find_one, ctx);
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
		/* A command has no children yet; the probes follow them later. */
		if (!rc && c->plan->scope == SCOPE_PROCESS && !c->plan->no_inherit)
			procfs_each_descendant(c->plan->ids, c->plan->n_ids, find_process, c);
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

/* ---- what others have to be asked for ---- */

/* Keeps the calls in which found threads sleep that are not written yet. */
void collect_take_calls(void *ctx, const struct scout_answer *a)
{
	struct collector *c = ctx;

	for (size_t i = 0; i < a->n_calls; i++) {
		uint64_t *at = map_get(&c->found_at, a->calls[i].tid);

		/* A thread that was found running has left this call. */
		if (at && c->found.v[*at - 1].state)
			c->found.v[*at - 1].call = a->calls[i].call;
	}
}

/*
 * Asks for the calls of all threads that were found and for the mappings of their processes, then
 * waits for all answers together. An answer that is late is used when it comes. Before the perf
 * engine is armed nobody reports new mappings, so a map read then would be old.
 */
static void collect_read_found(struct collector *c)
{
	struct map asked = {0};

	for (size_t i = 0; i < c->found.n; i++) {
		const struct thread_facts *t = &c->found.v[i];
		struct scout_question q = {.kind = SCOUT_CALLS, .pid = t->pid};
		uint32_t pid = t->pid;
		bool fresh;

		engine_beat(c->e);
		if (t->kernel)
			continue;
		map_put(&asked, pid, &fresh);
		if (fresh && (!c->stream || c->armed) && procs_unread(c->procs, pid))
			procs_load(c->procs, pid);
		/* Ask once for every thread; the scout merges questions about one process. */
		if (i >= c->found_read)
			(void)scout_ask(c->scout, &q, true);
	}
	c->found_read = c->found.n;
	map_done(&asked);
	(void)scout_wait_all(c->scout, START_NS);
}

static void add_own(void *ctx, uint32_t pid, uint32_t tid)
{
	struct collector *c = ctx;

	map_put(&c->own, pid, NULL);
}

/* A recording of the system or of a cgroup may include thaw and its children. */
void collect_find_own(struct collector *c)
{
	uint32_t self = (uint32_t)getpid();

	if (c->plan->scope != SCOPE_SYSTEM && c->plan->scope != SCOPE_CGROUP)
		return;
	add_own(c, self, self);
	procfs_each_descendant(&self, 1, add_own, c);
}

int collector_find(struct collector *c)
{
	int rc = collect_find_all(c);
	size_t before;

	/* A thread not found yet may have made others: look until there are no new ones. */
	do {
		before = c->found.n;
		if (!rc)
			rc = collect_find_all(c);
	} while (!rc && c->found.n > before && c->plan->scope != SCOPE_SYSTEM);
	if (!rc)
		collect_read_found(c);
	if (!rc)
		collect_look_asleep(c);
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

/* A program that reports its own mappings lacks this address: it has loaded more since. */
bool collect_look_again(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;
	uint64_t now = clock_mono_ns(), *last = map_put(&c->refreshed, pid, NULL);

	if (*last && now - *last < REFRESH_NS)
		return false;
	*last = now;
	return procs_refresh(c->procs, pid);
}

static uint32_t flags_of(const struct collector *c, const struct thread_facts *t)
{
	uint32_t flags = t->kernel ? THREAD_KERNEL : 0;

	if (map_get(&c->own, t->pid))
		flags |= THREAD_OWN;
	if (c->plan->scope == SCOPE_COMMAND && t->pid == c->plan->ids[0])
		flags |= THREAD_LAUNCHED;
	return flags;
}

static void tell_thread(struct collector *c, const struct thread_facts *t)
{
	struct event ev = {.ts = c->last_ts,
			   .kind = EV_THREAD,
			   .thread = {.tid = t->tid,
				      .pid = t->pid,
				      .state = t->state,
				      .flags = flags_of(c, t),
				      .name = t->name,
				      .vtid = t->vtid,
				      .call = t->call}};

	writer_event(c->w, &ev);
}

/*
 * A thread known to sleep has not ended; nor, as a rule, has one that slept when it was found. One
 * that is exiting may have passed the probe for its EXIT before that was armed. Before 6.16 it has
 * given up its memory by then, as /proc shows; since then only the engine can tell in time, but
 * perf's, which tells of an EXIT later. Kernel threads never have memory.
 */
static bool is_leaving(const struct collector *c, const struct thread_facts *t)
{
	enum thread_life life;

	if (syscall(SYS_tgkill, t->pid, t->tid, 0) && errno == ESRCH)
		return true;
	if (collect_is_exiting(c, t->tid))
		return true;
	if (t->state && (!c->sleepers || collect_is_asleep(c, t->tid)))
		return false;
	life = procfs_life(t->pid, t->tid);
	return life == LIFE_ENDED || (life == LIFE_EXITING && !t->kernel);
}

/* Writes the threads that were found, and their processes' mappings. */
void collect_tell_found(struct collector *c)
{
	struct map told = {0};

	collect_read_found(c);
	for (size_t i = 0; i < c->found.n; i++) {
		const struct thread_facts *t = &c->found.v[i];
		bool fresh;

		engine_beat(c->e);
		if (is_leaving(c, t))
			vec_push(&c->ghosts, (struct ghost){.tid = t->tid});
		tell_thread(c, t);
		map_put(&told, t->pid, &fresh);
		if (fresh && !t->kernel)
			procs_tell(c->procs, t->pid);
	}
	map_done(&told);
	vec_done(&c->found);
	map_done(&c->found_at);
	c->found_read = 0;
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
	unwinds_forget(c->tables);
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
	vec_push(&c->found, facts);
	*map_put(&c->found_at, tid, NULL) = c->found.n;
}

static void collect_join(struct collector *c, const struct pr_task *r)
{
	struct scout_question q = {.kind = SCOUT_CALLS, .pid = r->pid};

	join_one(c, r->pid, r->tid);
	if (r->other)
		(void)procfs_each_thread(r->pid, join_one, c);
	(void)scout_wait(c->scout, scout_ask(c->scout, &q, false), JOIN_NS, false);
	for (size_t i = 0; i < c->found.n; i++)
		tell_thread(c, &c->found.v[i]);
	vec_done(&c->found);
	map_done(&c->found_at);
	procs_need(c->procs, r->pid);
}

static void leave_one(struct collector *c, uint32_t tid, bool before)
{
	struct event ev = {
		.ts = c->last_ts, .kind = EV_LEAVE, .leave = {.tid = tid, .before = before}};

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
		collect_join(c, r);
		return;
	}
	for (size_t i = 0; map_next(&c->threads, &i, &slot);)
		if (slot->key == r->tid || (r->other && slot->val == r->pid))
			vec_push(&tids, (uint32_t)slot->key);
	for (size_t i = 0; i < tids.n; i++)
		leave_one(c, tids.v[i], false);
	vec_done(&tids);
}

/* True: it has left, or needs no care any more. */
static bool lay_ghost(struct collector *c, struct ghost *g, uint64_t now, bool drained)
{
	uint64_t *pid = map_get(&c->threads, g->tid);

	/* Its EXIT has come, or that of a thread that had got its number. */
	if (!pid)
		return true;
	if (procfs_life((uint32_t)*pid, g->tid) != LIFE_ENDED) {
		g->ended_ns = 0;
		return false;
	}
	if (!g->ended_ns)
		g->ended_ns = now;
	if (!drained && now < g->ended_ns + GHOSTS_NS)
		return false;
	leave_one(c, g->tid, true);
	return true;
}

/* Many that take long to end must not keep the rings waiting: a few are looked at, in turn. */
void collect_lay_ghosts(struct collector *c, bool drained)
{
	uint64_t now = clock_mono_ns();
	size_t looks = drained || c->ghosts.n < GHOSTS_LOOKS ? c->ghosts.n : GHOSTS_LOOKS;

	if (!drained && now < c->ghosts_next_ns)
		return;
	c->ghosts_next_ns = now + GHOSTS_NS / 4;
	while (looks--) {
		struct ghost *g = &c->ghosts.v[c->ghosts_at % c->ghosts.n];

		if (lay_ghost(c, g, now, drained))
			*g = c->ghosts.v[--c->ghosts.n];
		else
			c->ghosts_at++;
	}
}

/* Ends all known threads of a process, except `but`. */
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

/* A process that was killed cannot report its own end. */
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
