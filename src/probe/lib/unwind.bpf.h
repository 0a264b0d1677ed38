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

/* Of walk.flags. */
#define WALK_COPY 1u	/* the collector should have a look at it */
#define WALK_GUESSED 2u /* some caller was guessed */
#define WALK_NEED 4u	/* at the end, `bias` is an address whose table should be built too */

/*
 * Every byte counts: before 6.13 the kernel allows 512 bytes of stack to a whole chain of calls,
 * and before 6.3 no byte may be undefined.
 */
struct stack_walk {
	struct unwind_regs regs;
	/* The mapping of the last frame: the next one is often in the same. */
	__u64 start, end, bias;
	__u32 object;
	__u32 space;
	__u32 scratch; /* which of the areas */
	__u32 n;
	__u32 stop;
	__u32 flags; /* WALK_* */
};

#define BIG(name, type, index)                                                                     \
	({                                                                                         \
		__u32 zero = 0;                                                                    \
		type *base = bpf_map_lookup_elem(&name, &zero);                                    \
		base ? base + (index) : NULL;                                                      \
	})

/*
 * 1 if a < b, without a branch; both below 2^63. A compiler that sees through this makes a branch
 * after all, and a search of twelve steps has four thousand paths.
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

/* The last mapping that begins at or before pc. */
STEP_PART int find_mapping(struct stack_walk *w, __u64 pc)
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

/* The shelf that a word is on. */
static __always_inline __u32 *shelf_of(__u32 word)
{
	__u32 shelf = word >> SHELF_SHIFT, zero = 0;
	void *words = bpf_map_lookup_elem(&unwind_shelves, &shelf);

	return words ? bpf_map_lookup_elem(words, &zero) : NULL;
}

#define ON_SHELF(word) ((word) & (SHELF_WORDS - 1))

/* Where the leaf of an address of an object is, or the rule that holds all over it. */
static __always_inline __u32 find_leaf(const struct unwind_object *o, __u64 pc)
{
	__u64 leaf = (pc - o->first) >> UNWIND_LEAF_SHIFT;
	__u32 at, *words;

	if (leaf >= o->n_leaves)
		return UNWIND_DIR_RULE;
	at = o->dir + leaf;
	words = shelf_of(at);
	return words ? words[ON_SHELF(at)] : UNWIND_DIR_RULE;
}

/* The rule for an address of an object. */
STEP_PART int find_rule(__u32 object, __u64 pc)
{
	struct unwind_object *o =
		BIG(unwind_objects, struct unwind_object, object % UNWIND_OBJECTS);
	__u64 lo, hi, key = pc & (UNWIND_LEAF - 1), rules;
	__u32 *words, leaf, now = unwind_now;

	if (!o)
		return 0;
	/* Written only when it changes, because all CPUs read it. */
	if (o->used != now)
		o->used = now;
	rules = o->rules;
	leaf = find_leaf(o, pc);
	if (leaf & UNWIND_DIR_RULE)
		return rules + (leaf & 0xffff);
	words = shelf_of(leaf);
	if (!words)
		return 0;
	leaf = ON_SHELF(leaf) + key / UNWIND_BLOCK;
	lo = words[ON_SHELF(leaf)];
	hi = words[ON_SHELF(leaf + 1)];
	leaf -= key / UNWIND_BLOCK;
	lo += leaf + UNWIND_LEAF_HEAD - 1;
	hi += leaf + UNWIND_LEAF_HEAD;
	for (__u64 step = UNWIND_BLOCK / 2; step; step /= 2) {
		__u64 at = lo + step;
		__u64 row_pc = words[ON_SHELF(at)] & (UNWIND_LEAF - 1);

		lo += step & -(below(at, hi) & below(row_pc, key + 1));
	}
	return rules + (words[ON_SHELF(lo)] >> 16);
}

/* Code that has just been mapped, or a walk gone astray, which is not worth many copies. */
static __always_inline bool may_miss(__u32 index)
{
	struct unwind_space *space = BIG(unwind_spaces, struct unwind_space, index % UNWIND_SPACES);

	return space && space->misses < SPACE_MISSES_MAX &&
	       __sync_fetch_and_add(&space->misses, 1) < SPACE_MISSES_MAX;
}

