/* SPDX-License-Identifier: MIT */
/*
 * What may be done here: facts x features x bugs.def -> an action for each mechanism, and for each
 * engine whether it can be used, or why not. A pure function of its arguments.
 */
#ifndef THAW_GUARD_VERDICT_H
#define THAW_GUARD_VERDICT_H

#include "guard/facts.h"
#include "guard/features.h"

/* The newest series that thaw has been tried on; what is newer gets the safest mode. */
#define GUARD_NEWEST KERNEL(7, 2, 0xffff)

/* Ordered: the worse one counts. */
enum guard_action { GUARD_NOTE, GUARD_ALLOW, GUARD_LIMIT, GUARD_DEGRADE, GUARD_REFUSE };

enum guard_mechanism {
#define MECHANISM(id, UPPER, name, costs, words, instead) MECHANISM_##UPPER = id,
#include "guard/mechanism.def"
	MECHANISMS,
};

enum guard_engine_id {
#define ENGINE(id, UPPER, name, sees) ENGINE_##UPPER = id,
#include "guard/engines.def"
	ENGINES,
};

enum guard_bug {
#define BUG(nr, id, ...) BUG_##nr = nr,
#define AVOIDED(...)
#include "guard/bugs.def"
	BUGS,
};

struct guard_range {
	uint32_t from, until; /* until is good again */
};

enum guess { GUESS_VERSION, GUESS_GOOD, GUESS_BAD };

struct guard_row {
	const char *id;
	uint32_t mechanisms;
	enum guard_action action;
	enum guess (*detect)(const struct guard_facts *, const struct guard_features *);
	unsigned detect_nr;
	const char *fix, *title, *means, *todo;
	struct guard_range ranges[5]; /* ends with {0, 0} */
};

struct guard_finding {
	const struct guard_row *row;
	bool accepted; /* by --accept: it has no effect */
	bool unsure;   /* the distributor's version does not tell */
};

struct guard_engine {
	bool usable;
	int rc;	       /* otherwise: a negative errno */
	char why[480]; /* and what is missing, and what to do */
};

struct guard_verdict {
	enum guard_action mechanisms[MECHANISMS];
	struct guard_finding findings[BUGS];
	size_t n_findings;
	struct guard_engine engines[ENGINES];
};

/* `accepted` has a bit for each row of bugs.def that the user has accepted. */
void verdict_make(struct guard_verdict *v, const struct guard_facts *facts,
		  const struct guard_features *features, uint32_t accepted);

/* Where user stacks come from. */
enum guard_stacks { STACKS_NONE, STACKS_FRAME_POINTERS, STACKS_TABLES };
enum guard_stacks verdict_stacks(const struct guard_verdict *v);

static inline bool verdict_allows(const struct guard_verdict *v, enum guard_mechanism m)
{
	return v->mechanisms[m] <= GUARD_ALLOW;
}

/* All in all, when recording with that engine; NULL: there is none. */
enum guard_level { LEVEL_GOOD, LEVEL_ACCEPTED, LEVEL_DEGRADED, LEVEL_REFUSED };
enum guard_level verdict_level(const struct guard_verdict *v, const char *engine);
const char *guard_level_name(enum guard_level level); /* "good", ... */

/* -1: no such engine */
int guard_engine_id(const char *name);
const char *guard_engine_sees(enum guard_engine_id id);
const char *guard_engine_name(enum guard_engine_id id);

const char *guard_mechanism_name(enum guard_mechanism m);
const char *guard_mechanism_words(enum guard_mechanism m);
const char *guard_mechanism_instead(enum guard_mechanism m);
/* Does a recording show less without it? */
bool guard_mechanism_costs(enum guard_mechanism m);

const char *guard_action_name(enum guard_action a);

const struct guard_row *guard_rows(void); /* BUGS of them */
/* What its function of detect.c looks at, in words. */
const char *guard_looks_for(const struct guard_row *row);
/* -EINVAL with the message set. */
int guard_accept(const char *id, uint32_t *accepted);
/* The i-th id that can be accepted, NULL after the last. */
const char *guard_accept_word(size_t i);

struct guard_avoided {
	const char *id, *title, *how;
};
const struct guard_avoided *guard_avoided(size_t *ret_n);

/* ---- detect.c ---- */
#define DETECT(name, words)                                                                        \
	enum guess detect_##name(const struct guard_facts *f, const struct guard_features *k);
#include "guard/detect.def"

/* ---- needs.c ---- */
void guard_engine_judge(struct guard_engine *e, enum guard_engine_id id,
			const struct guard_verdict *v, const struct guard_facts *facts,
			const struct guard_features *features);

#endif
