// SPDX-License-Identifier: MIT
/*
 * Any bytes as a capture. Once as they are, once without checksums: a fuzzer cannot guess a CRC,
 * and the parsers come after it. Asks for everything that a reader offers.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/inspect.h"
#include "store/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can stand for a million equal events: enough of them is enough. */
enum { EVENTS_MAX = 20000, STACKS_MAX = 20000 };

static volatile uint64_t sink;

static void touch(const char *s)
{
	sink += strlen(s);
}

static void use_stack(const struct reader *r, uint32_t index)
{
	const struct frame *f = NULL;
	size_t n = reader_stack(r, index, &f);

	for (size_t i = 0; i < n; i++) {
		const struct symbol *s = NULL;
		const struct module *m = reader_module(r, f[i].module);
		size_t k = reader_symbol(r, f[i].module, f[i].offset, &s);

		const struct data_symbol *d = reader_data(r, f[i].module, f[i].offset);

		if (m)
			touch(m->path);
		if (d) {
			if (f[i].offset - d->begin >= d->size)
				abort();
			touch(d->name);
		}
		for (; k; k--, s++) {
			touch(s->name);
			if (s->file)
				touch(s->file);
		}
	}
}

static void use_event(const struct reader *r, const struct event *ev)
{
	switch (ev->kind) {
	case EV_SAMPLE:
		use_stack(r, ev->sample.kstack);
		use_stack(r, ev->sample.ustack);
		break;
	case EV_WAKING:
		use_stack(r, ev->waking.ustack);
		break;
	case EV_THREAD:
		touch(ev->thread.name);
		break;
	case EV_FORK:
		touch(ev->fork.name);
		break;
	case EV_EXEC:
		touch(ev->exec.name);
		break;
	case EV_RENAME:
		touch(ev->rename.name);
		break;
	}
}

static void use_events(struct reader *r)
{
	struct event ev;

	for (int i = 0; i < EVENTS_MAX && reader_next(r, &ev) == 1; i++)
		use_event(r, &ev);
}

static void use(struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	const char *k, *v;

	touch(info->damage);
	for (size_t i = 0; reader_meta_at(r, i, &k, &v); i++) {
		touch(k);
		touch(v);
	}
	for (uint32_t i = 0; i <= reader_modules(r) && i < STACKS_MAX; i++)
		if (reader_module(r, i))
			touch(reader_module(r, i)->path);
	for (uint32_t i = 0; i <= reader_stacks(r) && i < STACKS_MAX; i++)
		use_stack(r, i);
	use_events(r);
	reader_verify(r);
	reader_rewind(r);
	use_events(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned flags[] = {0, READER_NO_CHECKSUMS,
					 READER_NO_CHECKSUMS | READER_NO_INDEX};
	int fd = memfd_create("capture", MFD_CLOEXEC);
	char path[40];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct reader *r;

		if (reader_open_flags(path, flags[i], &r))
			continue;
		use(r);
		reader_close(r);
	}
	close(fd);
	return 0;
}
