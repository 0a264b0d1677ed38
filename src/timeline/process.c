// SPDX-License-Identifier: MIT
#include "timeline/process.h"

#include "timeline/machine.h"

static uint64_t vtid_key(uint32_t pid, uint32_t vtid)
{
	return (uint64_t)pid << 32 | vtid;
}

static uint32_t process_add(struct processes *p, uint32_t pid)
{
	vec_push(&p->list, (struct process){.pid = pid});
	*map_put(&p->by_pid, pid, NULL) = p->list.n;
	return (uint32_t)p->list.n;
}

uint32_t processes_of_pid(struct processes *p, uint32_t pid)
{
	uint64_t *slot = pid ? map_get(&p->by_pid, pid) : NULL;

	if (!pid)
		return 0;
	return slot ? (uint32_t)*slot : process_add(p, pid);
}

uint32_t processes_of(struct processes *p, struct thread *th)
{
	if (!th->process)
		th->process = processes_of_pid(p, th->pid);
	return th->process;
}

static void set_vtid(struct processes *p, struct thread *th, uint32_t vtid)
{
	if (!th || !vtid || vtid == th->tid)
		return;
	th->vtid = vtid;
	*map_put(&p->vtids, vtid_key(th->pid, vtid), NULL) = th->tid;
}

void processes_event(struct processes *p, struct timeline *t, const struct event *ev)
{
	struct thread *th;

	if (ev->kind == EV_THREAD) {
		set_vtid(p, life_alive(t, ev->thread.tid), ev->thread.vtid);
	} else if (ev->kind == EV_FORK) {
		th = life_alive(t, ev->fork.tid);
		if (th && th->tid == th->pid)
			th->process = process_add(p, th->pid);
		set_vtid(p, th, ev->fork.vtid);
	} else if (ev->kind == EV_EXEC) {
		th = life_alive(t, ev->exec.tid);
		if (th && th->pid)
			th->process = process_add(p, th->pid);
	}
}

void processes_done(struct processes *p)
{
	vec_done(&p->list);
	map_done(&p->by_pid);
	map_done(&p->vtids);
}

const struct thread *processes_thread(const struct processes *p, const struct timeline *t,
				      const struct thread *asker, uint32_t vtid, bool others)
{
	const struct thread *th;
	uint64_t *tid;

	if (!vtid || !asker->pid)
		return NULL;
	if (asker->vtid) {
		tid = map_get(&p->vtids, vtid_key(asker->pid, vtid));
		th = tid ? life_alive(t, (uint32_t)*tid) : NULL;
		return th && th->pid == asker->pid && th->vtid == vtid ? th : NULL;
	}
	th = life_alive(t, vtid);
	if (!th || th->vtid || th->exit_ts)
		return NULL;
	return th->pid == asker->pid || (others && th->pid) ? th : NULL;
}
