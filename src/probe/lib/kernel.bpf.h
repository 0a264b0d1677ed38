/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's types, as far as the probes look into them. The loader relocates every access to the
 * running kernel (CO-RE), so order, size and the other members do not matter, and thaw builds on
 * machines that have no BTF at all.
 */
#ifndef THAW_PROBE_KERNEL_H
#define THAW_PROBE_KERNEL_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "arch/regs.bpf.h"

/* include/linux/sched.h */
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* Declared for their places only; their contents are read by hand. */
struct raw_spinlock {
	int raw_lock;
};

struct atomic_word {
	long counter;
};

struct mutex {
	struct atomic_word owner;
};

struct rw_semaphore {
	struct atomic_word count;
	struct atomic_word owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rq {
	unsigned int nr_running;
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct mm_struct {
	unsigned long start_stack;
	struct rw_semaphore mmap_lock;
};

struct address_space {
	struct inode *host;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_flags;
	unsigned long i_ino;
	struct rw_semaphore i_rwsem;
	struct address_space *i_mapping;
	struct address_space i_data;
};

struct sighand_struct {
	struct raw_spinlock siglock;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	int exit_code;
	char comm[16];
	unsigned int in_iowait : 1;
	unsigned int in_execve : 1;
	unsigned int __state;
	int prio;
	struct sched_entity se;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct files_struct *files;
	struct sighand_struct *sighand;
	struct thread_info thread_info; /* CONFIG_THREAD_INFO_IN_TASK */
	struct thread_struct thread;
	struct pid *thread_pid;
	int on_cpu, on_rq; /* narrower from 7.2 on: read as bitfields, of any width */
	unsigned long nvcsw, nivcsw;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
