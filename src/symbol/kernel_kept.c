// SPDX-License-Identifier: MIT
#include "symbol/kernel_kept.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/search.h"
#include "elf/elf.h"
#include "symbol/symbol.h"

#define MAGIC 0x326c6e7277616874ull /* "thawrnl2" */
#define ENTRY_MAX (64u << 20)
#define NOTES_MAX 4096

/* An entry: this, the symbols by their place, and their names, each with its zero. */
struct kernel_entry {
	uint64_t magic;
	uint64_t sum; /* of all that follows */
	uint8_t id[KERNEL_ID_MAX];
	uint64_t id_len;
	uint64_t part; /* enum kernel_part */
	uint64_t n, names_len;
};

struct kernel_function {
	uint32_t begin, end;
	uint32_t name;
};

#define SUMMED offsetof(struct kernel_entry, id)

/* Sums words, for speed: every recording reads some megabytes. */
static uint64_t kernel_kept_sum_of(const struct buf *b)
{
	uint64_t h = b->len, word;
	size_t i = SUMMED;

	for (; i + sizeof(word) <= b->len; i += sizeof(word)) {
		memcpy(&word, b->p + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return map_mix(h + map_hash_bytes(b->p + i, b->len - i));
}

/* ---- which kernel ---- */

static size_t read_notes(struct buf *b)
{
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	buf_reserve(b, NOTES_MAX);
	if (fd >= 0) {
		n = read(fd, b->p, NOTES_MAX);
		close(fd);
	}
	b->len = n > 0 ? (size_t)n : 0;
	return b->len;
}

/* _text is among the first lines. */
uint64_t symbols_kernel_text(void)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	uint64_t addr, found = 0;
	char line[256], name[200];

	while (in && !found && fgets(line, sizeof(line), in))
		if (sscanf(line, "%" SCNx64 " %*c %199s", &addr, name) == 2 &&
		    !strcmp(name, "_text"))
			found = addr;
	if (in)
		fclose(in);
	return found;
}

bool kernel_ref_here(struct kernel_ref *ret)
{
	struct buf notes = {0};
	int n = -1;

	*ret = (struct kernel_ref){.text = symbols_kernel_text()};
	if (ret->text && read_notes(&notes))
		n = elf_notes_build_id(&notes, 4, ret->id, sizeof(ret->id));
	buf_done(&notes);
	ret->id_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static void entry_name(const struct kernel_ref *ref, enum kernel_part part,
		       char name[KEPT_NAME_LEN + 1])
{
	uint64_t a = map_mix(map_hash_bytes(ref->id, ref->id_len) + part);

	snprintf(name, KEPT_NAME_LEN + 1, "%016" PRIx64 "%016" PRIx64, a, map_mix(a ^ MAGIC));
}

/* ---- getting ---- */

/* The entry in `b`, if it is this part of this kernel, and whole. */
static const struct kernel_entry *entry_check(const struct buf *b, const struct kernel_ref *ref,
					      enum kernel_part part)
{
	const struct kernel_entry *e = (const void *)b->p;

	if (b->len < sizeof(*e) || e->magic != MAGIC || e->part != part ||
	    e->id_len != ref->id_len || memcmp(e->id, ref->id, ref->id_len) || e->n > ENTRY_MAX ||
	    e->names_len > ENTRY_MAX || !e->names_len)
		return NULL;
	if (b->len != sizeof(*e) + e->n * sizeof(struct kernel_function) + e->names_len ||
	    b->p[b->len - 1] || e->sum != kernel_kept_sum_of(b))
		return NULL;
	return e;
}

/* The function that holds the place; NULL if there is none. */
static const struct kernel_function *function_at(const struct kernel_function *f, size_t n,
						 uint64_t place)
{
	size_t lo = SEARCH(0, n, mid, f[mid].begin <= place);

	return lo && place < f[lo - 1].end ? &f[lo - 1] : NULL;
}

/* "ext4 1064960 2 - Live 0xffffffffc0a4b000"; an address that is hidden may be any. */
static bool in_module(const char *modules, uint64_t at)
{
	for (const char *line = modules; line && *line; line = strchr(line, '\n')) {
		uint64_t size, begin;

		line += *line == '\n';
		if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s %" SCNx64, &size, &begin) == 2 &&
		    (!begin || at - begin < size))
			return true;
	}
	return false;
}

/* NULL if an address is in a module. */
static struct symbols *kernel_kept_pick(const struct kernel_entry *e, const struct kernel_ref *ref,
					const uint64_t *at, size_t n, const char *modules)
{
	const struct kernel_function *all = (const void *)(e + 1), *f, *last = NULL;
	const char *text = (const char *)(all + e->n);
	VEC(struct table_sym) found = {0};
	struct buf names = {0};
	struct symbols *s;
	size_t i;

	for (i = 0; i < n; i++) {
		f = function_at(all, e->n, at[i] - ref->text);
		if (!f && in_module(modules, at[i]))
			break;
		if (!f || f == last || f->name >= e->names_len)
			continue;
		vec_push(&found, ((struct table_sym){.begin = ref->text + f->begin,
						     .end = ref->text + f->end,
						     .name = (uint32_t)names.len,
						     .is_func = true,
						     .exported = true}));
		buf_put(&names, text + f->name, strlen(text + f->name) + 1);
		last = f;
	}
	s = table_new(&names);
	for (size_t k = 0; k < found.n; k++)
		table_add(s, &found.v[k]);
	vec_done(&found);
	table_build(s, 0);
	if (i == n)
		return s;
	symbols_free(s);
	return NULL;
}

struct symbols *kernel_kept_get(struct kept *k, const struct kernel_ref *ref, enum kernel_part part,
				const uint64_t *at, size_t n, const char *modules, bool *ret_kept)
{
	const struct kernel_entry *e = NULL;
	char name[KEPT_NAME_LEN + 1];
	struct symbols *s = NULL;
	struct buf b = {0};

	entry_name(ref, part, name);
	if (kept_read(k, name, ENTRY_MAX, &b))
		e = entry_check(&b, ref, part);
	*ret_kept = e;
	if (e)
		s = kernel_kept_pick(e, ref, at, n, modules);
	buf_done(&b);
	return s;
}

/* ---- putting ---- */

void kernel_kept_put(struct kept *k, const struct kernel_ref *ref, enum kernel_part part,
		     const struct symbols *all, uint64_t end)
{
	struct kernel_entry e = {.magic = MAGIC, .id_len = ref->id_len, .part = part};
	struct buf b = {0}, names = {0};
	char name[KEPT_NAME_LEN + 1];

	if (!k || end <= ref->text)
		return;
	if (end - ref->text > UINT32_MAX)
		end = ref->text + UINT32_MAX;
	memcpy(e.id, ref->id, ref->id_len);
	buf_put(&b, &e, sizeof(e));
	for (size_t i = 0; i < all->syms.n; i++) {
		const struct table_sym *sym = &all->syms.v[i];
		const char *text = table_name(all, sym);
		struct kernel_function f = {.begin = (uint32_t)(sym->begin - ref->text),
					    .end = (uint32_t)(sym->end - ref->text),
					    .name = (uint32_t)names.len};

		/* "name [module]" */
		if (sym->begin < ref->text || sym->end > end || strchr(text, ' '))
			continue;
		buf_put(&b, &f, sizeof(f));
		buf_put(&names, text, strlen(text) + 1);
		e.n++;
	}
	e.names_len = names.len;
	buf_put(&b, names.p, names.len);
	memcpy(b.p, &e, sizeof(e));
	e.sum = kernel_kept_sum_of(&b);
	memcpy(b.p, &e, sizeof(e));
	entry_name(ref, part, name);
	if (e.names_len)
		kept_write(k, name, &b);
	buf_done(&names);
	buf_done(&b);
}
