/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of an OTLP profiles message: strings, attributes, functions, mappings, locations
 * and stacks, each there once and referred to by number. Number 0 of every table is "none".
 */
#ifndef THAW_EXPORT_OTLP_DICT_H
#define THAW_EXPORT_OTLP_DICT_H

#include "export/mappings.h"
#include "export/strings.h"

struct otlp_attribute {
	uint32_t key; /* string */
	bool number;
	uint64_t value; /* or a string */
};

struct otlp_function {
	uint32_t name, file; /* strings */
};

struct otlp_dict {
	struct names *names;
	struct strings strings;
	VEC(struct otlp_attribute) attributes;
	struct map by_attribute;
	VEC(struct otlp_function) functions;
	struct map by_function;
	struct numbers locations;
	struct mappings mappings;
	VEC(uint32_t) frames; /* of all stacks, one after another */
	VEC(size_t) stacks;   /* where each begins in it; the first is that of number 1 */
	struct map by_frames, by_stack[2];
};

void otlp_dict_init(struct otlp_dict *d, struct names *names);
void otlp_dict_done(struct otlp_dict *d);

uint32_t otlp_text(struct otlp_dict *d, const char *key, const char *text);
uint32_t otlp_number(struct otlp_dict *d, const char *key, uint64_t number);
/* names_addresses() of it. */
uint32_t otlp_stack(struct otlp_dict *d, uint32_t kstack, uint32_t ustack, bool probed);

/* Writes all tables as fields of a ProfilesDictionary. */
void otlp_dict_put(struct otlp_dict *d, struct buf *b);

#endif