#include "probe/lib/guess.bpf.h"

/* Does the frame pointer lead to code? Where code has a table, it must come after a call. */
static __always_inline bool chain_leads_on(struct stack_walk *w)
{
	__u64 pc;

	if (w->regs.no_bp || w->regs.bp - w->regs.sp >= UNWIND_STACK_MAX || w->regs.bp & 7 ||
	    UNWIND_READ(NULL, w->regs.bp + 8, &pc) || !find_mapping(w, pc - 1))
		return false;
	/* Interpreters generated at run time push the addresses at which they go on. */
	return w->object == OBJECT_ANON || w->object == OBJECT_NO_TABLE || return_address(pc);
}

static __always_inline void mark_guess(struct stack_walk *w)
{
	__u32 area = w->scratch;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &area);

	if (s)
		s->ip[(w->n - 1) % (PR_FRAMES_MAX + 1)] |= UNWIND_GUESSED;
	w->flags |= WALK_GUESSED;
}

/*
 * Steps out of code without unwind information by frame pointer, or by a guess. Code that its
 * object's unwind information leaves out is less likely to have a frame pointer: there, both are
 * guesses.
 */
static __always_inline int step_blind(struct stack_walk *w, bool left_out)
{
	int stop;

	if (w->space == SPACE_NONE || chain_leads_on(w)) {
		if (left_out)
			mark_guess(w);
		return unwind_by_frame_pointer(NULL, &w->regs);
	}
	stop = step_by_guess(w);
	if (stop == UNWIND_STOP_NONE)
		mark_guess(w);
	if (stop == UNWIND_STOP_NOT_READY)
		w->flags |= may_miss(w->space) ? WALK_COPY : 0;
	if (stop != UNWIND_STOP_FP_END)
		return stop;
	return left_out ? UNWIND_STOP_NO_ROW : unwind_by_frame_pointer(NULL, &w->regs);
}

static __always_inline int step_by(struct stack_walk *w, __u32 index, const bool guess)
{
	struct unwind_rule *rules = (struct unwind_rule *)shelf_of(2 * index), copy;
	int stop;

	if (!w || !rules)
		return UNWIND_STOP_NO_TABLE;
	copy = rules[index & (SHELF_WORDS / 2 - 1)];
	if (copy.cfa != UNWIND_CFA_NONE)
		return unwind_apply(NULL, &copy, &w->regs);
	stop = unwind_bare_leaf(NULL, &w->regs);
	return stop == UNWIND_STOP_NONE || !guess ? stop : step_blind(w, true);
}

/* enum unwind_stop */
STEP_PART int step_by_rule(struct stack_walk *w, __u32 index)
{
	return step_by(w, index, true);
}

STEP_PART int step_without_table(struct stack_walk *w)
{
	return w ? step_blind(w, false) : UNWIND_STOP_FP_END;
}

/*
 * The same without guesses, for kernels that limit a chain of calls to 512 bytes of stack: guessing
 * takes more. (On x86-64 each function has a stack of its own since 6.13; choose_programs()
 * decides.)
 */
STEP_PART int step_by_rule_only(struct stack_walk *w, __u32 index)
{
	return step_by(w, index, false);
}

STEP_PART int step_by_frame_pointer(struct stack_walk *w)
{
	return w ? unwind_by_frame_pointer(NULL, &w->regs) : UNWIND_STOP_FP_END;
}

