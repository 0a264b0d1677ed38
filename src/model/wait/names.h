/* SPDX-License-Identifier: MIT */
/*
 * Frames as a person reads them. Where names come from is the caller's: a capture's reader, or a
 * test. Each address is named once; a function is a name in a module and has a number of its own.
 */
#ifndef THAW_MODEL_NAMES_H
#define THAW_MODEL_NAMES_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct data_symbol;
struct frame;
struct module;
struct symbol;

struct frame_source {
	void *arg;
	size_t (*stack)(void *arg, uint32_t index, const struct frame **ret);
	size_t (*symbol)(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret);
	const struct module *(*module)(void *arg, uint32_t index);
	uint32_t (*stop)(void *arg, uint32_t index); /* enum unwind_stop; may be NULL */
	/* The symbol at a virtual address of the module's data; the callback may be NULL. */
	const struct data_symbol *(*data)(void *arg, uint32_t module, uint64_t address);
	bool (*guessed)(void *arg, uint32_t index); /* is a caller in it? May be NULL */
	uint32_t (*stacks)(void *arg);		    /* the highest number of one; NULL: any */
};

struct named_frame {
	uint32_t function;
	uint32_t line; /* 0: not known */
	bool inlined;  /* into the next frame */
	bool guess;    /* no function: the frames of the address that follows were guessed */
	bool guessed;  /* found by searching the stack's words, not by rules */
};

struct function {
	const char *name, *module;
	const char *file; /* NULL: not known */
	uint32_t line;	  /* the lowest that was seen in it; 0: not known */
	bool kernel;
	bool named; /* false: no symbol, the name is module+0xoffset */
};

/* An address that has been named: its frames, innermost first. */
struct known_frame {
	uint32_t module;
	uint32_t n;
	uint64_t offset;
	bool guess; /* see struct named_frame */
	struct named_frame *frames;
};

struct names {
	struct frame_source source;
	VEC(struct function) functions;
	struct map by_name;  /* hash of name and module -> function + 1 */
	struct map by_frame; /* hash of module and offset -> place in known + 1 */
	VEC(struct known_frame) known;
	VEC(struct named_frame) scratch;
	VEC(uint32_t) addresses;
	struct buf data;
};

void names_init(struct names *n, const struct frame_source *source);
void names_done(struct names *n);

/* May there be a stack of this number? A damaged capture's events may name any. */
bool names_may_be_stack(const struct names *n, uint32_t index);

/*
 * The kernel's frames, then the user's, leaf first, inlined functions as frames of their own. Valid
 * until the next call.
 */
size_t names_stack(struct names *n, uint32_t kstack, uint32_t ustack,
		   const struct named_frame **ret);

/*
 * The same for a stack that was taken where a probe stands (a wait, a waking), without the probe's
 * own frames at its leaf: they differ from kernel to kernel and would make one place several.
 */
size_t names_probed_stack(struct names *n, uint32_t kstack, uint32_t ustack,
			  const struct named_frame **ret);

/*
 * The same stack as addresses, for callers that need more than names: places in n->known, leaf
 * first. probed: without the frames of a probe. Valid until the next call.
 */
size_t names_addresses(struct names *n, uint32_t kstack, uint32_t ustack, bool probed,
		       const uint32_t **ret);

/* What a module is called: its file's name without the folders, "[kernel]", "[unknown]" (NULL). */
const char *names_module(const struct module *m);

/*
 * What lies at a virtual address of a module's data (of the kernel: at an address): "commit_lock",
 * "server.pool[3].lock", "server+0x40"; NULL if nothing is known. Valid until the next call.
 */
const char *names_data(struct names *n, uint32_t module, uint64_t address);

/*
 * Is it code that every program has? Then its caller tells more. It may be of a library of the
 * system, or of the standard library of C++ or Rust that compilers put into the program itself.
 */
bool names_of_system(const struct function *f);
bool names_of_standard(const struct function *f);
static inline bool names_everywhere(const struct function *f)
{
	return names_of_system(f) || names_of_standard(f);
}

static inline const struct function *names_function(const struct names *n, uint32_t i)
{
	return &n->functions.v[i];
}

#endif
