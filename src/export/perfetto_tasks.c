// SPDX-License-Identifier: MIT
/*
 * Threads and processes for Perfetto: their names, how they are made, and how they end.
 *
 * An end is the kernel's sched_process_free. Perfetto takes anything after it for another thread of
 * the same tid, so nothing about the thread may follow. A leader's end also ends its process, so it
 * waits for the last of the process' threads, as in the kernel.
 *
 * A thread that has the tid of an earlier one of its process, without an end or a task_newtask in
 * between, is that thread for Perfetto, and must have its track: where another thread of a process
 * runs a new program, it takes over the leader's tid.
 */
#include "export/perfetto.h"

#include <string.h>

#include "base/pb.h"
#include "store/reader.h"
#include "wire/meta.h"

#define CLONE_THREAD_FLAG 0x10000u
/* Of a thread's name, without its end. */
#define NAME_BYTES 15u

/* Is there a task_newtask for it? */
static bool is_made(const struct perfetto *p, const struct thread *th)
{
	return th->parent && th->start > p->from;
}

/* For Perfetto, task_newtask begins a new thread, so it has to come before the name. */
uint64_t perfetto_naming_ts(const struct perfetto *p, const struct thread *th)
{
	if (is_made(p, th))
		return th->start + 1;
	return p->threads[th->index].replaces && th->start > p->from ? th->start : p->from;
}

/* Is it the recorded command's process, and does it still run that program? */
static bool runs_command(const struct perfetto *p, const struct thread *leader)
{
	const char *thaw = reader_meta(p->job->reader, META_THAW_PID, 0), *program, *slash;
	bool ours =
		leader->parent ? thaw && strtoul(thaw, NULL, 10) == leader->parent : !leader->index;
	const struct facts *f = &p->m->facts;

	if (!ours || !f->command.n)
		return false;
	slash = strrchr(f->command.v[0], '/');
	program = slash ? slash + 1 : f->command.v[0];
	return *program && !strncmp(program, leader->name, NAME_BYTES);
}

/* A capture holds the cmdline of the recorded command alone. */
static void put_cmdline(struct perfetto *p, const struct thread *leader)
{
	const struct facts *f = &p->m->facts;

	if (!runs_command(p, leader)) {
		perfetto_str(p, &p->out, 3, leader->name);
		/* Perfetto cuts a single argument at a space: a second one prevents that. */
		if (memchr(p->scratch.p, ' ', p->scratch.len))
			pb_str(&p->out, 3, "");
		pb_u64(&p->out, 9, 1); /* cmdline_is_comm */
		return;
	}
	for (size_t i = 0; i < f->command.n; i++)
		perfetto_str(p, &p->out, 3, f->command.v[i]);
}

static void put_process(struct perfetto *p, uint32_t pid)
{
	const struct thread *leader = perfetto_thread(p, pid), *parent;
	size_t at;
	bool fresh;

	map_put(&p->processes, pid, &fresh);
	if (!fresh)
		return;
	parent = leader && leader->parent ? perfetto_thread(p, leader->parent) : NULL;
	at = pb_begin(&p->out, 1); /* processes */
	pb_u64(&p->out, 1, pid);   /* pid */
	if (parent)
		pb_some(&p->out, 2, parent->pid); /* ppid */
	if (leader)
		put_cmdline(p, leader);
	pb_end(&p->out, at);
}

void perfetto_name(struct perfetto *p, const struct thread *th)
{
	size_t packet, tree, at;

	if (p->threads[th->index].named)
		return;
	p->threads[th->index].named = true;
	if (!th->pid)
		return;
	packet = perfetto_packet(p, perfetto_naming_ts(p, th), WRITER_SYSTEM);
	tree = pb_begin(&p->out, 2); /* process_tree */
	put_process(p, th->pid);
	at = pb_begin(&p->out, 2);	       /* threads */
	pb_u64(&p->out, 1, th->tid);	       /* tid */
	perfetto_str(p, &p->out, 2, th->name); /* name */
	pb_u64(&p->out, 3, th->pid);	       /* tgid */
	pb_end(&p->out, at);
	pb_end(&p->out, tree);
	perfetto_packet_end(p, packet);
}

/* A new thread is runnable at once. */
void perfetto_fork(struct perfetto *p, const struct event *ev)
{
	const struct ev_fork *e = &ev->fork;
	struct buf *b;
	size_t at, task;

	if (!perfetto_shows(p, e->tid) || !e->parent)
		return;
	at = perfetto_event(p, ev->cpu, ev->ts, e->parent);
	b = &p->cpus.v[ev->cpu].events;
	task = pb_begin(b, 235); /* task_newtask */
	pb_u64(b, 1, e->tid);	 /* pid */
	perfetto_str(p, b, 2, e->name ? e->name : "");
	pb_u64(b, 3, e->tid == e->pid ? 0 : CLONE_THREAD_FLAG); /* clone_flags */
	pb_end(b, task);
	perfetto_event_end(p, ev->cpu, at);
}

/* When the last thread of each process has ended, by pid; UINT64_MAX: one has not. */
static void process_ends(const struct perfetto *p, struct map *ret)
{
	for (size_t i = 0; i < p->m->timeline.threads.n; i++) {
		const struct thread *th = p->m->timeline.threads.v[i];
		uint64_t *slot = map_put(ret, th->pid, NULL), end;

		end = th->exit_ts ? th->end : UINT64_MAX;
		if (*slot < end)
			*slot = end;
	}
}

static void put_end(struct perfetto *p, const struct thread *th, uint64_t ts)
{
	uint32_t cpu = p->threads[th->index].last_cpu;
	size_t at = perfetto_event(p, cpu, ts, 0), end;
	struct buf *b = &p->cpus.v[cpu].events;

	end = pb_begin(b, 240); /* sched_process_free */
	perfetto_str(p, b, 1, th->name);
	pb_u64(b, 2, th->tid); /* pid */
	pb_end(b, end);
	perfetto_event_end(p, cpu, at);
}

/* From the last to the first: an end must come before the tid's next thread begins. */
static void find_ends(struct perfetto *p)
{
	const struct timeline *t = &p->m->timeline;
	struct map processes = {0}, taken = {0};

	process_ends(p, &processes);
	for (size_t i = p->scheduling ? t->threads.n : 0; i-- > 0;) {
		const struct thread *th = t->threads.v[i];
		bool last;
		uint64_t *next = map_put(&taken, th->tid, &last);
		uint64_t end = th->tid == th->pid ? *map_get(&processes, th->pid) : th->end;

		if (th->exit_ts && export_wants(p->job, th) && end >= p->from && end <= p->to &&
		    (last || end + 1 < *next))
			p->threads[i].end = end < p->to ? end + 1 : end;
		*next = th->start;
	}
	map_done(&processes);
	map_done(&taken);
}

void perfetto_tasks_begin(struct perfetto *p)
{
	const struct timeline *t = &p->m->timeline;
	struct map by_tid = {0};

	find_ends(p);
	for (uint32_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i];
		bool first;
		uint64_t *before = map_put(&by_tid, th->tid, &first);

		p->threads[i].as = i;
		if (!first && !p->threads[*before].end && !is_made(p, th) &&
		    t->threads.v[*before]->pid == th->pid)
			p->threads[i].as = p->threads[*before].as;
		else
			p->threads[i].replaces = !first;
		*before = i;
	}
	map_done(&by_tid);
}

void perfetto_ends(struct perfetto *p)
{
	for (size_t i = 0; i < p->m->timeline.threads.n; i++)
		if (p->threads[i].end)
			put_end(p, p->m->timeline.threads.v[i], p->threads[i].end);
}
