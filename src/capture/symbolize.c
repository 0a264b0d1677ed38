// SPDX-License-Identifier: MIT
#include "capture/symbolize.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/machine.h"
#include "symbol/symbol.h"

typedef VEC(uint64_t) offsets;

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Every offset that occurs, by module, each once. */
static offsets *gather(const struct reader *r)
{
	offsets *by_module = mem_zalloc((reader_modules(r) + 1) * sizeof(*by_module));

	for (uint32_t i = 1; i <= reader_stacks(r); i++) {
		const struct frame *f;
		size_t n = reader_stack(r, i, &f);

		for (size_t k = 0; k < n; k++)
			if (f[k].module && f[k].module <= reader_modules(r))
				vec_push(&by_module[f[k].module], f[k].offset);
	}
	for (uint32_t m = 1; m <= reader_modules(r); m++) {
		offsets *o = &by_module[m];
		size_t n = 0;

		if (o->n)
			qsort(o->v, o->n, sizeof(*o->v), compare);
		for (size_t i = 0; i < o->n; i++)
			if (!n || o->v[n - 1] != o->v[i])
				o->v[n++] = o->v[i];
		o->n = n;
	}
	return by_module;
}

/* The vDSO is the same in every process of a boot: ours will do. Its size is in its headers. */
static int load_vdso(struct symbols **ret)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!eh)
		return -ENOENT;
	return symbols_load_image(eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, ret);
}

static int load(const struct module *m, bool same_boot, struct symbols **ret)
{
	switch (m->kind) {
	case MODULE_FILE:
		return symbols_load_elf(m->path, same_boot ? m->pid : 0, m->build_id,
					m->build_id_len, ret);
	case MODULE_KERNEL:
		return same_boot ? symbols_load_kernel(ret) : -ESTALE;
	case MODULE_VDSO:
		return same_boot ? load_vdso(ret) : -ESTALE;
	default:
		return -ENOENT;
	}
}

static void name_module(struct symtab *st, uint32_t index, const offsets *o, struct symbols *syms)
{
	for (size_t i = 0; i < o->n; i++) {
		const char *name = symbols_find(syms, o->v[i], NULL);

		if (name)
			symtab_add(st, index, o->v[i], &(struct symbol){.name = name}, 1);
	}
}

struct symtab *symbolize(const struct reader *r, char *notes, size_t notes_room)
{
	const char *boot = reader_meta(r, "boot_id", 0);
	offsets *by_module = gather(r);
	struct symtab *st = symtab_new();
	char here[64];
	bool same_boot;

	machine_boot_id(here, sizeof(here));
	same_boot = boot && here[0] && !strcmp(boot, here);
	notes[0] = '\0';
	for (uint32_t i = 1; i <= reader_modules(r); i++) {
		const struct module *m = reader_module(r, i);
		struct symbols *syms = NULL;
		int rc;

		if (!m || !by_module[i].n)
			continue;
		rc = load(m, same_boot, &syms);
		if (!rc)
			name_module(st, i, &by_module[i], syms);
		else if ((rc == -ESTALE && m->kind == MODULE_FILE) || rc == -EPERM)
			snprintf(notes, notes_room, "%s", err_msg());
		symbols_free(syms);
	}
	for (uint32_t i = 0; i <= reader_modules(r); i++)
		vec_done(&by_module[i]);
	free(by_module);
	return st;
}
