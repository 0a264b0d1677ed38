// SPDX-License-Identifier: MIT
/*
 * C++ and Rust names as a person writes them. libiberty's parsers are recursive, and the bytes may
 * be hostile. So a name longer than any compiler's stays as it is, the result is cut, and the
 * caller runs where neither a crash nor an endless loop matters (see sandbox.c).
 *
 * Calls the two entry points directly, Rust first because its old scheme looks like C++.
 * cplus_demangle() would also take names of D, Ada and Java for mangled ones.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/table.h"

#define MANGLED_MAX 2048u

bool demangle_can(const char *name)
{
	if (name[0] != '_')
		return false;
	return name[1] == 'Z' || name[1] == 'R' || !strncmp(name, "__Z", 3) ||
	       !strncmp(name, "_GLOBAL_", 8);
}

/* Versions of one function that the compiler made: "name.part.0"; the demangler knows these. */
char *demangle(const char *name)
{
	const int how = DMGL_PARAMS | DMGL_ANSI;
	char *out = NULL;

	if (demangle_can(name) && strnlen(name, MANGLED_MAX) < MANGLED_MAX) {
		out = rust_demangle(name, how);
		out = out ? out : cplus_demangle_v3(name, how);
	}
	if (!out)
		return mem_strndup(name, strnlen(name, TABLE_NAME_MAX - 1));
	if (strlen(out) >= TABLE_NAME_MAX)
		out[TABLE_NAME_MAX - 1] = '\0';
	return out;
}
