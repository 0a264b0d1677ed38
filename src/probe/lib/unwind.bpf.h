/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The walk over the current thread's user stack by the tables in the arrays of state.bpf.h.
 *
 * Both searches, for the mapping and for the row, go without branches: the verifier then sees one
 * path where a search with branches has a million, and the CPU mispredicts nothing. A walk is a
 * bpf_loop() over frames. Where the tables of a program are not in place yet, registers and stack
 * are copied to the collector, which walks them by the same steps and puts the tables in place.
 */
#ifndef THAW_PROBE_UNWIND_H
#define THAW_PROBE_UNWIND_H

#include "probe/lib/emit.bpf.h"
#include "probe/lib/memo.bpf.h"

struct walk {
	struct unwind_regs regs;
	/* The mapping of the last frame: the next one is often in the same. */
	__u64 start, end, bias;
	__u32 object;
	__u32 space;
	__u32 scratch; /* which of the areas */
	__u32 n;
	__u32 stop;
	__u32 copy; /* the collector should have a look at it */
};

#define BIG(name, type, index)                                                                     \
	({                                                                                         \
		__u32 zero = 0;                                                                    \
		type *base = bpf_map_lookup_elem(&name, &zero);                                    \
		base ? base + (index) : NULL;                                                      \
	})

/*
 * 1 if a < b, without a branch; both below 2^63. Compilers that see through it make a branch of it
 * after all, and of a search of twelve steps four thousand paths.
 */
static __always_inline __u64 below(__u64 a, __u64 b)
{
	__u64 sign = (a - b) >> 63;

	barrier_var(sign);
	return sign;
}

/*
 * The parts of a step are functions of their own, known to the verifier by their types alone: it
 * checks each once, instead of on every path of every frame.
 */
#define STEP_PART __noinline __weak

/* The last mapping that does not begin behind pc. */
STEP_PART int find_mapping(struct walk *w, __u64 pc)
{
	struct unwind_mapping *maps = BIG(unwind_mappings, struct unwind_mapping, 0);
	struct unwind_space *space;
	struct unwind_mapping *m;
	__u64 pos, end;

	if (!w)
		return false;
	space = BIG(unwind_spaces, struct unwind_space, w->space % UNWIND_SPACES);
	if (!maps || !space)
		return false;
	pos = (__u64)space->first - 1;
	end = (__u64)space->first + space->n;
	for (__u64 step = SPACE_MAPPINGS_MAX / 2; step; step /= 2) {
		__u64 at = pos + step;

		m = maps + (at & mappings_mask);
		pos += step & -(below(at, end) & below(m->start, pc + 1));
	}
	/* Before the first one: the search has not moved. */
	if (pos + 1 == space->first)
		return false;
	m = maps + (pos & mappings_mask);
	if (pc < m->start || pc >= m->end)
		return false;
	w->start = m->start;
	w->end = m->end;
	w->bias = m->bias;
	w->object = m->object;
	return true;
}

/* The index of the rule for an address of an object. */
STEP_PART int find_rule(__u32 object, __u64 pc)
{
	struct unwind_object *o =
		BIG(unwind_objects, struct unwind_object, object % UNWIND_OBJECTS);
	struct unwind_row *rows = BIG(unwind_rows, struct unwind_row, 0);
	__u32 *blocks = BIG(unwind_blocks, __u32, 0);
	__u64 b, lo, hi, key = pc & (UNWIND_BLOCK - 1);

	if (!o || !rows || !blocks)
		return 0;
	b = (pc - o->first) >> UNWIND_BLOCK_SHIFT;
	if (b >= o->n_blocks)
		return 0;
	b += o->block;
	lo = (__u64)blocks[b & blocks_mask] - 1;
	hi = blocks[(b + 1) & blocks_mask];
	for (__u64 step = UNWIND_BLOCK / 2; step; step /= 2) {
		__u64 at = lo + step;
		__u64 row_pc = rows[at & rows_mask].pc & (UNWIND_BLOCK - 1);

		lo += step & -(below(at, hi) & below(row_pc, key + 1));
	}
	return rows[lo & rows_mask].rule;
}

