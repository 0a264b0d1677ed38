// SPDX-License-Identifier: MIT
/*
 * Threads that sleep already when the recording begins, or still do when it ends. The probes never
 * see such a thread go to sleep, or never see it wake. So the collector asks the engine which
 * threads sleep, and the scout for their stacks and for the words of the locks they sleep on.
 *
 * That takes a while, and a thread may wake meanwhile. So the collector looks again, and writes
 * only threads that have not switched: at the beginning since before the probes were armed, at the
 * end until after they were disarmed. What the scout has not told by then is counted.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "arch/calls.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/units.h"
#include "collect/asleep_file.h"
#include "collect/collect_private.h"
#include "wire/state.h"

#define PIECES 16u     /* of a stack */
#define PIECES_MANY 6u /* when there are many */
#define MANY 2000
#define FILES_MOST 512u		  /* threads whose files are asked for */
#define BEGIN_NS NSEC_PER_SEC	  /* that the beginning may wait */
#define END_NS (NSEC_PER_SEC / 2) /* and the end */
#define FUTEX2_PRIVATE 128u

struct sleeper {
	struct pr_asleep a;
	uint32_t kstack, ustack;
	uint32_t op, val;
	uint64_t futex;
	uint64_t vector; /* address of a FUTEX_WAITV vector: the scout reads it */
	struct scout_memory memory;
	struct asleep_file file;
	bool seen, told;
	bool lacks, lacks_file; /* the scout has not told it yet */
};

struct sleepers {
	VEC(struct sleeper) list;
	struct map by_tid;  /* its place + 1 */
	struct map exiting; /* tids, as of the last look */
	struct pr_copy *copy;
	bool confirm; /* drop threads that have changed */
	bool ending;
	struct asleep_untold untold;
};

/* ---- the futex ---- */

static bool is_wait(uint32_t op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return true;
	}
	return false;
}

static uint32_t op_of_flags(uint32_t flags)
{
	return flags & FUTEX2_PRIVATE ? FUTEX_PRIVATE_FLAG : FUTEX_OP_SHARED;
}

static void find_futex(struct sleeper *s)
{
	uint32_t nr = (s->a.call & CALL_NR) - 1;

	if (s->a.call & CALL_COMPAT || !(s->a.state & STATE_INTERRUPTIBLE))
		return;
	if (nr == ARCH_CALL_futex && is_wait((uint32_t)s->a.arg[1])) {
		s->op = (uint32_t)s->a.arg[1] & 0x1ff;
		s->val = (uint32_t)s->a.arg[2];
	} else if (nr == ARCH_CALL_futex_wait) {
		s->op = op_of_flags((uint32_t)s->a.arg[3]);
		s->val = (uint32_t)s->a.arg[1];
	} else {
		s->vector = nr == ARCH_CALL_futex_waitv ? s->a.arg[0] : 0;
		return;
	}
	s->futex = s->a.arg[0];
}

/* ---- asking ---- */

static void take_sleeper(void *arg, const struct pr_asleep *r)
{
	struct collector *c = arg;
	struct sleepers *all = c->sleepers;
	uint64_t *at;
	bool fresh;

	if (r->exiting)
		map_put(&all->exiting, r->tid, NULL);
	if (!r->state)
		return;
	at = map_get(&all->by_tid, r->tid);
	if (at && all->list.v[*at - 1].a.switches == r->switches) {
		all->list.v[*at - 1].seen = true;
		return;
	}
	if (all->confirm || !map_get(&c->threads, r->tid))
		return;
	at = map_put(&all->by_tid, r->tid, &fresh);
	if (fresh) {
		vec_push(&all->list, (struct sleeper){0});
		*at = all->list.n;
	}
	asleep_file_done(&all->list.v[*at - 1].file);
	all->list.v[*at - 1] = (struct sleeper){.a = *r, .seen = true};
	find_futex(&all->list.v[*at - 1]);
}

static struct sleeper *sleeper_of(const struct collector *c, uint32_t tid)
{
	uint64_t *at = c->sleepers ? map_get(&c->sleepers->by_tid, tid) : NULL;

	return at ? &c->sleepers->list.v[*at - 1] : NULL;
}

bool collect_is_asleep(const struct collector *c, uint32_t tid)
{
	const struct sleeper *s = sleeper_of(c, tid);

	return s && s->seen && !s->a.exiting;
}

bool collect_is_exiting(const struct collector *c, uint32_t tid)
{
	return c->sleepers && map_get(&c->sleepers->exiting, tid);
}

