/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names. A symbolizer holds one module's symbol table after the other, each loaded
 * once and sorted; a lookup is a binary search.
 */
#ifndef THAW_SYMBOL_SYMBOL_H
#define THAW_SYMBOL_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/*
 * The symbols of an ELF file: .symtab, else .dynsym. Lookups take offsets into the file. If
 * build_id is given (len > 0) and the file's differs, -ESTALE: the file was replaced since. path is
 * tried as it is, and below /proc/PID/root first when pid is not 0.
 */
int symbols_load_elf(const char *path, uint32_t pid, const uint8_t *build_id, size_t build_id_len,
		     struct symbols **ret);
/* The same from bytes in memory (the vDSO). Lookups take offsets into these bytes. */
int symbols_load_image(const void *image, size_t len, struct symbols **ret);
/* The running kernel's, modules included. -EPERM with words if the addresses are hidden. */
int symbols_load_kernel(struct symbols **ret);
void symbols_free(struct symbols *s);

/* The function that contains the offset, or NULL. A name is valid as long as `s`. */
const char *symbols_find(const struct symbols *s, uint64_t offset, uint64_t *ret_distance);
size_t symbols_count(const struct symbols *s);

/* The build id of an ELF file: its length, or a negative errno. */
int symbols_build_id(const char *path, uint8_t *out, size_t room);

#endif
