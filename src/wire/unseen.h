/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef THAW_WIRE_UNSEEN_H
#define THAW_WIRE_UNSEEN_H

enum unseen {
#define UNSEEN(bit, UPPER, name, words, brief, with) UNSEEN_##UPPER = 1u << bit,
#include "wire/unseen.def"
};

static const struct unseen_row {
	unsigned bit;
	const char *name, *words, *brief, *with;
} unseen_rows[] __attribute__((unused)) = {
#define UNSEEN(bit, UPPER, name, words, brief, with) {UNSEEN_##UPPER, name, words, brief, with},
#include "wire/unseen.def"
};

#endif
