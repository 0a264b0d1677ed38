/* SPDX-License-Identifier: MIT */
/*
 * A stopped process as the walker sees it: what is mapped where, the tables of its objects, the
 * registers of its threads, and a copy of a stack.
 */
#ifndef THAW_TEST_PROCESS_H
#define THAW_TEST_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf.h"
#include "unwind/table.h"
#include "unwind/walk.h"

#define MAPS_MAX 512
#define STACK_COPY (64u << 10)
#define FRAMES_MAX 512

struct mapping {
	uint64_t begin, end, bias;
	struct unwind_table *table;
	bool owner, anon;
	char path[256];
};

struct process {
	pid_t pid;
	struct mapping maps[MAPS_MAX];
	size_t n;
	uint64_t copy_at;
	size_t copy_len;
	uint64_t copy[STACK_COPY / 8];
};

/* Some containers forbid it. */
static inline bool ptrace_allowed(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static inline size_t process_copy(pid_t pid, uint64_t at, void *out, size_t len)
{
	struct iovec local = {out, len}, remote = {(void *)at, len};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static inline void process_load(struct process *p, struct mapping *m, uint64_t offset)
{
	struct buf image = {0};
	struct elf *e = NULL;
	uint64_t vaddr;
	int fd = -1;

	if (!strcmp(m->path, "[vdso]")) {
		buf_reserve(&image, m->end - m->begin);
		image.len = process_copy(p->pid, m->begin, image.p, m->end - m->begin);
		(void)elf_open_bytes(image.p, image.len, &e);
	} else {
		fd = open(m->path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)elf_open_fd(fd, &e);
	}
	if (e && elf_offset_to_vaddr(e, offset, &vaddr)) {
		m->bias = m->begin - vaddr;
		m->owner = !unwind_table_build(e, &m->table);
	}
	elf_free(e);
	buf_done(&image);
	if (fd >= 0)
		close(fd);
}

static inline void process_open(struct process *p, pid_t pid)
{
	char name[64], line[512];
	FILE *f;

	p->pid = pid;
	p->n = 0;
	p->copy_len = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "r");
	while (f && p->n < MAPS_MAX && fgets(line, sizeof(line), f)) {
		struct mapping m = {0};
		uint64_t offset;
		char perms[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m.begin, &m.end, perms, &offset,
			   m.path) < 4 ||
		    perms[2] != 'x')
			continue;
		m.anon = m.path[0] != '/' && strcmp(m.path, "[vdso]");
		if (!m.anon)
			process_load(p, &m, offset);
		p->maps[p->n++] = m;
	}
	if (f)
		fclose(f);
}

static inline void process_close(struct process *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->maps[i].owner)
			unwind_table_free(p->maps[i].table);
}

static inline struct unwind_place process_find(void *ctx, uint64_t pc)
{
	struct process *p = ctx;

	for (size_t i = 0; i < p->n; i++) {
		const struct mapping *m = &p->maps[i];

		if (pc >= m->begin && pc < m->end)
			return (struct unwind_place){
				.kind = m->anon ? UNWIND_CODE_ANON : UNWIND_CODE_FILE,
				.table = m->table,
				.bias = m->bias,
			};
	}
	return (struct unwind_place){.kind = UNWIND_CODE_NONE};
}

/* From the copy; another stack than the copied one is read from the process. */
static inline int process_read(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct process *p = ctx;

	if (addr >= p->copy_at && addr - p->copy_at + 8 <= p->copy_len) {
		memcpy(ret, (char *)p->copy + (addr - p->copy_at), 8);
		return 0;
	}
	return process_copy(p->pid, addr, ret, 8) == 8 ? 0 : -EFAULT;
}

static const struct unwind_ops process_ops = {.find = process_find, .read = process_read};

/* A thread that is stopped under ptrace. */
static inline size_t process_walk(struct process *p, const struct user_regs_struct *u,
				  uint64_t *ips, enum unwind_stop *ret_stop)
{
	struct unwind_regs regs = {
		.pc = u->rip, .sp = u->rsp, .bp = u->rbp, .di = u->rdi, .bx = u->rbx, .exact = 1};

	/* As much as there is: a read that meets the stack's end is cut to whole pages there. */
	p->copy_at = u->rsp - 128;
	p->copy_len = process_copy(p->pid, p->copy_at, p->copy, sizeof(p->copy));
	return unwind_walk(&process_ops, p, regs, ips, FRAMES_MAX, ret_stop);
}

#endif
