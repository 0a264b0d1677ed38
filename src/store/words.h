/* SPDX-License-Identifier: MIT */
/* The words of wire/word.def. */
#ifndef THAW_STORE_WORDS_H
#define THAW_STORE_WORDS_H

#include "store/types.h"
#include "wire/event.h"

/* "softirq", "unknown"; NULL: fields of that role have no words there. */
const char *event_word(enum event_role role, uint64_t v);
const char *module_kind_name(enum module_kind kind);

#endif
