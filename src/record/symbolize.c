// SPDX-License-Identifier: MIT
/*
 * Asks for all offsets of a module at once, each once and in order, because symbol/ is fastest so.
 * Addresses of data are asked for in the same way; only the events of locks have them. A module
 * that cannot be read costs its own names and a note, never the names of others. Time is limited
 * for each module and for all together, because the user waits for the end of the recording.
 */
#include "record/symbolize.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "kept/folder.h"
#include "record/machine.h"
#include "symbol/symbol.h"
#include "wire/meta.h"
#include "wire/state.h"
#include "wire/unwind.h"

#define MODULE_NS (20 * NSEC_PER_SEC)
#define TOTAL_NS (60 * NSEC_PER_SEC)
#define HASTE_NS NSEC_PER_SEC
/* How long a file may fail to answer. After the first such file, the others get less time. */
#define STILL_NS (3 * NSEC_PER_SEC / 2)
#define STILL_AGAIN_NS (NSEC_PER_SEC / 4)

_Static_assert(SYMBOLS_PER_FRAME_MAX >= SYMBOLS_FRAMES_MAX, "all frames of an address fit");

typedef VEC(uint64_t) offsets;

struct own_code {
	uint64_t begin, end;
	char *name;
};

struct namer {
	struct kept *kept;
	VEC(struct own_code) own;
	struct symbols *kernel; /* all of it; NULL: not loaded yet */
	uint32_t stacks;	/* that have been looked at */
	struct map asked;	/* module and offset, by their hash: once is enough */
};

struct naming {
	struct symtab *st;
	struct namer *namer;
	uint32_t module;
	const offsets *o; /* that are being asked for */
	bool same_boot, imported;
	uint64_t until_ns;
	unsigned stalls;      /* files that did not answer */
	VEC(uint64_t) silent; /* the devices of those, as far as they are known */
	char *notes;
	size_t room;
	size_t untold; /* notes that did not fit */
};

/* All offsets of new stacks that have not been asked for yet, by module, each once. */
static offsets *symbolize_gather(struct namer *namer, const struct reader *r)
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

/* Code and data are asked for separately: the same number means another place. */
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
	uint32_t kernel = reader_kernel_module(r);
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

/* ---- notes for the user ---- */

