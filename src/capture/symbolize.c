// SPDX-License-Identifier: MIT
/*
 * All offsets of a module are asked for at once, each once and in order: that is how symbol/ is
 * fastest. So with the virtual addresses of its data, which only locks have: where they are is in
 * the events. A module that cannot be read costs its own names and a note, never those of the
 * others; time is limited for each and for all together, because somebody waits for the end of a
 * recording.
 */
#include "capture/symbolize.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "capture/machine.h"
#include "symbol/symbol.h"
#include "wire/state.h"

#define MODULE_NS (20 * NSEC_PER_SEC)
#define TOTAL_NS (60 * NSEC_PER_SEC)

_Static_assert(SYMBOLS_PER_FRAME_MAX >= SYMBOLS_FRAMES_MAX, "all frames of an address fit");

typedef VEC(uint64_t) offsets;

struct namer {
	struct symbols *kernel; /* NULL: not loaded yet */
	uint32_t stacks;	/* that have been looked at */
	struct map asked;	/* module and offset, by their hash: once is enough */
};

struct naming {
	struct symtab *st;
	struct namer *namer;
	uint32_t module;
	const offsets *o; /* that are being asked for */
	bool same_boot;
	uint64_t until_ns;
	char *notes;
	size_t room;
	size_t untold; /* notes that did not fit */
};

/* Every offset that occurs in new stacks and has not been asked for, by module, each once. */
static offsets *gather(struct namer *namer, const struct reader *r)
{
	offsets *by_module = mem_zalloc((reader_modules(r) + 1) * sizeof(*by_module));

	for (uint32_t i = namer->stacks + 1; i <= reader_stacks(r); i++) {
		const struct frame *f;
		size_t n = reader_stack(r, i, &f);

		for (size_t k = 0; k < n; k++) {
			bool fresh;

			if (!f[k].module || f[k].module > reader_modules(r))
				continue;
			map_put(&namer->asked, map_mix(map_mix(f[k].offset) + f[k].module), &fresh);
			if (fresh)
				vec_push(&by_module[f[k].module], f[k].offset);
		}
	}
	namer->stacks = reader_stacks(r);
	for (uint32_t m = 1; m <= reader_modules(r); m++)
		by_module[m].n = symbols_order_offsets(by_module[m].v, by_module[m].n);
	return by_module;
}

static uint32_t kernel_module(const struct reader *r)
{
	for (uint32_t m = 1; m <= reader_modules(r); m++)
		if (reader_module(r, m) && reader_module(r, m)->kind == MODULE_KERNEL)
			return m;
	return 0;
}

/* Code and data are asked for apart: the same number means another place. */
static void gather_one(struct namer *n, offsets *by_module, const struct reader *r, uint32_t module,
		       uint64_t at)
{
	bool fresh;

	if (!module || module > reader_modules(r))
		return;
	map_put(&n->asked, map_mix(map_mix(~at) + module), &fresh);
	if (fresh)
		vec_push(&by_module[module], at);
}

/* From where `events` stands to its end; it may be another reader of the same capture. */
static offsets *gather_data(struct namer *n, const struct reader *r, struct reader *events)
{
	offsets *by_module = mem_zalloc((reader_modules(r) + 1) * sizeof(*by_module));
	uint32_t kernel = kernel_module(r);
	struct event ev;

	while (reader_next(events, &ev) > 0) {
		if (ev.kind == EV_PLACE && ev.place.kind == PLACE_MODULE)
			gather_one(n, by_module, r, ev.place.module, ev.place.offset);
		else if (ev.kind == EV_KLOCK && ev.klock.what == KLOCK_GLOBAL)
			gather_one(n, by_module, r, kernel, ev.klock.of);
		else if (ev.kind == EV_KLOCKED && ev.klocked.what == KLOCK_GLOBAL)
			gather_one(n, by_module, r, kernel, ev.klocked.of);
	}
	for (uint32_t m = 1; m <= reader_modules(r); m++)
		by_module[m].n = symbols_order_offsets(by_module[m].v, by_module[m].n);
	return by_module;
}

static void offsets_free(offsets *by_module, const struct reader *r)
{
	for (uint32_t i = 0; i <= reader_modules(r); i++)
		vec_done(&by_module[i]);
	free(by_module);
}

/* ---- what the user is told ---- */

static void note(struct naming *n, const char *words)
{
	size_t used = strlen(n->notes), len = strlen(words);

	/* Room stays for "; and 4294967295 modules more". */
	if (n->untold || used + len + 40 > n->room)
		n->untold++;
	else
		snprintf(n->notes + used, n->room - used, "%s%s", used ? "; " : "", words);
}

static void note_rest(struct naming *n)
{
	size_t used = strlen(n->notes);

	if (n->untold && n->room - used > 32)
		snprintf(n->notes + used, n->room - used, "%s%zu modules more",
			 used ? "; and " : "no names for ", n->untold);
}

/* ---- one module ---- */

static void add(void *ctx, size_t first, size_t count, const struct symbols_frame *frames, size_t k)
{
	struct symbol syms[SYMBOLS_PER_FRAME_MAX];
	struct naming *n = ctx;

	for (size_t i = 0; i < k; i++)
		syms[i] = (struct symbol){.name = frames[i].name,
					  .file = frames[i].file,
					  .line = frames[i].line,
					  .inlined = frames[i].inlined};
	for (size_t i = first; i < first + count; i++)
		symtab_add(n->st, n->module, n->o->v[i], syms, k);
}

