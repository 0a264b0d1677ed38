/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The keys of META chunks: META_HOST is "host". */
#ifndef THAW_WIRE_META_H
#define THAW_WIRE_META_H

#define META(UPPER, key, type, meaning)                                                            \
	static const char META_##UPPER[] __attribute__((unused)) = key;
#include "wire/meta.def"

#endif
