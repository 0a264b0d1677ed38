/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names, lines and inlined calls.
 *
 * Two ways. A `struct symbols` is one sorted table of functions in this process's memory: the
 * kernel's and the vDSO's, whose bytes come from the kernel. What comes from a target's files (ELF,
 * DWARF, perf maps) is read by a child process without any privileges, which is asked many
 * addresses at once: symbols_resolve().
 */
#ifndef THAW_SYMBOL_SYMBOL_H
#define THAW_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/* From the bytes of an ELF file in memory (the vDSO). Lookups take offsets into these bytes. */
int symbols_load_image(const void *image, size_t len, struct symbols **ret);
/*
 * The running kernel's functions at these (ascending) addresses, if possible from what an earlier
 * recording has kept; otherwise (*ret_all) all functions, modules included. `k` may be NULL. -EPERM
 * with words if the kernel hides its addresses.
 */
struct kept;
int symbols_load_kernel_at(struct kept *k, const uint64_t *at, size_t n, struct symbols **ret,
			   bool *ret_all);
/* Where the running kernel begins; 0 if it does not tell us. */
uint64_t symbols_kernel_text(void);
void symbols_free(struct symbols *s);

/* The function that contains the offset, or NULL. A name is valid as long as `s`. */
const char *symbols_find(const struct symbols *s, uint64_t offset, uint64_t *ret_distance);

/* The build id of an open ELF file: its length, or a negative errno. */
int symbols_build_id(int fd, uint8_t *out, size_t room);

/* One function at an address. An address inside inlined code has several, innermost first. */
struct symbols_frame {
	const char *name; /* never NULL */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* into the next one */
};

#define SYMBOLS_FRAMES_MAX 64

struct symbols_query {
	const char *path;    /* as the process saw it; " (deleted)" may follow */
	uint32_t pid;	     /* a process that maps it, below whose root to look; 0: below ours */
	uint64_t dev, inode; /* as /proc/PID/maps had them; inode 0: not known */
	const uint8_t *build_id; /* what was mapped; a file with another one is not asked */
	size_t build_id_len;
	const uint64_t *offsets; /* into the file; ascending ones are answered fastest */
	size_t n;
	uint64_t until_ns; /* clock_mono_ns() at which to give up; 0: after a limit of its own */
	/* A file that does not answer for so long is given up (-EHOSTDOWN); 0: after a limit. */
	uint64_t still_ns;
	const char *debug_dir; /* NULL: /usr/lib/debug */
};

/* The offsets numbered first .. first + count - 1 all have these n frames. Valid for the call. */
typedef void symbols_fn(void *ctx, size_t first, size_t count, const struct symbols_frame *frames,
			size_t n);

/* Puts offsets in order, each once; returns how many remain. */
size_t symbols_order_offsets(uint64_t *offsets, size_t n);

/* Only a part was found; err_msg() says what is missing. */
#define SYMBOLS_PARTLY 1

/*
 * The names of an ELF file, with lines and inlined calls where there is debug information. Returns
 * 0, SYMBOLS_PARTLY, or a negative errno: -ESTALE when the file was replaced since, -ENOENT when
 * there is none.
 */
int symbols_resolve(const struct symbols_query *q, symbols_fn *fn, void *ctx);
/* The names of code that process `pid` made itself, from its perf map. Offsets are addresses. */
int symbols_resolve_jit(const struct symbols_query *q, symbols_fn *fn, void *ctx);

/* ---- data ---- */

/*
 * A named piece of data: a variable, or the innermost member of it that holds what was asked for.
 * Every byte of a lock has the lock's name; elsewhere "name+0x10" says where in it.
 */
struct symbols_data {
	const char *name; /* "commit_lock", "server.pool[3].lock" */
	uint64_t begin, size;
	bool whole; /* it is a lock */
};

/* The addresses numbered first .. first + count - 1 all lie in it. Valid for the call. */
typedef void symbols_data_fn(void *ctx, size_t first, size_t count, const struct symbols_data *d);

/*
 * The names of an ELF file's data. Here q->offsets are virtual addresses of the file (an address in
 * a process minus the load bias), ascending: .bss has no place in the file. Returns as
 * symbols_resolve() does.
 */
int symbols_resolve_data(const struct symbols_query *q, symbols_data_fn *fn, void *ctx);

/*
 * The running kernel's data at these (ascending) addresses, as far as kallsyms has it: see
 * kernel.c.
 */
int symbols_load_kernel_data(struct kept *k, const uint64_t *at, size_t n, struct symbols **ret);
/* What symbols_load_kernel_data() knows about an address. */
bool symbols_data_at(const struct symbols *s, uint64_t address, struct symbols_data *ret);

#endif
