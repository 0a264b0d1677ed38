/* SPDX-License-Identifier: MIT */
/* The cases, and the parts of one that another one is made of. */
#ifndef WORKLOAD_WORKLOAD_H
#define WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/cases.h"
#include "lib/truth.h"

void case_spin(const struct args *a);
void case_sleep(const struct args *a);
void case_pingpong(const struct args *a);
void case_pingpong2(const struct args *a);
void case_forks(const struct args *a);
void case_execs(const struct args *a);
void case_threads(const struct args *a);
void case_manythreads(const struct args *a);
void case_chain(const struct args *a);
void case_disk(const struct args *a);
void case_mixed(const struct args *a);
void case_waker(const struct args *a);
void case_preempt(const struct args *a);
void case_shares(const struct args *a);
void case_stages(const struct args *a);
void case_exits(const struct args *a);

/* A call chain whose every frame must be found. */
typedef int leaf_fn(void *arg);
int chain_8(leaf_fn *leaf, void *arg);

/* Two ends of pipes, and the last byte that came. */
struct ping {
	int in, out;
	char byte;
};
int ping(void *arg);
int pong(void *arg);
void byte_send(int fd, char byte);

struct disk {
	struct truth *truth;
	int fd;
	size_t count;
	bool direct;
	uint64_t end_ns; /* mixed: until then, whatever the count */
};
/* A file that is gone when the program is, however it ends. *ret_read reads past the page cache. */
int temp_file(int *ret_read, bool *ret_direct);
void *reader_main(void *arg);

#endif
