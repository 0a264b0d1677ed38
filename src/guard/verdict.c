// SPDX-License-Identifier: MIT
#include "guard/verdict.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"

/* What each function of detect.c looks at, by its name. */
enum {
#define DETECT(name, words) DETECT_##name,
#include "guard/detect.def"
};
static const char *const looks_for[] = {
#define DETECT(name, words) [DETECT_##name] = (words),
#include "guard/detect.def"
};

static const struct guard_row rows[BUGS] = {
#define M(UPPER) (1u << MECHANISM_##UPPER)
#define BUG(nr, id_, mechanisms_, action_, looks_, fix_, title_, means_, todo_, ...)               \
	[nr] = {.id = (id_),                                                                       \
		.mechanisms = (mechanisms_),                                                       \
		.action = GUARD_##action_,                                                         \
		.detect = detect_##looks_,                                                         \
		.detect_nr = DETECT_##looks_,                                                      \
		.fix = (fix_),                                                                     \
		.title = (title_),                                                                 \
		.means = (means_),                                                                 \
		.todo = (todo_),                                                                   \
		.ranges = {__VA_ARGS__}},
#define AVOIDED(...)
#include "guard/bugs.def"
#undef M
};

static const struct guard_avoided avoided[] = {
#define BUG(...)
#define AVOIDED(...) {__VA_ARGS__},
#include "guard/bugs.def"
};

/* The first version of a series: a picked fix may bring a bug earlier than upstream's release. */
static uint32_t series(uint32_t kernel)
{
	return kernel & ~0xffffu;
}

static bool by_version(const struct guard_facts *f, const struct guard_row *row)
{
	bool picked = f->vendor == VENDOR_SERIES && row->action != GUARD_NOTE;

	for (const struct guard_range *r = row->ranges; r->until; r++)
		if (f->kernel >= (picked ? series(r->from) : r->from) && f->kernel < r->until)
			return true;
	return false;
}

/* Does the row concern this machine? */
static bool concerns(const struct guard_row *row, const struct guard_facts *facts,
		     const struct guard_features *features, bool *ret_unsure)
{
	enum guess g = row->detect(facts, features);

	*ret_unsure = false;
	if (g != GUESS_VERSION)
		return g == GUESS_BAD;
	if (facts->vendor == VENDOR_FROZEN) {
		*ret_unsure = true;
		return row->action != GUARD_NOTE;
	}
	*ret_unsure = facts->vendor == VENDOR_SERIES;
	return by_version(facts, row);
}

void verdict_make(struct guard_verdict *v, const struct guard_facts *facts,
		  const struct guard_features *features, uint32_t accepted)
{
	memset(v, 0, sizeof(*v));
	for (unsigned m = 0; m < MECHANISMS; m++)
		v->mechanisms[m] = GUARD_ALLOW;
	for (unsigned i = 0; i < BUGS; i++) {
		struct guard_finding *at = &v->findings[v->n_findings];

		if (!concerns(&rows[i], facts, features, &at->unsure))
			continue;
		at->row = &rows[i];
		at->accepted = accepted >> i & 1 && rows[i].action > GUARD_LIMIT;
		v->n_findings++;
		for (unsigned m = 0; m < MECHANISMS && !at->accepted; m++)
			if (rows[i].mechanisms >> m & 1 && v->mechanisms[m] < rows[i].action)
				v->mechanisms[m] = rows[i].action;
	}
	for (unsigned e = 0; e < ENGINES; e++)
		guard_engine_judge(&v->engines[e], e, v, facts, features);
}

enum guard_stacks verdict_stacks(const struct guard_verdict *v)
{
	if (verdict_allows(v, MECHANISM_UNWIND) && verdict_allows(v, MECHANISM_USER_READ))
		return STACKS_TABLES;
	return verdict_allows(v, MECHANISM_USER_CHAIN) ? STACKS_FRAME_POINTERS : STACKS_NONE;
}

enum guard_level verdict_level(const struct guard_verdict *v, const char *engine)
{
	enum guard_level level = LEVEL_GOOD;

	if (!engine)
		return LEVEL_REFUSED;
	for (size_t i = 0; i < v->n_findings; i++)
		if (v->findings[i].accepted)
			level = LEVEL_ACCEPTED;
	if (strcmp(engine, guard_engine_name(0)))
		return LEVEL_DEGRADED;
	for (unsigned m = 0; m < MECHANISMS; m++)
		if (guard_mechanism_costs(m) && v->mechanisms[m] > GUARD_ALLOW)
			level = LEVEL_DEGRADED;
	return level;
}

/* ---- words ---- */

const char *guard_level_name(enum guard_level level)
{
	static const char *const names[] = {"good", "accepted", "degraded", "refused"};

	return names[level];
}

const char *guard_action_name(enum guard_action a)
{
	static const char *const names[] = {"note", "allow", "limit", "degrade", "refuse"};

	return names[a];
}

int guard_engine_id(const char *name)
{
	for (unsigned e = 0; e < ENGINES; e++)
		if (!strcmp(guard_engine_name(e), name))
			return (int)e;
	return -1;
}

const char *guard_engine_name(enum guard_engine_id id)
{
	static const char *const names[ENGINES] = {
#define ENGINE(id, UPPER, name, sees) [id] = (name),
#include "guard/engines.def"
	};

	return names[id];
}

const char *guard_engine_sees(enum guard_engine_id id)
{
	static const char *const all[ENGINES] = {
#define ENGINE(id, UPPER, name, sees) [id] = (sees),
#include "guard/engines.def"
	};

	return all[id];
}

static const struct {
	const char *name, *words, *instead;
	bool costs;
} mechanisms[MECHANISMS] = {
#define MECHANISM(id, UPPER, name_, costs_, words_, instead_)                                      \
	[id] = {.name = (name_), .words = (words_), .instead = (instead_), .costs = (costs_)},
#include "guard/mechanism.def"
};

const char *guard_mechanism_name(enum guard_mechanism m)
{
	return mechanisms[m].name;
}

const char *guard_mechanism_words(enum guard_mechanism m)
{
	return mechanisms[m].words;
}

const char *guard_mechanism_instead(enum guard_mechanism m)
{
	return mechanisms[m].instead;
}

bool guard_mechanism_costs(enum guard_mechanism m)
{
	return mechanisms[m].costs;
}

const char *guard_looks_for(const struct guard_row *row)
{
	return looks_for[row->detect_nr];
}

const struct guard_row *guard_rows(void)
{
	return rows;
}

const struct guard_avoided *guard_avoided(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(avoided);
	return avoided;
}

const char *guard_accept_word(size_t i)
{
	for (unsigned k = 0; k < BUGS; k++)
		if (rows[k].action > GUARD_LIMIT && !i--)
			return rows[k].id;
	return NULL;
}

int guard_accept(const char *id, uint32_t *accepted)
{
	char known[160] = "";
	size_t len = 0;

	for (unsigned i = 0; i < BUGS; i++) {
		if (!strcasecmp(rows[i].id, id) && rows[i].action > GUARD_LIMIT) {
			*accepted |= 1u << i;
			return 0;
		}
		if (rows[i].action > GUARD_LIMIT && len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						len ? ", " : "", rows[i].id);
	}
	return err_set(-EINVAL, "there is no finding '%s' to accept; there are: %s", id, known);
}
