/* SPDX-License-Identifier: MIT */
/*
 * The sandboxed child's work on one ELF file: every offset that was asked for gets the best answer
 * that its debug information and its symbol tables give. Private to symbol/.
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
	const uint64_t *offsets;
	size_t n;
};

/* A worker_fn; ctx is a struct names_job. */
int names_work(void *ctx);

#endif