/* enum unwind_stop */
STEP_PART int step_by_rule(struct walk *w, __u32 index)
{
	struct unwind_rule *rule = BIG(unwind_rules, struct unwind_rule, index % UNWIND_RULES);
	struct unwind_rule copy;

	if (!w || !rule)
		return UNWIND_STOP_NO_TABLE;
	copy = *rule;
	if (copy.cfa == UNWIND_CFA_NONE)
		return unwind_bare_leaf(NULL, &w->regs);
	return unwind_apply(NULL, &copy, &w->regs);
}

STEP_PART int step_by_frame_pointer(struct walk *w)
{
	return w ? unwind_by_frame_pointer(NULL, &w->regs) : UNWIND_STOP_FP_END;
}

/* Code that has just been mapped. Or a wrong turn, for which there are better uses than copies. */
static __always_inline bool may_miss(__u32 index)
{
	struct unwind_space *space = BIG(unwind_spaces, struct unwind_space, index % UNWIND_SPACES);

	return space && space->misses < SPACE_MISSES_MAX &&
	       __sync_fetch_and_add(&space->misses, 1) < SPACE_MISSES_MAX;
}

static long walk_frame(__u32 i, struct walk *w)
{
	__u32 area = w->scratch;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &area);
	__u64 pc = w->regs.pc - !w->regs.exact;

	/* The verifier does not know that a loop ends with its callback's 1. */
	if (!s || w->stop)
		return 1;
	/* Counted by the loop's own counter: one of ours would be another path for each value. */
	if (i >= PR_FRAMES_MAX) {
		w->stop = UNWIND_STOP_DEPTH;
		return 1;
	}
	s->ip[i % (PR_FRAMES_MAX + 1)] = w->regs.pc;
	w->n = i + 1;
	if ((pc < w->start || pc >= w->end) && !find_mapping(w, pc)) {
		w->stop = UNWIND_STOP_NO_MAP;
		w->copy = !i || may_miss(w->space);
		return 1;
	}
	if (w->object == OBJECT_NOT_READY) {
		w->stop = UNWIND_STOP_NOT_READY;
		w->copy = 1;
		return 1;
	}
	if (w->object == OBJECT_NO_TABLE || w->object == OBJECT_ANON)
		w->stop = step_by_frame_pointer(w);
	else
		w->stop = step_by_rule(w, find_rule(w->object, pc - w->bias));
	memo_note(s, i, &w->regs);
	return w->stop != UNWIND_STOP_NONE;
}

/* ---- copies ---- */

#define STACK_MAX (64ull << 20)

/* How much of the stack there is to copy: a thread's ends where its thread area begins. */
static __always_inline __u32 copy_chunks(__u64 sp)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct mm_struct *mm = me->mm;
	__u64 left = mm ? mm->start_stack - sp : 0;
	__u64 n = COPY_CHUNKS / 4;

	if (left > STACK_MAX)
		left = me->thread.fsbase - sp;
	if (left <= STACK_MAX)
		n = left / COPY_CHUNK + 2;
	return n < COPY_CHUNKS ? n : COPY_CHUNKS;
}

static __always_inline __u64 copy_send(struct ring_head *r, const struct unwind_regs *regs,
				       __u32 pid, __u32 execs, __u64 ts)
{
	__u64 id, from = regs->sp & -(__u64)COPY_CHUNK, have = 0;
	__u32 chunks = copy_chunks(regs->sp);
	struct emit e;
	struct pr_copy *rec;
	__u64 fill = RING_LOAD(&r->prod) - RING_LOAD(&r->cons);

	/* Copies are large, and come in a flood at first: the last quarter is for events alone. */
	if (fill > ring_size / 4 * 3)
		return 0;
	if (fill > ring_size / 2 && chunks > COPY_SMALL)
		chunks = COPY_SMALL;
	rec = emit_begin(&e, r, PR_COPY, PR_COPY_LEN(chunks), ts);
	if (!rec)
		return 0;
	/* Odd like all ids; nobody can be asked for it twice. */
	id = (ts ^ (__u64)bpf_get_smp_processor_id() << 56) | 1;
	rec->id = id;
	rec->pid = pid;
	rec->pc = regs->pc;
	rec->sp = regs->sp;
	rec->bp = regs->bp;
	rec->di = regs->di;
	rec->execs = execs;
	rec->bx = regs->bx;
	/*
	 * A frame may begin in a page that has not been touched yet, and behind the outermost one
	 * the stack may end anywhere.
	 */
	for (__u32 i = 0; i < COPY_CHUNKS; i++) {
		if (i >= chunks)
			break;
		if (!bpf_probe_read_user(rec->stack + i * COPY_CHUNK, COPY_CHUNK,
					 (void *)(from + i * COPY_CHUNK)))
			have |= 1ull << i;
	}
	rec->have = have;
	emit_end(&e);
	return id;
}

