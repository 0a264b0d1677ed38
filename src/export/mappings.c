// SPDX-License-Identifier: MIT
#include "export/mappings.h"

#include "store/types.h"

/* What mappings begin and end at, whatever machine the capture is from: offsets stay in place. */
#define ALIGN 4096ull
#define FIRST (16 * ALIGN)
/* Limits of one file and of all files together; a damaged file may claim more. */
#define FILE_MAX (1ull << 40)
#define ALL_MAX (1ull << 46)

void mappings_init(struct mappings *m, const struct names *names)
{
	*m = (struct mappings){.names = names};
}

void mappings_done(struct mappings *m)
{
	numbers_done(&m->modules);
	vec_done(&m->list);
}

static const struct module *module_of(const struct mappings *m, const struct known_frame *k)
{
	const struct frame_source *s = &m->names->source;
	const struct module *mod = s->module ? s->module(s->arg, k->module) : NULL;

	return mod && mod->kind != MODULE_UNKNOWN ? mod : NULL;
}

uint32_t mappings_add(struct mappings *m, const struct known_frame *k)
{
	const struct module *mod = module_of(m, k);
	struct profile_mapping *map;
	uint32_t number;

	if (!mod)
		return 0;
	number = numbers_of(&m->modules, k->module);
	if (number > m->list.n)
		vec_push(&m->list, (struct profile_mapping){.module = mod, .low = k->offset});
	map = &m->list.v[number - 1];
	map->low = k->offset < map->low ? k->offset : map->low;
	map->high = k->offset > map->high ? k->offset : map->high;
	for (uint32_t i = 0; i < k->n; i++) {
		map->named |= names_function(m->names, k->frames[i].function)->named;
		map->inlined |= k->frames[i].inlined;
	}
	return number;
}

void mappings_place(struct mappings *m)
{
	uint64_t next = FIRST;

	for (size_t i = 0; i < m->list.n; i++) {
		struct profile_mapping *map = &m->list.v[i];
		bool file = map->module->kind == MODULE_FILE || map->module->kind == MODULE_VDSO;
		uint64_t last = map->high | (ALIGN - 1);

		if (file && last < FILE_MAX && next < ALL_MAX) {
			map->start = map->shift = next;
			map->limit = next + last + 1;
			/* Leaves a page between mappings: readers would merge adjacent ones. */
			next = map->limit + ALIGN;
		} else {
			map->start = map->low & ~(ALIGN - 1);
			map->limit = last + 1 ? last + 1 : last;
		}
	}
}

uint64_t mappings_address(struct mappings *m, const struct known_frame *k, uint32_t *ret_number)
{
	*ret_number = module_of(m, k) ? numbers_of(&m->modules, k->module) : 0;
	return k->offset + (*ret_number ? m->list.v[*ret_number - 1].shift : 0);
}

void mapping_name(const struct profile_mapping *m, struct buf *out)
{
	const char *path = m->module->path;

	switch (m->module->kind) {
	case MODULE_KERNEL:
		buf_printf(out, "[kernel]");
		break;
	case MODULE_VDSO:
		buf_printf(out, "[vdso]");
		break;
	case MODULE_ANON:
		/* Generated code differs from process to process. */
		buf_printf(out, "[jit %u]", m->module->pid);
		break;
	default:
		buf_printf(out, "%s", path && *path ? path : "[unknown]");
	}
}

bool mapping_build_id(const struct profile_mapping *m, struct buf *out)
{
	for (unsigned i = 0; i < m->module->build_id_len; i++)
		buf_printf(out, "%02x", m->module->build_id[i]);
	return m->module->build_id_len > 0;
}
