// SPDX-License-Identifier: MIT
#include "store/words.h"

#include "base/mem.h"

#define WORD_(id, UPPER, name) [id] = name,

static const char *const contexts[] = {
#define WAKE_WORD WORD_
#include "wire/word.def"
};

static const char *const marks[] = {
#define MARK_WORD WORD_
#include "wire/word.def"
};

static const char *const places[] = {
#define PLACE_WORD WORD_
#include "wire/word.def"
};

static const char *const klocks[] = {
#define KLOCK_WORD WORD_
#include "wire/word.def"
};

static const char *const modules[] = {
#define MODULE_WORD WORD_
#include "wire/word.def"
};

static const char *word_in(const char *const *list, size_t n, uint64_t v)
{
	return v < n && list[v] ? list[v] : "unknown";
}

const char *event_word(enum event_role role, uint64_t v)
{
	switch (role) {
	case ROLE_CONTEXT:
		return word_in(contexts, ARRAY_LEN(contexts), v);
	case ROLE_MARK:
		return word_in(marks, ARRAY_LEN(marks), v);
	case ROLE_PLACE:
		return word_in(places, ARRAY_LEN(places), v);
	case ROLE_KLOCK:
		return word_in(klocks, ARRAY_LEN(klocks), v);
	default:
		return NULL;
	}
}

const char *module_kind_name(enum module_kind kind)
{
	return word_in(modules, ARRAY_LEN(modules), kind);
}
