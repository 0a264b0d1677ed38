// SPDX-License-Identifier: MIT
/*
 * What the model says of every wait for a lock that has holders: lockdump FILE. A line for each
 * piece of a wait in which the holder did not change, however short:
 *
 *   START END VICTIM LOCK HOLDER   CLOCK_MONOTONIC, tids and an address; holder 0: not known
 *
 * Where the holder waits for another lock, these are the lock and the holder at the end of the
 * chain.
 */
#include <stdio.h>

#include "model/model.h"
#include "store/reader.h"

static size_t source_stack(void *arg, uint32_t index, const struct frame **ret)
{
	return reader_stack(arg, index, ret);
}

static size_t source_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	return reader_symbol(arg, module, offset, ret);
}

static const struct module *source_module(void *arg, uint32_t index)
{
	return reader_module(arg, index);
}

static uint32_t source_stop(void *arg, uint32_t index)
{
	return reader_stack_stop(arg, index);
}

static void print_piece(const struct model *m, const struct wait_piece *p)
{
	const struct thread *const *threads = (const struct thread *const *)m->timeline.threads.v;

	if (p->lock == UINT32_MAX)
		return;
	printf("%llu %llu %u 0x%llx %u\n", (unsigned long long)p->start, (unsigned long long)p->end,
	       threads[p->victim]->tid, (unsigned long long)m->locks.list.v[p->lock].addr,
	       p->culprit ? threads[p->culprit - 1]->tid : 0);
}

int main(int argc, char **argv)
{
	struct frame_source frames = {.stack = source_stack,
				      .symbol = source_symbol,
				      .module = source_module,
				      .stop = source_stop};
	struct model *m;
	struct reader *r;
	struct event ev;

	if (argc < 2 || reader_open(argv[1], &r)) {
		fprintf(stderr, "usage: lockdump FILE\n");
		return 2;
	}
	frames.arg = r;
	m = model_new(&(struct model_opts){.frames = &frames});
	m->chain.piece_min = 1;
	while (reader_next(r, &ev) > 0)
		model_event(m, &ev);
	model_finish(m);
	for (size_t i = 0; i < m->chain.pieces.n; i++)
		print_piece(m, &m->chain.pieces.v[i]);
	model_free(m);
	reader_close(r);
	return 0;
}