/* Walks a copy of the stack like one that a probe has made. */
static void walk_stack(struct collector *c, struct sleeper *s, const struct scout_memory *m,
		       const char *pieces, size_t n)
{
	struct pr_copy *copy = c->sleepers->copy;
	uint32_t tid = s->a.tid, pid = s->a.pid;
	uint64_t id;

	memset(copy, 0, PR_COPY_HEAD); /* the rest is large, and overwritten below */
	copy->h.hdr = PR_COPY_LEN(n);
	copy->pid = pid;
	copy->have = m->have;
	copy->pc = s->a.pc;
	copy->sp = s->a.sp;
	copy->bp = s->a.bp;
	copy->bx = s->a.bx;
	copy->di = s->a.arg[0];
	memcpy(copy->stack, pieces, n * COPY_CHUNK);
	id = collect_copy(c, copy);
	s = sleeper_of(c, tid); /* the list may have moved while walking waited */
	s->ustack = stacks_user(c->stacks, id, pid);
}

static uint64_t first_piece(const struct sleeper *s)
{
	return s->a.sp & -(uint64_t)SCOUT_PIECE;
}

static void take_memory(void *ctx, const struct scout_answer *a)
{
	struct collector *c = ctx;
	struct sleeper *s = sleeper_of(c, a->q.tid);
	size_t n =
		a->n_text > sizeof(s->memory) ? (a->n_text - sizeof(s->memory)) / SCOUT_PIECE : 0;

	if (!s || a->q.start != first_piece(s))
		return;
	s->lacks = a->status == -ETIMEDOUT;
	if (a->status || a->n_text < sizeof(s->memory))
		return;
	memcpy(&s->memory, a->text, sizeof(s->memory));
	if (s->vector && s->memory.futex) {
		s->futex = s->memory.futex;
		s->op = FUTEX_OP_VECTOR | op_of_flags(s->memory.flags);
		s->val = s->memory.val;
	}
	if (n && n <= COPY_CHUNKS && s->memory.have)
		walk_stack(c, s, &s->memory, a->text + sizeof(s->memory), n);
}

static void ask_memory(struct collector *c, struct sleeper *s, uint32_t pieces)
{
	struct scout_question q = {.kind = SCOUT_MEMORY,
				   .pid = s->a.pid,
				   .tid = s->a.tid,
				   .start = first_piece(s),
				   .futex = s->vector ? s->vector : s->futex,
				   .vector = s->vector};

	/*
	 * A thread that has slept all the time has its stack already; only its lock may have
	 * another holder now. Without c->tables a stack is of no use.
	 */
	q.end = q.start + (s->ustack || !c->tables ? 0 : (uint64_t)pieces * SCOUT_PIECE);
	s->lacks = s->a.pc && (q.futex || q.end > q.start);
	if (s->lacks)
		(void)scout_ask(c->scout, &q, true);
}

static void take_file(void *ctx, const struct scout_answer *a)
{
	struct sleeper *s = sleeper_of(ctx, a->q.tid);

	if (!s || s->a.pid != a->q.pid)
		return;
	s->lacks_file = a->status == -ETIMEDOUT;
	asleep_file_take(&s->file, a);
}

/* Of as many threads as may be asked for; false: the thread does not wait for a file. */
static bool ask_file(struct collector *c, struct sleeper *s, bool may_ask)
{
	struct scout_question q;

	s->lacks_file = asleep_file_question(&s->a, &q);
	return s->lacks_file && may_ask && scout_ask(c->scout, &q, true);
}

static void keep_kernel_stack(struct collector *c, struct sleeper *s)
{
	uint64_t id = map_hash_bytes(s->a.ip, s->a.n * sizeof(s->a.ip[0])) | 1;

	if (!s->a.n || s->a.n > ASLEEP_FRAMES)
		return;
	stacks_add(c->stacks, id, (const uint64_t *)s->a.ip, s->a.n, 0);
	s->kstack = stacks_kernel(c->stacks, id);
}

/* ---- telling ---- */

static struct event futex_of(const struct sleeper *s, uint64_t ts, uint32_t later)
{
	const struct scout_memory *m = &s->memory;
	struct event ev = {.ts = ts,
			   .kind = EV_FUTEX,
			   .futex = {.tid = s->a.tid,
				     .addr = s->futex,
				     .op = s->op | later,
				     .val = s->val,
				     .word = m->word[0],
				     .word1 = m->word[1],
				     .word2 = m->word[2],
				     .word3 = m->word[3],
				     .word4 = m->word[4]}};

	if (!m->words)
		ev.futex.op |= FUTEX_OP_UNREAD;
	else if (m->words == 1)
		ev.futex.op |= FUTEX_OP_ONE_WORD;
	return ev;
}

/*
 * The lock is known from last_ts on, its holder only from when the lock's words were read: another
 * thread may have held it before.
 */
static void tell_futex(struct collector *c, const struct sleeper *s)
{
	struct event ev = futex_of(s, c->last_ts, FUTEX_OP_LATER);
	struct event place = {.ts = c->last_ts, .kind = EV_PLACE};

	if (places_ask(c->places, s->a.pid, s->futex, &place.place))
		writer_event(c->w, &place);
	writer_event(c->w, &ev);
	if (s->memory.words && s->memory.at_ns && !c->sleepers->ending)
		vec_push(&c->late, futex_of(s, s->memory.at_ns, 0));
}

