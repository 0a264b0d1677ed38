// SPDX-License-Identifier: MIT
/*
 * What a lock is called. A program's lock by the symbol of the memory it is in, or else by the
 * memory: two locks may have the same name; their addresses distinguish them. A lock of the kernel
 * by what it belongs to, or else by the function that wanted it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "model/wait/classify.h"
#include "model/summary/parts.h"
#include "store/types.h"

static char *taken(struct buf *b)
{
	char *s = mem_strdup(buf_cstr(b));

	buf_done(b);
	return s;
}

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path && *path ? path : "?";
}

static const char *module_file(struct model *m, uint32_t module)
{
	const struct frame_source *src = &m->names.source;
	const struct module *mod = src->module ? src->module(src->arg, module) : NULL;

	return file_name(mod ? mod->path : NULL);
}

/* Names the latest thread with that tid. */
static void put_process(struct buf *b, struct model *m, uint64_t pid)
{
	const struct thread *th = timeline_thread(&m->timeline, (uint32_t)pid);

	buf_printf(b, "%s (%" PRIu64 ")", th ? th->name : "?", pid);
}

/*
 * The symbol of a lock in a module's data. The capture may only have a name for the word that
 * threads slept on, `shift` bytes into the lock; then the name's offset is corrected.
 */
static bool put_symbol(struct buf *b, struct names *n, uint32_t module, uint64_t offset,
		       uint64_t shift)
{
	const char *name = names_data(n, module, offset - shift), *plus;
	uint64_t at;

	if (name || !shift) {
		buf_printf(b, "%s", name ? name : "");
		return name != NULL;
	}
	name = names_data(n, module, offset);
	plus = name ? strrchr(name, '+') : NULL;
	at = plus ? strtoull(plus + 1, NULL, 0) : 0;
	if (!plus || at < shift)
		buf_printf(b, "%s", name ? name : "");
	else if (at == shift)
		buf_printf(b, "%.*s", (int)(plus - name), name);
	else
		buf_printf(b, "%.*s+0x%" PRIx64, (int)(plus - name), name, at - shift);
	return name != NULL;
}

static bool put_place(struct buf *b, struct model *m, const struct lock *l)
{
	static const char *const memory[] = {
		[PLACE_HEAP] = "heap ", [PLACE_STACK] = "stack ", [PLACE_ANON] = "anon "};
	const struct lock_place *p = l->place ? &m->locks.places.v[l->place - 1] : NULL;
	uint64_t shift = p && !l->shared ? p->addr - l->addr : 0;
	uint64_t offset = p ? p->offset - shift : 0;

	if (!p) {
		buf_printf(b, "0x%" PRIx64, l->addr);
		return false;
	}
	if (p->kind == PLACE_MODULE) {
		if (put_symbol(b, &m->names, p->module, p->offset, shift))
			return true;
		buf_printf(b, "%s+0x%" PRIx64, module_file(m, p->module), offset);
		return false;
	}
	if ((p->kind == PLACE_SHARED || p->kind == PLACE_FILE) && p->module)
		buf_printf(b, "%s+0x%" PRIx64, module_file(m, p->module), offset);
	else if (p->kind == PLACE_SHARED)
		buf_printf(b, "shared memory+0x%" PRIx64, offset);
	else
		buf_printf(b, "%s0x%" PRIx64,
			   p->kind < ARRAY_LEN(memory) && memory[p->kind] ? memory[p->kind] : "",
			   l->addr);
	return false;
}

static uint32_t kernel_module(const struct model *m)
{
	const struct frame_source *src = &m->names.source;
	const struct module *module;

	for (uint32_t i = 1; src->module && (module = src->module(src->arg, i)); i++)
		if (module->kind == MODULE_KERNEL)
			return i;
	return 0;
}

const char *lock_wanted_by(struct model *m, uint32_t kstack)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(&m->names, kstack, 0, &f);

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(&m->names, f[i].function);

		if (fn->named && !classify_plumbing(fn->name) && !strstr(fn->name, "contention"))
			return fn->name;
	}
	return NULL;
}

static bool put_kernel(struct buf *b, struct model *m, const struct lock *l)
{
	const char *by, *symbol = NULL;

	switch (l->what) {
	case KLOCK_MMAP_LOCK:
		buf_printf(b, "mmap_lock of ");
		put_process(b, m, l->of);
		return true;
	case KLOCK_SIGHAND:
		buf_printf(b, "siglock of ");
		put_process(b, m, l->of);
		return true;
	case KLOCK_RUNQUEUE:
		buf_printf(b, "runqueue of CPU %" PRIu64, l->of);
		return true;
	case KLOCK_INODE:
		buf_printf(b, "i_rwsem of inode %" PRIu64, l->of);
		return true;
	case KLOCK_GLOBAL:
		symbol = names_data(&m->names, kernel_module(m), l->of);
		break;
	}
	by = symbol ? NULL : lock_wanted_by(m, l->kstack);
	if (symbol)
		buf_printf(b, "%s", symbol);
	else if (by)
		buf_printf(b, "%s in %s", lock_kind_words(l->kind), by);
	else
		buf_printf(b, "0x%" PRIx64, l->addr);
	return symbol || by;
}

char *lock_name(struct model *m, const struct lock *l, bool *ret_named)
{
	struct buf b = {0};

	if (l->kernel) {
		*ret_named = put_kernel(&b, m, l);
	} else if (l->kind == LOCK_JOIN && l->of) {
		buf_printf(&b, "end of ");
		put_process(&b, m, l->of);
		*ret_named = true;
	} else if (l->kind == LOCK_GIL) {
		buf_printf(&b, "the GIL of ");
		put_process(&b, m, m->processes.list.v[l->process - 1].pid);
		*ret_named = true;
	} else {
		*ret_named = put_place(&b, m, l);
	}
	return taken(&b);
}
