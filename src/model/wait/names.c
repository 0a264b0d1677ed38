// SPDX-License-Identifier: MIT
#include "model/wait/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/types.h"
#include "wire/unwind.h"

#define NAME_MAX_BYTES 4096
#define PROBE_FRAMES_MAX 12

void names_init(struct names *n, const struct frame_source *source)
{
	*n = (struct names){0};
	if (source)
		n->source = *source;
}

void names_done(struct names *n)
{
	for (size_t i = 0; i < n->known.n; i++)
		free(n->known.v[i].frames);
	for (size_t i = 0; i < n->functions.n; i++) {
		free((char *)n->functions.v[i].name);
		free((char *)n->functions.v[i].module);
		free((char *)n->functions.v[i].file);
	}
	vec_done(&n->functions);
	vec_done(&n->known);
	vec_done(&n->scratch);
	vec_done(&n->addresses);
	buf_done(&n->data);
	map_done(&n->by_name);
	map_done(&n->by_frame);
}

bool names_may_be_stack(const struct names *n, uint32_t index)
{
	return !n->source.stacks || index <= n->source.stacks(n->source.arg);
}

const char *names_module(const struct module *m)
{
	const char *slash;

	if (!m)
		return "[unknown]";
	switch (m->kind) {
	case MODULE_KERNEL:
		return "[kernel]";
	case MODULE_VDSO:
		return "[vdso]";
	case MODULE_ANON:
		return "[jit]";
	case MODULE_GUESS:
		return UNWIND_GUESS_NAME;
	case MODULE_FILE:
		slash = m->path ? strrchr(m->path, '/') : NULL;
		if (slash && slash[1])
			return slash + 1;
		return m->path && *m->path ? m->path : "[unknown]";
	default:
		return "[unknown]";
	}
}

static uint32_t function_intern(struct names *n, const char *name, const char *module,
				const struct symbol *sym, bool kernel)
{
	uint64_t key = map_mix(map_hash_bytes(name, strlen(name)) +
			       3 * map_hash_bytes(module, strlen(module)));
	struct function *f;
	uint64_t *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&n->by_name, key, &fresh);
		if (fresh)
			break;
		f = &n->functions.v[*slot - 1];
		if (strcmp(f->name, name) || strcmp(f->module, module))
			continue;
		if (sym && sym->line && (!f->line || sym->line < f->line))
			f->line = sym->line;
		return (uint32_t)(*slot - 1);
	}
	f = vec_add(&n->functions);
	*slot = n->functions.n;
	f->name = mem_strndup(name, NAME_MAX_BYTES);
	f->module = mem_strndup(module, NAME_MAX_BYTES);
	f->file = sym && sym->file ? mem_strndup(sym->file, NAME_MAX_BYTES) : NULL;
	f->line = sym ? sym->line : 0;
	f->kernel = kernel;
	f->named = sym != NULL;
	return (uint32_t)(n->functions.n - 1);
}

static void name_frame(struct names *n, struct known_frame *k)
{
	const struct module *m = n->source.module(n->source.arg, k->module);
	const char *module = names_module(m);
	bool kernel = m && m->kind == MODULE_KERNEL;
	const struct symbol *syms = NULL;
	size_t count = n->source.symbol(n->source.arg, k->module, k->offset, &syms);
	char plain[300];

	if (count > SYMBOLS_PER_FRAME_MAX)
		count = SYMBOLS_PER_FRAME_MAX;
	k->guess = m && m->kind == MODULE_GUESS;
	if (k->guess)
		count = 0;
	k->n = count ? (uint32_t)count : 1;
	k->frames = mem_zalloc(k->n * sizeof(*k->frames));
	if (!count) {
		if (k->guess)
			snprintf(plain, sizeof(plain), "%s", UNWIND_GUESS_NAME);
		else
			snprintf(plain, sizeof(plain), "%.255s+0x%" PRIx64, module, k->offset);
		k->frames[0].function = function_intern(n, plain, module, NULL, kernel);
		k->frames[0].guess = k->guess;
	}
	for (size_t i = 0; i < count; i++)
		k->frames[i] = (struct named_frame){
			.function = function_intern(n, syms[i].name, module, &syms[i], kernel),
			.line = syms[i].line,
			.inlined = syms[i].inlined,
		};
}