static __always_inline long walk_step(__u32 i, struct stack_walk *w, const bool guess)
{
	__u32 area = w->scratch;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &area);
	__u64 pc = w->regs.pc - !w->regs.exact;

	/* The verifier does not know that bpf_loop() ends when its callback returns 1. */
	if (!s || w->stop)
		return 1;
	/* The loop's own counter: a second one would be another path for each value. */
	if (i >= PR_FRAMES_MAX) {
		w->stop = UNWIND_STOP_DEPTH;
		return 1;
	}
	s->ip[i % (PR_FRAMES_MAX + 1)] = w->regs.pc;
	w->n = i + 1;
	if ((pc < w->start || pc >= w->end) && !find_mapping(w, pc)) {
		w->stop = UNWIND_STOP_NO_MAP;
		/* After a guess, the guess was wrong and not the list of mappings. */
		if (!i || (!(w->flags & WALK_GUESSED) && may_miss(w->space)))
			w->flags |= WALK_COPY;
		return 1;
	}
	if (w->object == OBJECT_NOT_READY) {
		w->stop = UNWIND_STOP_NOT_READY;
		w->flags |= WALK_COPY;
		return 1;
	}
	if (w->object == OBJECT_NO_ROOM || w->object == OBJECT_SILENT) {
		w->stop = w->object == OBJECT_NO_ROOM ? UNWIND_STOP_NO_ROOM : UNWIND_STOP_NO_ANSWER;
		return 1;
	}
	if (w->object == OBJECT_NO_TABLE || w->object == OBJECT_ANON) {
		w->stop = guess ? step_without_table(w) : step_by_frame_pointer(w);
	} else {
		__u32 index = find_rule(w->object, pc - w->bias);

		w->stop = guess ? step_by_rule(w, index) : step_by_rule_only(w, index);
	}
	memo_note(s, i, &w->regs);
	return w->stop != UNWIND_STOP_NONE;
}

static long walk_frame(__u32 i, struct stack_walk *w)
{
	return walk_step(i, w, true);
}

static long walk_frame_only(__u32 i, struct stack_walk *w)
{
	return walk_step(i, w, false);
}

/* ---- copies ---- */

/* How much of the stack there is to copy: a thread's stack ends where its thread area begins. */
static __always_inline __u32 chunks_above(__u64 sp)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct mm_struct *mm = me->mm;
	__u64 left = mm ? mm->start_stack - sp : 0;
	__u64 n = COPY_CHUNKS / 4;

	if (left > UNWIND_STACK_MAX)
		left = TASK_THREAD_AREA(me) - sp;
	if (left <= UNWIND_STACK_MAX)
		n = left / COPY_CHUNK + 2;
	return n < COPY_CHUNKS ? n : COPY_CHUNKS;
}

struct copy_to {
	struct pr_copy *rec;
	__u64 from, have;
	__u32 chunks;
};

static __always_inline __u64 copy_chunk(struct pr_copy *rec, __u64 from, __u32 i)
{
	long rc = bpf_probe_read_user(rec->stack + i * COPY_CHUNK, COPY_CHUNK,
				      (void *)(from + i * COPY_CHUNK));

	return rc ? 0 : 1ull << i;
}

static long copy_next(__u32 i, struct copy_to *to)
{
	if (i >= COPY_CHUNKS || i >= to->chunks)
		return 1;
	to->have |= copy_chunk(to->rec, to->from, i);
	return 0;
}

/*
 * Which chunks could be read: a frame may begin in a page that was never touched, and the stack may
 * end anywhere after the outermost frame. `loop`: the verifier sees one chunk, not sixty, but the
 * loop takes more stack.
 */
static __always_inline __u64 copy_chunks(struct pr_copy *rec, __u64 from, __u32 n, const bool loop)
{
	__u64 have = 0;

	if (loop) {
		struct copy_to to = {.rec = rec, .from = from, .chunks = n};

		bpf_loop(COPY_CHUNKS, copy_next, &to, 0);
		return to.have;
	}
	for (__u32 i = 0; i < COPY_CHUNKS; i++) {
		if (i >= n)
			break;
		have |= copy_chunk(rec, from, i);
	}
	return have;
}

