/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks that need not be walked again.
 *
 * A thread that waits for a contended lock sleeps in the same place again and again. A walk from
 * the same registers that finds the same words in the same places of the stack ends with the same
 * addresses. So a memo keeps the stack slots, and their words, of a whole walk that began in a
 * system call, and the next walk from there only compares them. If a word differs or cannot be
 * read, the stack is walked.
 *
 * A slot belongs to one CPU, and only the outermost program there writes it: a program that
 * interrupts the write finds the id zero, or the slot whole.
 */
#ifndef THAW_PROBE_MEMO_H
#define THAW_PROBE_MEMO_H

#include "probe/lib/emit.bpf.h"

static __always_inline struct memo *memo_of(__u64 pc, __u64 sp)
{
	__u64 mix = (pc ^ sp >> 3) * 0x9e3779b97f4a7c15ull;
	__u32 key = bpf_get_smp_processor_id() * MEMO_SLOTS + (__u32)(mix >> 40) % MEMO_SLOTS;

	return bpf_map_lookup_elem(&memos, &key);
}

/* Has this CPU sent the frames of that stack? */
static __always_inline __u64 *sent_slot(__u64 id)
{
	__u32 key = bpf_get_smp_processor_id() * SENT_SLOTS + (__u32)(id >> 20) % SENT_SLOTS;

	return bpf_map_lookup_elem(&sent, &key);
}

/* The id of the stack that begins with these registers, if it is still the same; else 0. */
__noinline __weak __u64 memo_find(const struct unwind_regs *regs, __u32 space)
{
	struct memo *m;
	__u64 id, word, *slot;
	__u32 n;

	if (!regs)
		return 0;
	m = memo_of(regs->pc, regs->sp);
	if (!m)
		return 0;
	id = *(volatile __u64 *)&m->id;
	if (!id || m->pc != regs->pc || m->sp != regs->sp || m->space != space ||
	    m->epoch != epoch || (m->by_bp && m->bp != regs->bp))
		return 0;
	slot = sent_slot(id);
	if (!slot || *slot != id)
		return 0;
	n = m->n;
	for (__u32 i = 0; i < MEMO_FRAMES; i++) {
		const struct memo_frame *f = &m->frame[i];

		if (i >= n)
			break;
		if (bpf_probe_read_user(&word, sizeof(word), (void *)f->pc_at) || word != f->pc)
			return 0;
		if (f->bp_at &&
		    (bpf_probe_read_user(&word, sizeof(word), (void *)f->bp_at) || word != f->bp))
			return 0;
	}
	return *(volatile __u64 *)&m->id == id ? id : 0;
}

/* Step number i of a walk, which may become a memo, has come to `after`. */
static __always_inline void memo_note(struct scratch *s, __u32 i, const struct unwind_regs *after)
{
	struct memo_frame *f = &s->frame[i % MEMO_FRAMES];

	f->pc_at = after->sp - 8;
	f->pc = after->pc;
	f->bp_at = after->bp_at;
	f->bp = after->bp;
}

/* A whole walk of `n` noted steps from `regs`, whose stack has been sent under that id. */
static __always_inline void memo_keep(const struct scratch *s, const struct unwind_regs *regs,
				      __u32 space, __u32 n, __u32 by_bp, __u64 id)
{
	struct memo *m = memo_of(regs->pc, regs->sp);

	if (!m || n > MEMO_FRAMES)
		return;
	*(volatile __u64 *)&m->id = 0;
	barrier();
	m->pc = regs->pc;
	m->sp = regs->sp;
	m->bp = regs->bp;
	m->by_bp = by_bp;
	m->space = space;
	m->epoch = epoch;
	m->n = n;
	bpf_probe_read_kernel(m->frame, sizeof(m->frame), s->frame);
	barrier();
	*(volatile __u64 *)&m->id = id;
}

#endif