static void symbolize_note(struct naming *n, const char *words)
{
	size_t used = strlen(n->notes), len = strlen(words);

	/* Leave room for "; and 4294967295 modules more". */
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

static void symbolize_add(void *ctx, size_t first, size_t count, const struct symbols_frame *frames,
			  size_t k)
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
			symbolize_add(n, i, 1, &(struct symbols_frame){.name = name}, 1);
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

static bool is_silent(const struct naming *n, uint64_t dev)
{
	for (size_t i = 0; dev && i < n->silent.n; i++)
		if (n->silent.v[i] == dev)
			return true;
	return false;
}

static void note_silent(struct naming *n, const struct module *m)
{
	if (!is_silent(n, m->dev)) {
		n->stalls++;
		vec_push(&n->silent, m->dev);
	}
}

static int query(const struct naming *n, const struct module *m, struct symbols_query *ret)
{
	uint64_t now = clock_mono_ns(), mine = now + MODULE_NS;

	*ret = (struct symbols_query){.path = m->path ? m->path : "",
				      .pid = n->same_boot ? m->pid : 0,
				      .dev = m->dev,
				      .inode = n->same_boot ? m->inode : 0,
				      .build_id = m->build_id,
				      .build_id_len = m->build_id_len,
				      .offsets = n->o->v,
				      .n = n->o->n,
				      .still_ns = n->stalls ? STILL_AGAIN_NS : STILL_NS,
				      .until_ns = mine < n->until_ns ? mine : n->until_ns};
	/* Files of imports are known by their paths alone, as their tools know them. */
	if (m->kind == MODULE_FILE && !n->same_boot && !n->imported && !m->build_id_len)
		return err_set(-ENOENT, "%s: nothing says that our file is the one that was mapped",
			       ret->path);
	if ((m->kind == MODULE_FILE || m->kind == MODULE_ANON) && now >= n->until_ns)
		return err_set(-ETIMEDOUT, "%s: no time was left to find its names", ret->path);
	if (m->kind == MODULE_FILE && is_silent(n, m->dev))
		return err_set(-EHOSTDOWN,
			       "%s: its symbols could not be read: its file system does not answer",
			       ret->path);
	return 0;
}

static const char *own_name(const struct namer *n, uint64_t address)
{
	for (size_t i = 0; i < n->own.n; i++)
		if (address >= n->own.v[i].begin && address < n->own.v[i].end)
			return n->own.v[i].name;
	return NULL;
}

/* Names the probes' own code, and returns the offsets that are left. */
static offsets name_own(struct naming *n)
{
	offsets rest = {0};

	for (size_t i = 0; i < n->o->n; i++) {
		const char *name = own_name(n->namer, n->o->v[i]);

		if (name)
			symbolize_add(n, i, 1, &(struct symbols_frame){.name = name}, 1);
		else
			vec_push(&rest, n->o->v[i]);
	}
	return rest;
}

static int name_kernel(struct naming *n)
{
	offsets rest = name_own(n);
	struct namer *namer = n->namer;
	struct symbols *some = namer->kernel;
	bool all = true;
	int rc = 0;

	n->o = &rest;
	if (!some)
		rc = symbols_load_kernel_at(namer->kept, rest.v, rest.n, &some, &all);
	if (!rc)
		name_by(n, some);
	if (!rc && all)
		namer->kernel = some;
	else if (!rc)
		symbols_free(some);
	vec_done(&rest);
	return rc;
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
		return symbols_resolve(&q, symbolize_add, n);
	/* A reader that does not know this kind still shows the name. */
	if (m->kind == MODULE_GUESS) {
		symbolize_add(n, 0, n->o->n, &(struct symbols_frame){.name = UNWIND_GUESS_NAME}, 1);
		return 0;
	}
	/* Only files are still the same after a reboot. */
	if (!n->same_boot)
		return -ENOENT;
	if (m->kind == MODULE_ANON && m->pid)
		return symbols_resolve_jit(&q, symbolize_add, n);
	if (m->kind == MODULE_KERNEL)
		return name_kernel(n);
	if (m->kind == MODULE_VDSO) {
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
	rc = symbols_load_kernel_data(n->namer->kept, n->o->v, n->o->n, &syms);
	if (rc)
		return rc;
	for (size_t i = 0; i < n->o->n; i++)
		if (symbols_data_at(syms, n->o->v[i], &d))
			add_data(n, i, 1, &d);
	symbols_free(syms);
	return 0;
}

/* A missing or unreadable file is common and gets no note: its frames stay addresses. */
static bool worth_a_note(int rc)
{
	return rc == SYMBOLS_PARTLY || rc == -EHOSTDOWN || rc == -ESTALE || rc == -EPERM ||
	       rc == -ETIMEDOUT || rc == -ECHILD || rc == -EBADMSG || rc == -EMSGSIZE;
}

/* True if there was something to note. */
static bool name_one(struct naming *n, const struct module *m, const offsets *o,
		     int (*name)(struct naming *, const struct module *), bool told)
{
	int rc;

	if (!o->n)
		return false;
	n->o = o;
	err_clear();
	rc = name(n, m);
	if (rc == -EHOSTDOWN)
		note_silent(n, m);
	if (worth_a_note(rc) && !told)
		symbolize_note(n, err_msg());
	return worth_a_note(rc);
}

static void name_all(struct naming *n, const struct reader *r, struct reader *events)
{
	const char *boot = reader_meta(r, META_BOOT_ID, 0);
	offsets *code = symbolize_gather(n->namer, r), *data = gather_data(n->namer, r, events);
	uint64_t began = clock_mono_ns();
	char here[64];

	machine_boot_id(here, sizeof(here));
	n->same_boot = boot && here[0] && !strcmp(boot, here);
	n->imported = reader_meta(r, META_IMPORTED, 0);
	n->notes[0] = '\0';
	for (uint32_t i = 1; i <= reader_modules(r); i++) {
		const struct module *m = reader_module(r, i);
		bool told;

		if (!m)
			continue;
		/* The user waits, but a machine that is busy need not for long. */
		if (clock_mono_ns() > began + HASTE_NS && getpriority(PRIO_PROCESS, 0) < 0)
			(void)setpriority(PRIO_PROCESS, 0, 0);
		n->module = i;
		told = name_one(n, m, &code[i], name_module, false);
		/* A bad file fails for code and data alike: note that once. */
		(void)name_one(n, m, &data[i], name_data, told);
	}
	note_rest(n);
	vec_done(&n->silent);
	offsets_free(code, r);
	offsets_free(data, r);
}

struct symtab *symbolize(struct reader *r, struct namer *namer, char *notes, size_t notes_room)
{
	struct namer *mine = namer ? NULL : namer_new("");
	struct naming n = {.st = symtab_new(),
			   .namer = namer ? namer : mine,
			   .until_ns = clock_mono_ns() + TOTAL_NS,
			   .notes = notes,
			   .room = notes_room};

	reader_rewind(r);
	name_all(&n, r, r);
	reader_rewind(r);
	if (mine)
		namer_free(mine);
	return n.st;
}

struct namer *namer_new(const char *kept_dir)
{
	struct namer *n = mem_zalloc(sizeof(*n));

	n->kept = kept_for(kept_dir);
	return n;
}

void namer_own_code(void *namer, uint64_t begin, uint64_t end, const char *name)
{
	struct namer *n = namer;

	vec_push(&n->own, ((struct own_code){begin, end, mem_strdup(name)}));
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
	kept_close(n->kept);
	for (size_t i = 0; i < n->own.n; i++)
		free(n->own.v[i].name);
	vec_done(&n->own);
	map_done(&n->asked);
	free(n);
}
