// SPDX-License-Identifier: MIT
/*
 * Strings, frames and stacks of the Perfetto export. Each is written with the packet that uses it
 * first and is a number from then on (a number is never used twice, for whatever kind of thing).
 *
 * A frame is a function at an address. Where functions were inlined, several frames share the
 * address. A mapping stands for a file as a whole: it starts at 0, and addresses in it are offsets
 * in the file, which is what a capture holds.
 */
#include "export/perfetto.h"

#include <inttypes.h>
#include <string.h>

#include "base/pb.h"
#include "store/reader.h"

/* Fields of InternedData. */
enum {
	EVENT_CATEGORIES = 1,
	EVENT_NAMES = 2,
	DEBUG_ANNOTATION_NAMES = 3,
	FUNCTION_NAMES = 5,
	FRAMES = 6,
	CALLSTACKS = 7,
	BUILD_IDS = 16,
	MAPPING_PATHS = 17,
	SOURCE_PATHS = 18,
	MAPPINGS = 19,
	KERNEL_SYMBOLS = 26,
	DEBUG_ANNOTATION_STRING_VALUES = 29,
};

static unsigned field_of(enum perfetto_text what)
{
	switch (what) {
	case TEXT_CATEGORY:
		return EVENT_CATEGORIES;
	case TEXT_ANNOTATION:
		return DEBUG_ANNOTATION_NAMES;
	case TEXT_FUNCTION:
		return FUNCTION_NAMES;
	case TEXT_KERNEL:
		return KERNEL_SYMBOLS;
	case TEXT_SOURCE:
		return SOURCE_PATHS;
	case TEXT_PATH:
		return MAPPING_PATHS;
	case TEXT_NAME_REASON:
	case TEXT_NAME_LOCK:
	case TEXT_NAME_FREED:
	case TEXT_NAME_HELD:
	case TEXT_NAME_STALL:
	case TEXT_NAME_LOSS:
		return EVENT_NAMES;
	default:
		return DEBUG_ANNOTATION_STRING_VALUES;
	}
}

/* Says whether it had a number already. */
static bool number_of(struct perfetto *p, uint64_t key, uint64_t *ret_number)
{
	bool fresh;
	uint64_t *slot = map_put(&p->numbered, key, &fresh);

	if (fresh)
		*slot = ++p->last_number;
	*ret_number = *slot;
	return !fresh;
}

static uint64_t text_key(enum perfetto_text what, uint64_t index)
{
	return (uint64_t)what << 56 ^ index;
}

uint64_t perfetto_has_text(const struct perfetto *p, enum perfetto_text what, uint64_t index)
{
	const uint64_t *slot = map_get(&p->numbered, text_key(what, index));

	return slot ? *slot : 0;
}

uint64_t perfetto_text(struct perfetto *p, enum perfetto_text what, uint64_t index,
		       const char *text)
{
	uint64_t number;
	size_t at;

	if (number_of(p, text_key(what, index), &number))
		return number;
	at = pb_begin(&p->fresh, field_of(what));
	pb_u64(&p->fresh, 1, number); /* iid */
	perfetto_str(p, &p->fresh, 2, text);
	pb_end(&p->fresh, at);
	return number;
}

/* Bytes, not text; the caller writes each module's once. */
static uint64_t put_build_id(struct perfetto *p, const struct module *m)
{
	uint64_t number = p->last_number + 1;
	size_t at;

	if (!m || !m->build_id_len)
		return 0;
	p->last_number = number;
	at = pb_begin(&p->fresh, BUILD_IDS);
	pb_u64(&p->fresh, 1, number);
	pb_bytes(&p->fresh, 2, m->build_id, m->build_id_len);
	pb_end(&p->fresh, at);
	return number;
}

static const char *module_path(const struct module *m)
{
	if (m && m->path && *m->path)
		return m->path;
	switch (m ? m->kind : MODULE_UNKNOWN) {
	case MODULE_KERNEL:
		return "[kernel]";
	case MODULE_VDSO:
		return "[vdso]";
	case MODULE_ANON:
		return "[jit]";
	default:
		return "[unknown]";
	}
}

/* The parts of a path are strings of their own. */
static void path_parts(struct perfetto *p, const char *path)
{
	p->parts.n = 0;
	while (*path) {
		size_t n = strcspn(path, "/");
		char *part;

		if (n) {
			part = mem_strndup(path, n);
			vec_push(&p->parts,
				 perfetto_text(p, TEXT_PATH, map_hash_bytes(part, n) >> 8, part));
			free(part);
		}
		path += n + (path[n] == '/');
	}
}

