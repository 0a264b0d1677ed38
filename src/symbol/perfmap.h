/* SPDX-License-Identifier: MIT */
/* Perf maps: what a JIT compiler says about the code that it made. Private to symbol/. */
#ifndef THAW_SYMBOL_PERFMAP_H
#define THAW_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

/* -ENOENT if the process has none, -EPERM with a message if it cannot be trusted. */
int perfmap_open(uint32_t pid, int *ret_fd);

/*
 * For each address (ascending) the name of the last line that covers it, or NULL: names[i] is
 * within `text`, which is changed. len < 4 GiB.
 */
void perfmap_find(char *text, size_t len, const uint64_t *addresses, size_t n, const char **names);

struct perfmap_job {
	const uint64_t *addresses;
	size_t n;
};

/* A worker_fn; ctx is a struct perfmap_job, the map is descriptor SANDBOX_FILES. */
int perfmap_work(void *ctx);

#endif
