/* SPDX-License-Identifier: MIT */
/*
 * The sandboxed child's work on one ELF file: every offset that was asked for gets the best answer
 * that its debug information and its symbol tables give; see names.c for code and data.c for data.
 * Private to symbol/.
 */
#ifndef THAW_SYMBOL_NAMES_H
#define THAW_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names_job {
	int main, debug,
		alt; /* descriptors; -1: there is none. debug: separate debug information */
	bool dwarf;  /* false: symbol tables only */
	const uint64_t *offsets; /* into the file; of data: its virtual addresses, ascending */
	size_t n;
};

/* A worker_fn; ctx is a struct names_job. */
int names_work(void *ctx);
int names_work_data(void *ctx);

struct elf;

/*
 * Debug information is read in place, through a mapping, because most of a large file is never
 * touched. If its owner shortens it meanwhile, this process dies, and the next one does without.
 * NULL on failure.
 */
struct elf *names_map(int fd);

#endif
