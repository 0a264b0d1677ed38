/* SPDX-License-Identifier: MIT */
/*
 * Stacks by their names, for tests: stack("k:schedule", "k:pipe_read", NULL) gives the number of a
 * stack of the kernel, stack("libc.so.6:pthread_mutex_lock", "app:worker", NULL) one of a program.
 * Leaf first. A name that begins with "app:?" has no symbol.
 */
#ifndef THAW_TEST_UNIT_MODEL_STACKS_H
#define THAW_TEST_UNIT_MODEL_STACKS_H

#include <string.h>

#include "unit/model/feed.h"

#include "store/types.h"

enum { FAKE_MAX = 64, FAKE_DEEP = 12 };

static struct fake {
	struct frame frames[FAKE_MAX][FAKE_DEEP];
	size_t depth[FAKE_MAX];
	uint32_t n;
	const char *names[FAKE_MAX * FAKE_DEEP];
	uint32_t names_n;
	struct module modules[16];
	uint32_t modules_n;
} fake;

static inline uint32_t fake_module(const char *spec)
{
	static char paths[16][32];
	size_t n = strcspn(spec, ":");

	for (uint32_t i = 1; i <= fake.modules_n; i++)
		if (strlen(paths[i]) == n && !strncmp(paths[i], spec, n))
			return i;
	snprintf(paths[++fake.modules_n], sizeof(paths[0]), "%.*s", (int)n, spec);
	fake.modules[fake.modules_n] =
		(struct module){.kind = n == 1 && *spec == 'k' ? MODULE_KERNEL : MODULE_FILE,
				.path = paths[fake.modules_n]};
	return fake.modules_n;
}

static inline uint32_t fake_stack(const char *first, ...)
{
	uint32_t at = ++fake.n;
	va_list args;

	assert_true(at < FAKE_MAX);
	va_start(args, first);
	fake.depth[at] = 0;
	for (const char *s = first; s; s = va_arg(args, const char *)) {
		fake.names[fake.names_n] = s;
		fake.frames[at][fake.depth[at]++] =
			(struct frame){.module = fake_module(s), .offset = fake.names_n++};
	}
	va_end(args);
	return at;
}
#define STACK(...) fake_stack(__VA_ARGS__, NULL)

static inline size_t source_stack(void *arg, uint32_t index, const struct frame **ret)
{
	if (index > fake.n)
		return 0;
	*ret = fake.frames[index];
	return fake.depth[index];
}

static inline size_t source_symbol(void *arg, uint32_t module, uint64_t offset,
				   const struct symbol **ret)
{
	static struct symbol s;

	if (offset >= fake.names_n || !fake.names[offset])
		return 0;
	s = (struct symbol){.name = strchr(fake.names[offset], ':') + 1};
	*ret = &s;
	return s.name[0] == '?' ? 0 : 1;
}

/* "app:table+0x8": that address lies 8 bytes into table. */
static inline const struct data_symbol *source_data(void *arg, uint32_t module, uint64_t address)
{
	static struct data_symbol d;
	static char name[64];
	const struct symbol *sym;
	const char *plus;

	if (!source_symbol(arg, module, address, &sym))
		return NULL;
	plus = strchr(sym->name, '+');
	snprintf(name, sizeof(name), "%.*s", plus ? (int)(plus - sym->name) : 60, sym->name);
	d = (struct data_symbol){.name = name,
				 .begin = address - (plus ? strtoull(plus, NULL, 0) : 0)};
	return &d;
}

static inline const struct module *source_module(void *arg, uint32_t index)
{
	return index && index <= fake.modules_n ? &fake.modules[index] : NULL;
}

static inline uint32_t source_stacks(void *arg)
{
	return fake.n;
}

/* Every stack is whole. */
static inline uint32_t source_stop(void *arg, uint32_t index)
{
	return index && index <= fake.n ? UNWIND_STOP_END : 0;
}

static const struct frame_source fake_source = {.stack = source_stack,
						.symbol = source_symbol,
						.module = source_module,
						.stop = source_stop,
						.data = source_data,
						.stacks = source_stacks};

static inline void feed_init_opts(struct feed *f, struct model_opts opts)
{
	opts.frames = &fake_source;
	opts.sink = feed_sink;
	opts.sink_arg = f;
	fake = (struct fake){0};
	*f = (struct feed){.from = opts.from, .to = opts.to};
	f->m = model_new(&opts);
}

static inline void feed_init_names_window(struct feed *f, uint64_t from, uint64_t to)
{
	feed_init_opts(f, (struct model_opts){.from = from, .to = to});
}

static inline void feed_init_names(struct feed *f)
{
	feed_init_names_window(f, 0, 0);
}

#endif