static void name_by(struct naming *n, struct symbols *syms)
{
	for (size_t i = 0; i < n->o->n; i++) {
		const char *name = symbols_find(syms, n->o->v[i], NULL);

		if (name)
			add(n, i, 1, &(struct symbols_frame){.name = name}, 1);
	}
}

/* The vDSO is the same in every process of a boot: ours will do. Its size is in its headers. */
static int load_vdso(struct symbols **ret)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!eh)
		return -ENOENT;
	return symbols_load_image(eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, ret);
}

static int query(const struct naming *n, const struct module *m, struct symbols_query *ret)
{
	uint64_t now = clock_mono_ns(), mine = now + MODULE_NS;

	*ret = (struct symbols_query){.path = m->path ? m->path : "",
				      .pid = n->same_boot ? m->pid : 0,
				      .build_id = m->build_id,
				      .build_id_len = m->build_id_len,
				      .offsets = n->o->v,
				      .n = n->o->n,
				      .until_ns = mine < n->until_ns ? mine : n->until_ns};
	if ((m->kind == MODULE_FILE || m->kind == MODULE_ANON) && now >= n->until_ns)
		return err_set(-ETIMEDOUT, "%s: no time was left to find its names", ret->path);
	return 0;
}

static int name_module(struct naming *n, const struct module *m)
{
	struct symbols_query q;
	struct symbols *syms = NULL;
	int rc = query(n, m, &q);

	if (rc)
		return rc;
	rc = -ENOENT;
	if (m->kind == MODULE_FILE)
		return symbols_resolve(&q, add, n);
	/* Of another boot only files are still the same. */
	if (!n->same_boot)
		return -ENOENT;
	if (m->kind == MODULE_ANON && m->pid)
		return symbols_resolve_jit(&q, add, n);
	if (m->kind == MODULE_KERNEL) {
		rc = n->namer->kernel ? 0 : symbols_load_kernel(&n->namer->kernel);
		if (!rc)
			name_by(n, n->namer->kernel);
	} else if (m->kind == MODULE_VDSO) {
		rc = load_vdso(&syms);
		if (!rc)
			name_by(n, syms);
		symbols_free(syms);
	}
	return rc;
}

static void add_data(void *ctx, size_t first, size_t count, const struct symbols_data *d)
{
	struct naming *n = ctx;
	struct data_symbol x = {
		.name = d->name, .begin = d->begin, .size = d->size, .whole = d->whole};

	symtab_add_data(n->st, n->module, &x);
}

static int name_data(struct naming *n, const struct module *m)
{
	struct symbols_query q;
	struct symbols_data d;
	struct symbols *syms;
	int rc = query(n, m, &q);

	if (rc || m->kind == MODULE_FILE)
		return rc ? rc : symbols_resolve_data(&q, add_data, n);
	if (m->kind != MODULE_KERNEL || !n->same_boot)
		return -ENOENT;
	rc = symbols_load_kernel_data(&syms);
	if (rc)
		return rc;
	for (size_t i = 0; i < n->o->n; i++)
		if (symbols_data_at(syms, n->o->v[i], &d))
			add_data(n, i, 1, &d);
	symbols_free(syms);
	return 0;
}

/* That there is no file, or no right to read it, is no surprise: addresses stay. */
static bool worth_a_note(int rc)
{
	return rc == SYMBOLS_PARTLY || rc == -ESTALE || rc == -EPERM || rc == -ETIMEDOUT ||
	       rc == -ECHILD || rc == -EBADMSG || rc == -EMSGSIZE;
}

/* True if something was to be told. */
static bool name_one(struct naming *n, const struct module *m, const offsets *o,
		     int (*name)(struct naming *, const struct module *), bool told)
{
	int rc;

	if (!o->n)
		return false;
	n->o = o;
	err_clear();
	rc = name(n, m);
	if (worth_a_note(rc) && !told)
		note(n, err_msg());
	return worth_a_note(rc);
}

static void name_all(struct naming *n, const struct reader *r, struct reader *events)
{
	const char *boot = reader_meta(r, "boot_id", 0);
	offsets *code = gather(n->namer, r), *data = gather_data(n->namer, r, events);
	char here[64];

	machine_boot_id(here, sizeof(here));
	n->same_boot = boot && here[0] && !strcmp(boot, here);
	n->notes[0] = '\0';
	for (uint32_t i = 1; i <= reader_modules(r); i++) {
		const struct module *m = reader_module(r, i);
		bool told;

		if (!m)
			continue;
		n->module = i;
		told = name_one(n, m, &code[i], name_module, false);
		/* What is wrong with a file is wrong for both, and is said once. */
		(void)name_one(n, m, &data[i], name_data, told);
	}
	note_rest(n);
	offsets_free(code, r);
	offsets_free(data, r);
}

struct symtab *symbolize(struct reader *r, char *notes, size_t notes_room)
{
	struct naming n = {.st = symtab_new(),
			   .namer = namer_new(),
			   .until_ns = clock_mono_ns() + TOTAL_NS,
			   .notes = notes,
			   .room = notes_room};

	reader_rewind(r);
	name_all(&n, r, r);
	reader_rewind(r);
	namer_free(n.namer);
	return n.st;
}

struct namer *namer_new(void)
{
	return mem_zalloc(sizeof(struct namer));
}

void namer_more(struct namer *namer, const struct reader *r, struct reader *events,
		uint64_t until_ns, struct symtab *into)
{
	char notes[256];
	struct naming n = {.st = into,
			   .namer = namer,
			   .until_ns = until_ns,
			   .notes = notes,
			   .room = sizeof(notes)};

	name_all(&n, r, events);
}

void namer_free(struct namer *n)
{
	symbols_free(n->kernel);
	map_done(&n->asked);
	free(n);
}