static uint64_t mapping(struct perfetto *p, uint32_t index)
{
	const struct module *m = reader_module(p->job->reader, index);
	uint64_t number, id;
	size_t at;

	/* Keys beside those of texts, which have their kind in the upper byte. */
	if (number_of(p, (uint64_t)0xff << 56 | (m ? index : 0), &number))
		return number;
	id = put_build_id(p, m);
	path_parts(p, module_path(m));
	at = pb_begin(&p->fresh, MAPPINGS);
	pb_u64(&p->fresh, 1, number);
	pb_some(&p->fresh, 2, id);	 /* build_id */
	pb_u64(&p->fresh, 4, 0);	 /* start */
	pb_u64(&p->fresh, 5, INT64_MAX); /* end */
	for (size_t i = 0; i < p->parts.n; i++)
		pb_u64(&p->fresh, 7, p->parts.v[i]); /* path_string_ids */
	pb_end(&p->fresh, at);
	return number;
}

static void put_frame(struct perfetto *p, uint64_t number, uint64_t offset,
		      const struct named_frame *f, uint64_t map)
{
	const struct function *fn = names_function(&p->m->names, f->function);
	uint64_t name = perfetto_text(p, TEXT_FUNCTION, f->function, fn->name);
	uint64_t source = fn->file ? perfetto_text(p, TEXT_SOURCE, f->function, fn->file) : 0;
	size_t begin = pb_begin(&p->fresh, FRAMES);

	pb_u64(&p->fresh, 1, number);
	pb_u64(&p->fresh, 2, name);
	pb_u64(&p->fresh, 3, map);
	pb_u64(&p->fresh, 4, offset); /* rel_pc */
	pb_some(&p->fresh, 5, source);
	pb_some(&p->fresh, 6, f->line);
	pb_u64(&p->fresh, 7, fn->kernel ? 2 : 1); /* KIND_KERNEL, KIND_NATIVE */
	pb_end(&p->fresh, begin);
}

/* The first of the numbers of the functions at an address, which is a place in names.known. */
static uint64_t frames_at(struct perfetto *p, uint32_t address)
{
	const struct known_frame *k = &p->m->names.known.v[address];
	bool fresh;
	uint64_t *slot = map_put(&p->frames, address, &fresh), first, map;

	if (!fresh)
		return *slot;
	first = *slot = p->last_number + 1;
	p->last_number += k->n;
	map = mapping(p, k->module);
	for (uint32_t i = 0; i < k->n; i++)
		put_frame(p, first + i, k->offset, &k->frames[i], map);
	return first;
}

static uint64_t put_stack(struct perfetto *p, uint32_t kstack, uint32_t ustack, bool probed)
{
	const uint32_t *addresses;
	size_t n = names_addresses(&p->m->names, kstack, ustack, probed, &addresses), at;

	if (!n)
		return 0;
	p->numbers.n = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t first = frames_at(p, addresses[i]);

		for (uint32_t j = 0; j < p->m->names.known.v[addresses[i]].n; j++)
			vec_push(&p->numbers, first + j);
	}
	at = pb_begin(&p->fresh, CALLSTACKS);
	pb_u64(&p->fresh, 1, ++p->last_number);
	for (size_t i = p->numbers.n; i-- > 0;)
		pb_u64(&p->fresh, 2, p->numbers.v[i]); /* frame_ids, the root first */
	pb_end(&p->fresh, at);
	return p->last_number;
}

uint64_t perfetto_stack(struct perfetto *p, uint32_t kstack, uint32_t ustack, bool probed)
{
	bool fresh;
	uint64_t *slot = map_put(probed ? &p->probed_stacks : &p->stacks,
				 (uint64_t)kstack << 32 | ustack, &fresh);

	if (fresh)
		*slot = put_stack(p, kstack, ustack, probed);
	return *slot;
}

void perfetto_intern_done(struct perfetto *p)
{
	buf_done(&p->fresh);
	map_done(&p->numbered);
	map_done(&p->frames);
	map_done(&p->stacks);
	map_done(&p->probed_stacks);
	vec_done(&p->numbers);
	vec_done(&p->parts);
}
