/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In which system call a thread goes to sleep, read from the registers with which it entered the
 * kernel. These always lie on top of its kernel stack, so thaw needs no tracepoint of system calls:
 * a single one puts every call of the machine on its slow path, 116 ns more each.
 */
#ifndef THAW_PROBE_CALL_H
#define THAW_PROBE_CALL_H

#include "arch/calls.h"
#include "probe/lib/compat.bpf.h"

/* Calls that may sleep on the file of their first argument, a descriptor. */
/* clang-format off */
#define DESCRIPTOR_CALLS(CALL, w) \
	CALL(w, read) CALL(w, write) CALL(w, lseek) CALL(w, ioctl) CALL(w, pread64) \
	CALL(w, pwrite64) CALL(w, readv) CALL(w, writev) CALL(w, sendfile) CALL(w, connect) \
	CALL(w, accept) CALL(w, sendto) CALL(w, recvfrom) CALL(w, sendmsg) CALL(w, recvmsg) \
	CALL(w, shutdown) CALL(w, fcntl) CALL(w, flock) CALL(w, fsync) CALL(w, fdatasync) \
	CALL(w, ftruncate) CALL(w, getdents) CALL(w, readahead) CALL(w, getdents64) \
	CALL(w, fadvise64) CALL(w, splice) CALL(w, tee) CALL(w, sync_file_range) \
	CALL(w, vmsplice) CALL(w, fallocate) CALL(w, accept4) CALL(w, preadv) CALL(w, pwritev) \
	CALL(w, recvmmsg) CALL(w, syncfs) CALL(w, sendmmsg) CALL(w, copy_file_range) \
	CALL(w, preadv2) CALL(w, pwritev2)
/* clang-format on */
#define CALL_BIT(w, name) | (ARCH_CALL_##name / 64 == (w) ? 1ull << ARCH_CALL_##name % 64 : 0)
#define CALL_WORD(w) (0ull DESCRIPTOR_CALLS(CALL_BIT, w))

static __always_inline bool takes_descriptor(__u32 nr)
{
	__u64 word = 0;

	/* Constants in the code: a table would be another page to have at hand. */
	if (nr < 64)
		word = CALL_WORD(0);
	else if (nr < 128)
		word = CALL_WORD(1);
	else if (nr < 192)
		word = CALL_WORD(2);
	else if (nr < 256)
		word = CALL_WORD(3);
	else if (nr < 320)
		word = CALL_WORD(4);
	else if (nr < 384)
		word = CALL_WORD(5);
	return word >> (nr % 64) & 1;
}

#define MODE_TYPE 0170000u
#define MODE_SOCKET 0140000u
#define MODE_REGULAR 0100000u
#define MODE_BLOCK 0060000u
#define MODE_DIRECTORY 0040000u
#define MODE_CHAR 0020000u
#define MODE_PIPE 0010000u

/* enum call_file */
static __always_inline __u32 file_kind(struct task_struct *t, __u32 fd, const bool cast)
{
	struct files_struct *files = t->files;
	struct fdtable *fdt;
	struct inode *inode;
	struct file *file;
	__u32 mode;

	if (!files)
		return FILE_UNKNOWN;
	fdt = files->fdt;
	if (fd >= fdt->max_fds)
		return FILE_UNKNOWN;
	/* The array holds pointers: any struct that begins with one serves. */
	file = (void *)KERNEL_READ(cast, struct list_head, fdt->fd + fd, next);
	if (!file)
		return FILE_UNKNOWN;
	inode = KERNEL_READ(cast, struct file, file, f_inode);
	if (!inode)
		return FILE_UNKNOWN;
	mode = KERNEL_READ(cast, struct inode, inode, i_mode) & MODE_TYPE;
	if (mode == MODE_PIPE)
		return FILE_PIPE;
	if (mode == MODE_SOCKET)
		return FILE_SOCKET;
	if (mode == MODE_REGULAR)
		return inode_is_anon(inode, cast) ? FILE_ANON : FILE_REGULAR;
	if (mode == MODE_CHAR)
		return FILE_CHAR;
	if (mode == MODE_DIRECTORY)
		return FILE_REGULAR;
	if (mode == MODE_BLOCK)
		return FILE_BLOCK;
	return mode ? FILE_UNKNOWN : FILE_ANON;
}

/*
 * The call in which `t`, the current thread, sleeps: see CALL_NR. *ret_regs: its arguments, NULL
 * where they are not to be read.
 */
static __always_inline __u32 call_of(struct task_struct *t, struct pt_regs **ret_regs,
				     const bool cast)
{
	struct pt_regs *regs;
	__u64 nr;
	__u32 call;

	*ret_regs = NULL;
	if (t->flags & PF_KTHREAD)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(t);
	if (!REGS_ARE_SET(regs))
		return 0;
	nr = REGS_CALL(regs);
	if ((__s64)nr < 0)
		return CALL_FAULT;
	/* Calls of the x32 table have a high bit. */
	if (nr >= CALL_NR)
		return 0;
	call = nr + 1;
	if (TASK_COMPAT(t))
		return call | CALL_COMPAT;
	*ret_regs = regs;
	if (takes_descriptor(nr))
		call |= file_kind(t, REGS_ARG0(regs), cast) << CALL_FILE_SHIFT;
	return call;
}

#endif
