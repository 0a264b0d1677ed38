/* SPDX-License-Identifier: MIT */
/*
 * The meaning of some numbers in a capture depends on the machine that it was recorded on: which
 * system call is which, and where libc keeps the owner of a lock. Readers, which run on any
 * machine, look it up by the name in the capture (META, key "machine").
 *
 * What thaw needs of the machine that it runs on is in host.h, unwind.h and regs.bpf.h.
 */
#ifndef THAW_ARCH_ARCH_H
#define THAW_ARCH_ARCH_H

#include <stdint.h>

/* Bytes into glibc's locks (bits/struct_mutex.h, bits/struct_rwlock.h, pthreadtypes.h). */
struct arch_libc {
	uint8_t mutex_owner, mutex_users, mutex_kind;
	uint8_t rwlock_phase, rwlock_writers; /* readers and writers sleep here */
	uint8_t rwlock_writer;		      /* the tid of the writer that has it */
	uint8_t condvar_words;		      /* two words to sleep on, in turn */
	uint8_t condvar_size, mutex_size;
};

struct arch {
	const char *name; /* as `uname -m` has it */
	const char *const *calls;
	unsigned n_calls;
	struct arch_libc libc;
	uint64_t kernel_begin, kernel_end; /* the kernel's code and that of its modules */
};

/*
 * NULL: not known. No name (NULL, "") means x86-64: thaw has always named the machine in its own
 * captures, and what others have recorded has no such numbers.
 */
const struct arch *arch_find(const char *machine);
/* "read"; NULL: no such call is known. */
const char *arch_call(const struct arch *a, unsigned nr);

#endif
