// SPDX-License-Identifier: MIT
/*
 * What is known of every user stack of a capture: stackdump FILE [broken|raw]. A line for each
 * sample, wait and waking that has one, in the order of time:
 *
 *   TS KIND TID STOP FRAME;FRAME;...   outermost first; a frame is a name, or module+0xoffset;
 *                                      raw: none by name
 *
 * The live tests check first stacks with it; whoever looks for why a stack is not whole reads it.
 */
#include <stdio.h>
#include <string.h>

#include "store/reader.h"
#include "wire/unwind.h"

static const struct {
	const char *name;
	bool whole;
} stops[UNWIND_STOPS] = {
#define STOP(id, UPPER, text, is_whole, words) [id] = {text, is_whole},
#include "wire/stop.def"
};

static void print_frame(struct reader *r, const struct frame *f, bool raw)
{
	const struct module *m = reader_module(r, f->module);
	const struct symbol *syms;
	size_t n = raw ? 0 : reader_symbol(r, f->module, f->offset, &syms);
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	for (size_t i = n; i-- > 0;)
		printf("%s%s", syms[i].name, i ? ";" : "");
	if (!n)
		printf("%s+0x%llx",
		       slash ? slash + 1
		       : m   ? m->path
			     : "?",
		       (unsigned long long)f->offset);
}

static void print_stack(struct reader *r, uint64_t ts, const char *kind, uint32_t tid,
			uint32_t index, const char *how)
{
	uint32_t stop = reader_stack_stop(r, index);
	const struct frame *frames;
	size_t n = reader_stack(r, index, &frames);

	if (!index || stop >= UNWIND_STOPS || (!strcmp(how, "broken") && stops[stop].whole))
		return;
	printf("%llu %s %u %s ", (unsigned long long)ts, kind, tid, stops[stop].name);
	for (size_t i = n; i-- > 0;) {
		print_frame(r, &frames[i], !strcmp(how, "raw"));
		if (i)
			putchar(';');
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct reader *r;
	struct event ev;

	if (argc < 2 || reader_open(argv[1], &r)) {
		fprintf(stderr, "usage: stackdump FILE [broken|raw]\n");
		return 2;
	}
	while (reader_next(r, &ev) > 0) {
		if (ev.kind == EV_SAMPLE)
			print_stack(r, ev.ts, "sample", ev.sample.tid, ev.sample.ustack, how);
		else if (ev.kind == EV_WAIT)
			print_stack(r, ev.ts, "wait", ev.wait.tid, ev.wait.ustack, how);
		else if (ev.kind == EV_WAKING)
			print_stack(r, ev.ts, "waker", ev.waking.waker, ev.waking.ustack, how);
	}
	reader_close(r);
	return 0;
}
