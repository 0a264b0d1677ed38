/* SPDX-License-Identifier: MIT */
/* The files that hold a module's names. Private to symbol/. */
#ifndef THAW_SYMBOL_FILES_H
#define THAW_SYMBOL_FILES_H

#include <limits.h>

#include "elf/elf.h"
#include "symbol/symbol.h"

#define BUILD_ID_ROOM 64

/* An open file, and where it was found: its path, and below whose root (0: ours). */
struct source_file {
	int fd; /* -1: none */
	struct elf *elf;
	uint32_t pid;
	char path[PATH_MAX];
};

struct files {
	struct source_file main;
	struct source_file debug; /* separate debug information */
	struct source_file alt;	  /* what several debug files share (dwz) */
	bool has_dwarf;		  /* main or debug */
};

/*
 * Finds what there is; only `main` is required. -ESTALE, with a message, if the file was replaced
 * since. The files stay open until the child that asks ends.
 */
int files_find(const struct symbols_query *q, struct files *ret);

/* -ESTALE unless the file has this build id; any will do if len is 0. */
int file_check_build_id(const struct elf *e, const uint8_t *want, size_t len);
/* Opens a path as opener_open() does, and reads its headers. */
int file_open_elf(const char *path, uint32_t pid, struct source_file *ret);
void file_close(struct source_file *f);
bool file_has_dwarf(const struct source_file *f);

/* Separate debug information, by build id, by .gnu_debuglink, from a server; see debug.c. */
void files_find_debug(const struct symbols_query *q, struct files *f);
/* From a debuginfod server, if the user has named one: an open descriptor. See debuginfod.c. */
int debuginfod_fetch(const uint8_t *build_id, size_t len, uint64_t until_ns, int *ret_fd);

/* ---- for tests ---- */

/* Also after a failure of files_find(). */
void files_close(struct files *f);

#endif