static __always_inline __u64 copy_now(struct ring_head *r, const struct unwind_regs *regs,
				      __u32 execs, __u64 need, __u64 ts, const bool loop)
{
	__u32 chunks = chunks_above(regs->sp);
	__u64 id;
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
	/* Odd like all ids, and never the same again. */
	id = (ts ^ (__u64)bpf_get_smp_processor_id() << 56) | 1;
	rec->id = id;
	rec->pid = bpf_get_current_pid_tgid() >> 32;
	rec->pc = regs->pc;
	rec->sp = regs->sp;
	rec->bp = regs->bp;
	rec->di = regs->di;
	rec->execs = execs;
	rec->bx = regs->bx;
	rec->need = need;
	rec->have = copy_chunks(rec, regs->sp & -(__u64)COPY_CHUNK, chunks, loop);
	emit_end(&e);
	return id;
}

/* A function of its own is verified once; for kernels with little stack: step_by_rule_only(). */
STEP_PART __u64 copy_send(const struct unwind_regs *regs, __u32 execs, __u64 need, __u64 ts)
{
	struct ring_head *r = ring_mine();

	return regs && r ? copy_now(r, regs, execs, need, ts, true) : 0;
}

/* ---- entry ---- */

/* In the middle of exec() the registers are still the old program's while its stack is gone. */
static __always_inline bool between_programs(struct task_struct *me, __u64 sp)
{
	__u64 word;

	return bpf_core_field_exists(me->in_execve) && BPF_CORE_READ_BITFIELD(me, in_execve) &&
	       bpf_probe_read_user(&word, sizeof(word), (void *)sp);
}

/*
 * False where there is no user stack: in a kernel thread, in an io_uring worker (the kernel clears
 * its registers), in a thread that ends (the collector hears of its end before it gives up its
 * address space), and between programs.
 */
static __always_inline bool user_regs(struct unwind_regs *ret, bool *ret_in_call)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(me);

	if (me->flags & (PF_KTHREAD | PF_EXITING) || !me->mm || !REGS_USER_64(regs))
		return false;
	if ((!REGS_PC(regs) && !REGS_SP(regs)) || between_programs(me, REGS_SP(regs)))
		return false;
	ret->pc = REGS_PC(regs);
	ret->sp = REGS_SP(regs);
	ret->bp = REGS_BP(regs);
	ret->di = REGS_ARG0(regs);
	ret->bx = REGS_BX(regs);
	ret->bx_at = 0;
	ret->exact = 1;
	ret->no_bp = 0;
	/* A running program is seldom in the same place twice: memos are for calls. */
	*ret_in_call = (__s64)REGS_CALL(regs) >= 0;
	return true;
}

/* The result of a walk, or of the memo that replaced it. */
struct walked {
	struct unwind_regs first;
	__u64 id; /* not 0: the stack's id, and nothing is left to do */
	__u32 n, stop;
	__u32 space, by_bp;
	bool keep; /* as a memo */
};

/* The user stack of the current thread: gathered in the scratch area, sent as a copy, or known. */
static __always_inline void walk_user(struct ring_head *r, struct scratch *s, __u32 area, __u64 ts,
				      struct walked *ret, const bool guess)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct unwind_proc *p = BIG(unwind_procs, struct unwind_proc, pid & procs_mask);
	struct stack_walk w = {.scratch = area};
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
	if (w.space && guess)
		bpf_loop(PR_FRAMES_MAX + 1, walk_frame, &w, 0);
	else if (w.space)
		bpf_loop(PR_FRAMES_MAX + 1, walk_frame_only, &w, 0);
	if (!w.space || w.flags & WALK_COPY) {
		__u64 need = w.flags & WALK_NEED ? w.bias : 0;

		ret->id = guess ? copy_send(&ret->first, execs, need, ts)
				: copy_now(r, &ret->first, execs, need, ts, false);
		if (ret->id)
			return;
		/* No room for a copy: send at least the leaf. */
		w.stop = UNWIND_STOP_NOT_READY;
		s->ip[0] = ret->first.pc;
		w.n = 1;
	}
	ret->stop = w.stop;
	ret->n = w.n;
	ret->space = w.space;
	ret->by_bp = w.regs.by_bp;
	/* A guess depends on more than the words that a memo keeps. */
	ret->keep = in_call && !area && w.stop == UNWIND_STOP_END && !(w.flags & WALK_GUESSED);
}

#endif
