/* SPDX-License-Identifier: MIT */
/* What kind of program a command is: whether a library can be loaded into it. */
#ifndef THAW_ENGINE_PROGRAM_H
#define THAW_ENGINE_PROGRAM_H

enum program_kind {
	PROGRAM_UNKNOWN, /* not there, not readable, or no ELF file: exec() will say */
	PROGRAM_DYNAMIC,
	PROGRAM_STATIC,	 /* has no loader that would load libraries */
	PROGRAM_FOREIGN, /* of another machine: 32 bits, for one */
	PROGRAM_SECURE,	 /* runs with other rights: the loader ignores LD_PRELOAD */
};

/* Follows PATH and "#!" lines as exec() does. *ret_path (of room bytes): the program in the end. */
enum program_kind program_kind(const char *name, char *ret_path, unsigned room);

#endif
