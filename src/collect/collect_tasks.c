// SPDX-License-Identifier: MIT
/* Threads and processes that begin, end and change, by the probes' records and by perf's. */
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "collect/collect_private.h"

static void collect_on_fork(struct collector *c, struct event *ev, const struct pr_task *r,
			    char *name)
{
	/* The thread was found in /proc before its FORK came. */
	if (map_del(&c->born, r->tid) && map_get(&c->threads, r->tid))
		return;
	procs_fork(c->procs, r->pid, r->code);
	if (r->tid == r->pid)
		unwinds_fork(c->tables, r->pid);
	collect_thread_add(c, r->tid, r->pid);
	ev->kind = EV_FORK;
	ev->fork = (struct ev_fork){
		.tid = r->tid, .pid = r->pid, .parent = r->other, .name = name, .vtid = r->vtid};
	collect_put(c, ev);
}

/* A program that records itself has begun. Its process may be new to us. */
static void on_own_exec(struct collector *c, const struct pr_task *r, char *name)
{
	struct event ev = {.ts = r->h.ts,
			   .kind = EV_FORK,
			   .fork = {.tid = r->tid, .pid = r->pid, .parent = r->code, .name = name}};

	runs_there(c->runs, r->pid, r->h.ts);
	collect_end_threads(c, r->pid, r->tid, r->h.ts);
	map_del(&c->refreshed, r->pid);
	if (collect_thread_add(c, r->tid, r->pid))
		collect_put(c, &ev);
}

void collect_own_map(struct collector *c, const struct pr_map *r)
{
	struct map_facts f = {.start = r->start,
			      .end = r->end,
			      .pgoff = r->pgoff,
			      .dev = makedev(r->dev >> 32, (uint32_t)r->dev),
			      .inode = r->inode,
			      .exec = true};
	char path[PATH_MAX];
	uint32_t pid = r->pid;

	if (!procs_known(c->procs, pid))
		return;
	/* The record may not outlive the wait for a build id. */
	snprintf(path, sizeof(path), "%s", r->path);
	f.path = path;
	if (r->h.ts > c->last_ts)
		c->last_ts = r->h.ts;
	procs_at(c->procs, r->h.ts);
	if (r->first)
		procs_exec(c->procs, pid);
	procs_map_read(c->procs, pid, &f);
	unwinds_mapped(c->tables, pid);
}

static void on_exec(struct collector *c, struct event *ev, const struct pr_task *r, char *name)
{
	if (c->e->self_told)
		on_own_exec(c, r, name);
	if (r->other != r->tid) {
		collect_thread_add(c, r->tid, r->pid);
		collect_thread_del(c, r->other);
	}
	unwinds_exec(c->tables, r->pid, c->e->self_told ? 0 : r->code);
	places_forget(c->places, r->pid);
	ev->kind = EV_EXEC;
	ev->exec = (struct ev_exec){.tid = r->tid, .old_tid = r->other, .name = name};
	collect_put(c, ev);
}

void collect_task(struct collector *c, const struct record *rec, uint32_t kind)
{
	const struct pr_task task = *(const struct pr_task *)rec->data, *r = &task;
	struct event ev = {.ts = rec->ts, .cpu = rec->cpu};
	char name[PR_COMM + 1];

	memcpy(name, r->comm, PR_COMM);
	name[PR_COMM] = '\0';
	procs_at(c->procs, rec->ts);
	switch (kind) {
	case PR_FORK:
		collect_on_fork(c, &ev, r, name);
		break;
	case PR_EXEC:
		on_exec(c, &ev, r, name);
		break;
	case PR_EXIT:
		ev.kind = EV_EXIT;
		ev.exit = (struct ev_exit){.tid = r->tid, .code = r->code};
		collect_put(c, &ev);
		collect_thread_del(c, r->tid);
		/* A process that is forgotten already has no threads left to end. */
		if (r->other && procs_known(c->procs, r->pid))
			collect_end_threads(c, r->pid, 0, rec->ts);
		break;
	case PR_RENAME:
		ev.kind = EV_RENAME;
		ev.rename = (struct ev_rename){.tid = r->tid, .name = name};
		collect_put(c, &ev);
		break;
	default:
		collect_cgroup_move(c, r, kind == PR_JOIN);
	}
}

static void on_mmap(struct collector *c, const struct perf_mmap *r, uint64_t ts)
{
	struct mapping m = {.start = r->addr,
			    .len = r->len,
			    .pgoff = r->pgoff,
			    .path = r->path,
			    .dev = r->dev,
			    .inode = r->inode,
			    .generation = r->generation,
			    .recorded = true};
	char path[PATH_MAX];

	if (!procs_known(c->procs, r->pid))
		return;
	/* The record does not outlive the wait for the build id. */
	snprintf(path, sizeof(path), "%s", r->path);
	m.path = path;
	if (ts > c->last_ts)
		c->last_ts = ts;
	procs_at(c->procs, ts);
	collect_tell_map(c, r->pid, &m, procs_map(c->procs, r->pid, &m));
	unwinds_mapped(c->tables, r->pid);
}

/* Recorded threads end by their EXIT record. Here only a stranger's mappings are dropped. */
static void on_stranger_exit(struct collector *c, uint32_t pid, uint32_t tid)
{
	if (pid != tid || map_get(&c->threads, tid) || !procs_known(c->procs, pid))
		return;
	procs_forget_stranger(c->procs, pid);
	if (!procs_known(c->procs, pid))
		unwinds_exit(c->tables, pid);
}

static void on_comm_exec(struct collector *c, const struct perf_record *r)
{
	procs_at(c->procs, r->ts);
	procs_exec(c->procs, r->comm.pid);
}

void collect_perf(struct collector *c, const struct record *rec)
{
	const struct perf_event_attr attr = perf_record_attr(c->e->perf_samples);
	struct perf_record *r = &c->perf;

	if (perf_record_parse(&attr, rec->data, rec->len, r)) {
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
		on_comm_exec(c, r);
	if (c->stream)
		perf_stream_record(c->stream, r, rec->cpu);
}
