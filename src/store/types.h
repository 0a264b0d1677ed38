/* SPDX-License-Identifier: MIT */
/* What a capture holds besides events: modules, stacks of frames in them, names for the frames. */
#ifndef THAW_STORE_TYPES_H
#define THAW_STORE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum module_kind {
#define MODULE_WORD(id, UPPER, name) MODULE_##UPPER = id,
#include "wire/word.def"
};

#define BUILD_ID_MAX 20

struct module {
	enum module_kind kind;
	const char *path; /* as the process saw it */
	uint32_t pid;	  /* ANON: whose; FILE: a process that maps it (for /proc/PID/root) */
	uint8_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t dev, inode; /* FILE: as /proc/PID/maps had them; inode 0: not known */
};

/*
 * A stack is its frames, leaf first. The leaf's offset is where the thread was; the others are
 * return addresses minus one, so that every offset lies inside the instruction that it stands for.
 */
struct frame {
	uint32_t module;
	uint64_t offset;
};

#define STACK_FRAMES_MAX 512

/* One function at an address. An address inside inlined code has several, innermost first. */
struct symbol {
	const char *name; /* never NULL */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* into the next one */
};

#define SYMBOLS_PER_FRAME_MAX 64

/*
 * A named piece of data of a module: [begin, begin + size), in the module's virtual addresses (of a
 * file, as its program headers have them; of the kernel, addresses). Not offsets: frames have
 * those.
 */
struct data_symbol {
	const char *name; /* never NULL */
	uint64_t begin, size;
	bool whole; /* a lock: each byte of it has this name */
};

#endif