static const struct known_frame *know_frame(struct names *n, const struct frame *f)
{
	uint64_t key = map_mix(f->offset + map_mix(f->module));
	struct known_frame *k;
	uint64_t *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&n->by_frame, key, &fresh);
		if (fresh)
			break;
		k = &n->known.v[*slot - 1];
		if (k->module == f->module && k->offset == f->offset)
			return k;
	}
	k = vec_add(&n->known);
	*slot = n->known.n;
	k->module = f->module;
	k->offset = f->offset;
	name_frame(n, k);
	return k;
}

static size_t frames_of(struct names *n, uint32_t index, const struct frame **ret)
{
	*ret = NULL;
	return index && n->source.stack ? n->source.stack(n->source.arg, index, ret) : 0;
}

static void append_stack(struct names *n, uint32_t index)
{
	const struct frame *frames;
	size_t count = frames_of(n, index, &frames);
	bool guessed = false; /* the frame before was the mark of a guess */

	for (size_t i = 0; i < count; i++) {
		const struct known_frame *k = know_frame(n, &frames[i]);

		for (uint32_t j = 0; j < k->n; j++) {
			struct named_frame f = k->frames[j];

			f.guessed = guessed;
			vec_push(&n->scratch, f);
		}
		guessed = k->guess;
	}
}

size_t names_stack(struct names *n, uint32_t kstack, uint32_t ustack,
		   const struct named_frame **ret)
{
	n->scratch.n = 0;
	append_stack(n, kstack);
	append_stack(n, ustack);
	*ret = n->scratch.v;
	return n->scratch.n;
}

static bool is_probe(const struct function *f)
{
	static const char *const starts[] = {"bpf_prog_", "bpf_trace_run", "bpf_trampoline_",
					     "__traceiter_", "__bpf_trace_"};

	for (unsigned i = 0; f->kernel && i < ARRAY_LEN(starts); i++)
		if (!strncmp(f->name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

size_t names_probed_stack(struct names *n, uint32_t kstack, uint32_t ustack,
			  const struct named_frame **ret)
{
	size_t count = names_stack(n, kstack, ustack, ret), own = 0;

	for (size_t i = 0; i < count && i < PROBE_FRAMES_MAX; i++)
		if (is_probe(names_function(n, (*ret)[i].function)))
			own = i + 1;
	*ret += own;
	return count - own;
}

static void append_addresses(struct names *n, uint32_t index)
{
	const struct frame *frames;
	size_t count = frames_of(n, index, &frames);

	for (size_t i = 0; i < count; i++)
		vec_push(&n->addresses, (uint32_t)(know_frame(n, &frames[i]) - n->known.v));
}

size_t names_addresses(struct names *n, uint32_t kstack, uint32_t ustack, bool probed,
		       const uint32_t **ret)
{
	size_t own = 0;

	n->addresses.n = 0;
	append_addresses(n, kstack);
	append_addresses(n, ustack);
	for (size_t i = 0; probed && i < n->addresses.n && i < PROBE_FRAMES_MAX; i++) {
		const struct known_frame *k = &n->known.v[n->addresses.v[i]];

		if (is_probe(names_function(n, k->frames[k->n - 1].function)))
			own = i + 1;
	}
	*ret = n->addresses.v + own;
	return n->addresses.n - own;
}

const char *names_data(struct names *n, uint32_t module, uint64_t address)
{
	const struct data_symbol *d =
		n->source.data ? n->source.data(n->source.arg, module, address) : NULL;

	if (!d)
		return NULL;
	buf_clear(&n->data);
	buf_printf(&n->data, "%s", d->name);
	/* In a lock the address may be that of any of its words. */
	if (!d->whole && address != d->begin)
		buf_printf(&n->data, "+0x%" PRIx64, address - d->begin);
	return buf_cstr(&n->data);
}

bool names_of_system(const struct function *f)
{
	static const char *const modules[] = {"libc.so",   "libc-",	"libpthread", "ld-",
					      "libm.so",   "libm-",	"libstdc++",  "libgcc_s",
					      "[vdso]",	   "[unknown]", "librt.so",   "libdl.so",
					      "libc.musl", "libc++"};

	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		if (!strncmp(f->module, modules[i], strlen(modules[i])))
			return true;
	return false;
}

bool names_of_standard(const struct function *f)
{
	static const char *const folders[] = {"/include/c++/", "-gnu/c++/", "/rustc/"};

	for (size_t i = 0; f->file && i < ARRAY_LEN(folders); i++)
		if (strstr(f->file, folders[i]))
			return true;
	return false;
}