static void tell_one(struct collector *c, size_t i)
{
	struct sleeper *s = &c->sleepers->list.v[i];
	struct event ev = {.ts = c->last_ts, .kind = EV_ASLEEP};
	struct event file = {.ts = c->last_ts, .kind = EV_FILE};

	if (!s->seen || s->told)
		return;
	c->sleepers->untold.threads += s->lacks;
	c->sleepers->untold.files += s->lacks_file;
	/* Write it again at the end only if its words were read: the holder may have changed. */
	if (s->futex && (s->memory.words || !c->sleepers->ending))
		tell_futex(c, s);
	s->told = true;
	ev.asleep = (struct ev_asleep){.tid = s->a.tid,
				       .state = s->a.state,
				       .call = s->a.call,
				       .kstack = s->kstack,
				       .ustack = s->ustack};
	writer_event(c->w, &ev);
	if (asleep_file_event(&s->file, s->a.tid, &file.file))
		writer_event(c->w, &file);
}

/*
 * The words are read after the recording's end. A holder that has slept on since, like its waiter,
 * had the lock at the end too. The model can see that once all sleepers are written.
 */
static void tell_words_again(struct collector *c)
{
	for (size_t i = 0; i < c->sleepers->list.n; i++) {
		const struct sleeper *s = &c->sleepers->list.v[i];
		struct event ev = futex_of(s, c->last_ts, FUTEX_OP_LATER);

		if (s->told && s->futex && s->memory.words)
			writer_event(c->w, &ev);
	}
}

static int by_time(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	return (a->ts > b->ts) - (a->ts < b->ts);
}

void collect_tell_late(struct collector *c, uint64_t until)
{
	for (; c->late_told < c->late.n && c->late.v[c->late_told].ts <= until; c->late_told++) {
		struct event *ev = &c->late.v[c->late_told];

		ev->ts = ev->ts > c->last_ts ? ev->ts : c->last_ts;
		c->last_ts = ev->ts;
		writer_event(c->w, ev);
	}
}

/* ---- when ---- */

static void collect_asleep_look(struct collector *c, bool confirm)
{
	c->sleepers->confirm = confirm;
	map_clear(&c->sleepers->exiting);
	for (size_t i = 0; i < c->sleepers->list.n; i++)
		c->sleepers->list.v[i].seen = false;
	c->e->ops->asleep(c->e, take_sleeper, c);
}

void collect_look_asleep(struct collector *c)
{
	if (!c->e->ops->asleep)
		return;
	if (!c->sleepers) {
		c->sleepers = mem_zalloc(sizeof(*c->sleepers));
		c->sleepers->copy = mem_alloc(sizeof(*c->sleepers->copy));
		scout_on(c->scout, SCOUT_MEMORY, take_memory, c);
		scout_on(c->scout, SCOUT_FILE, take_file, c);
	}
	collect_asleep_look(c, false);
}

void collect_look_again_asleep(struct collector *c)
{
	if (c->sleepers)
		collect_asleep_look(c, true);
}

void collect_read_asleep(struct collector *c, bool ending)
{
	struct sleepers *all = c->sleepers;
	size_t n, files = 0;

	if (!all)
		return;
	n = all->list.n;
	all->ending = ending;
	for (size_t i = 0; i < n; i++) {
		struct sleeper *s = &all->list.v[i];

		engine_beat(c->e);
		s->told = false;
		s->memory = (struct scout_memory){0};
		if (!s->seen)
			continue;
		keep_kernel_stack(c, s);
		ask_memory(c, s, n > MANY ? PIECES_MANY : PIECES);
		files += ask_file(c, &all->list.v[i], files < FILES_MOST);
	}
	(void)scout_wait_all(c->scout, ending ? END_NS : BEGIN_NS);
}

void collect_tell_asleep(struct collector *c)
{
	if (!c->sleepers)
		return;
	collect_asleep_look(c, true);
	for (size_t i = 0; i < c->sleepers->list.n; i++)
		if (map_get(&c->threads, c->sleepers->list.v[i].a.tid))
			tell_one(c, i);
	if (c->sleepers->ending)
		tell_words_again(c);
	else if (c->late.n)
		sort_by(c->late.v, c->late.n, sizeof(*c->late.v), by_time);
}

struct asleep_untold collect_asleep_untold(const struct collector *c)
{
	return c->sleepers ? c->sleepers->untold : (struct asleep_untold){0};
}

void collect_free_asleep(struct collector *c)
{
	if (!c->sleepers)
		return;
	for (size_t i = 0; i < c->sleepers->list.n; i++)
		asleep_file_done(&c->sleepers->list.v[i].file);
	vec_done(&c->sleepers->list);
	map_done(&c->sleepers->by_tid);
	map_done(&c->sleepers->exiting);
	vec_done(&c->late);
	free(c->sleepers->copy);
	free(c->sleepers);
}
