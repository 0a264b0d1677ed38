/* SPDX-License-Identifier: MIT */
/* Where the members of glibc's locks that thaw reads are: a struct arch_libc (arch/arch.h). */
#ifndef THAW_ARCH_X86_64_LIBC_H
#define THAW_ARCH_X86_64_LIBC_H

#define X86_64_LIBC                                                                                \
	{                                                                                          \
		.mutex_owner = 8, .mutex_users = 12, .mutex_kind = 16, .rwlock_phase = 8,          \
		.rwlock_writers = 12, .rwlock_writer = 24, .condvar_words = 40,                    \
		.condvar_size = 48, .mutex_size = 40                                               \
	}

#endif
