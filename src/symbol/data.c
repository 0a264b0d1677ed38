// SPDX-License-Identifier: MIT
/*
 * Names of data, for locks. The symbol that holds an address gives a name and a range; debug
 * information says what lies where in it. Each works without the other: DWARF may know data that
 * has no symbol, and most programs have no DWARF.
 *
 * A variable can be anywhere in the tree of any unit, so all units are walked, once, for all
 * addresses. Types matter only for variables that may hold one of the addresses. A symbol around an
 * address says where to look; without one each variable below it is a candidate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/dwarf.h"
#include "elf/dwarf_numbers.h"
#include "elf/elf.h"
#include "symbol/answer.h"
#include "symbol/data_type.h"
#include "symbol/demangle.h"
#include "symbol/names.h"
#include "symbol/sandbox.h"
#include "symbol/table.h"

/* What is known about an address. */
struct data_asked {
	const struct table_sym *sym; /* NULL: none */
	bool found;		     /* the variable that holds it */
	uint64_t begin;		     /* of that variable */
	struct dw_die die;
};

struct data {
	const struct names_job *job;
	struct symbols *symbols;
	struct dw_file *dwarf;
	struct data_asked *asked; /* one for each address */
	struct answer answer;
};

/* ---- which variable ---- */

/* The first one at or above. */
static size_t lower(const struct names_job *job, uint64_t address)
{
	return SEARCH(0, job->n, mid, job->offsets[mid] < address);
}

/* A variable that lies at a fixed address, and not in a register or a thread's own memory. */
static bool address_of(const struct dw_die *die, uint64_t *ret)
{
	struct dw_attr a = dw_attr_of(die, DW_AT_location);
	struct cursor c;

	if (!dw_is_block(&a))
		return false;
	c = cur_init(a.p, a.len);
	switch (cur_u8(&c)) {
	case DW_OP_addr:
		*ret = cur_u64(&c);
		break;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (!dw_address_number(die->unit, cur_varint(&c), ret))
			return false;
		break;
	default:
		return false;
	}
	return cur_ok(&c) && cur_end(&c) && *ret;
}

static void data_consider(struct data *d, const struct dw_die *die)
{
	uint64_t begin, size = 0;
	size_t i;

	if (!address_of(die, &begin))
		return;
	for (i = lower(d->job, begin); i < d->job->n; i++) {
		struct data_asked *a = &d->asked[i];

		/* No variable reaches across another one's symbol. */
		if (a->sym && begin < a->sym->begin)
			break;
		if (a->found && begin <= a->begin)
			continue;
		size = size ? size : data_size(die);
		if (d->job->offsets[i] - begin >= size)
			break;
		a->found = true;
		a->begin = begin;
		a->die = *die;
	}
}

static void find_variables(struct data *d)
{
	for (size_t i = 0; i < d->dwarf->units.n; i++) {
		struct dw_unit *u = &d->dwarf->units.v[i];
		struct dw_walk w;
		struct dw_die die;

		if (u->type != DW_UT_compile || !dw_unit_open(u))
			continue;
		dw_walk_init(&w, u, DW_HAS_DATA);
		while (dw_walk_next(&w, &die))
			data_consider(d, &die);
	}
}

/* ---- its name ---- */

static void start_path(struct data_path *p, const char *name)
{
	char *plain = demangle(name);

	p->len = (size_t)snprintf(p->text, sizeof(p->text), "%s", plain);
	p->len = p->len < sizeof(p->text) ? p->len : sizeof(p->text) - 1;
	free(plain);
}

static bool by_variable(struct data *d, size_t i, struct answer_data *ret)
{
	const struct data_asked *a = &d->asked[i];
	const char *name, *linkage;
	struct data_path p = {.len = 0};

	if (!a->found)
		return false;
	dw_die_names(&a->die, &name, &linkage);
	if (!linkage && a->sym && a->sym->begin == a->begin)
		linkage = table_name(d->symbols, a->sym);
	/* A mangled name says in which namespace or function; others ("once.0") say less. */
	if (linkage && (!name || demangle_can(linkage)))
		name = linkage;
	if (!name || !*name)
		return false;
	start_path(&p, name);
	data_descend(&a->die, d->job->offsets[i] - a->begin, &p);
	if (!p.size)
		return false;
	*ret = (struct answer_data){.name = answer_string(&d->answer, p.text),
				    .begin = a->begin + p.begin,
				    .size = p.size,
				    .whole = p.whole};
	return ret->name;
}

static bool by_symbol(struct data *d, size_t i, struct answer_data *ret)
{
	const struct table_sym *sym = d->asked[i].sym;
	struct data_path p = {.len = 0};

	if (!sym)
		return false;
	start_path(&p, table_name(d->symbols, sym));
	*ret = (struct answer_data){.name = answer_string(&d->answer, p.text),
				    .begin = sym->begin,
				    .size = sym->end - sym->begin};
	return ret->name;
}

static void answer_all(struct data *d)
{
	const struct names_job *job = d->job;

	for (size_t i = 0, next; i < job->n; i = next) {
		struct answer_data a;

		next = i + 1;
		if (!by_variable(d, i, &a) && !by_symbol(d, i, &a))
			continue;
		answer_data(&d->answer, i, 1, &a);
	}
}

static void open_dwarf(struct data *d)
{
	const struct names_job *job = d->job;
	struct elf *e = names_map(job->debug >= 0 ? job->debug : job->main);
	struct elf *alt = names_map(job->alt);
	struct dw_file *shared = NULL;

	if (alt)
		(void)dw_open(alt, NULL, &shared);
	if (e)
		(void)dw_open(e, shared, &d->dwarf);
}

int names_work_data(void *ctx)
{
	const struct names_job *job = ctx;
	struct data d = {.job = job};
	struct elf *main, *debug = NULL;
	int rc = elf_open_fd(job->main, &main);

	if (rc)
		return rc;
	if (job->debug >= 0)
		(void)elf_open_fd(job->debug, &debug);
	(void)table_load_data(main, debug, &d.symbols);
	d.asked = mem_zalloc((job->n + 1) * sizeof(*d.asked));
	for (size_t i = 0; d.symbols && i < job->n; i++)
		d.asked[i].sym = table_find(d.symbols, job->offsets[i], NULL);
	if (job->dwarf)
		open_dwarf(&d);
	if (d.dwarf)
		find_variables(&d);
	answer_init(&d.answer, SANDBOX_ANSWER);
	answer_all(&d);
	if (d.dwarf && dw_exhausted(d.dwarf))
		return -EBADMSG;
	/* The process ends here, and its memory with it. */
	return answer_end(&d.answer);
}