/* ---- entry ---- */

#define USER_CS 0x33u /* 64-bit code; __USER32_CS is 0x23 */

/* In the middle of exec() the registers are still the old program's while its stack is gone. */
static __always_inline bool between_programs(struct task_struct *me, __u64 sp)
{
	__u64 word;

	return bpf_core_field_exists(me->in_execve) && BPF_CORE_READ_BITFIELD(me, in_execve) &&
	       bpf_probe_read_user(&word, sizeof(word), (void *)sp);
}

/*
 * False where there is no user stack: in a kernel thread, in an io_uring worker (the kernel clears
 * its registers), in a thread that ends (it gives up its address space, and the collector is told
 * that it is gone before that), and between programs.
 */
static __always_inline bool user_regs(struct unwind_regs *ret, bool *ret_in_call)
{
	struct task_struct *me = bpf_get_current_task_btf();
	/* The kernel's layout is that of ptrace(2), which does not change. */
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(me);

	if (me->flags & (PF_KTHREAD | PF_EXITING) || !me->mm || (regs->cs & 0xffff) != USER_CS)
		return false;
	if ((!regs->rip && !regs->rsp) || between_programs(me, regs->rsp))
		return false;
	ret->pc = regs->rip;
	ret->sp = regs->rsp;
	ret->bp = regs->rbp;
	ret->di = regs->rdi;
	ret->bx = regs->rbx;
	ret->bx_at = 0;
	ret->exact = 1;
	ret->no_bp = 0;
	/* Where a program runs, it is seldom in the same place twice. */
	*ret_in_call = (__s64)regs->orig_rax >= 0;
	return true;
}

/* A walk that has been made, or spared. */
struct walked {
	struct unwind_regs first;
	__u64 id; /* not 0: the stack's id, and nothing is left to do */
	__u32 n, stop;
	__u32 space, by_bp;
	bool keep; /* as a memo */
};

/* The user stack of the current thread: gathered in the scratch area, sent as a copy, or known. */
static __always_inline void walk_user(struct ring_head *r, struct scratch *s, __u32 area, __u64 ts,
				      struct walked *ret)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct unwind_proc *p = BIG(unwind_procs, struct unwind_proc, pid & procs_mask);
	struct walk w = {.scratch = area};
	bool in_call = false;
	__u32 execs;

	if (!p || !user_regs(&w.regs, &in_call))
		return;
	execs = p->execs; /* before the space: exec() changes them in this order */
	w.space = p->space;
	ret->first = w.regs;
	if (in_call && w.space) {
		ret->id = memo_find(&ret->first, w.space);
		if (ret->id)
			return;
	}
	if (w.space == SPACE_NONE) {
		w.end = ~0ull;
		w.object = OBJECT_ANON;
	}
	if (w.space)
		bpf_loop(PR_FRAMES_MAX + 1, walk_frame, &w, 0);
	if (!w.space || w.copy) {
		ret->id = copy_send(r, &ret->first, pid, execs, ts);
		if (ret->id)
			return;
		/* No room for a copy: the leaf at least. */
		w.stop = UNWIND_STOP_NOT_READY;
		s->ip[0] = ret->first.pc;
		w.n = 1;
	}
	ret->stop = w.stop;
	ret->n = w.n;
	ret->space = w.space;
	ret->by_bp = w.regs.by_bp;
	ret->keep = in_call && !area && w.stop == UNWIND_STOP_END;
}

#endif
