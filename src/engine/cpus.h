/* SPDX-License-Identifier: MIT */
#ifndef THAW_ENGINE_CPUS_H
#define THAW_ENGINE_CPUS_H

#include <stddef.h>

struct cpu_list {
	int *v;
	size_t n;
	size_t room;
};

int cpu_list_online(struct cpu_list *ret);
void cpu_list_done(struct cpu_list *l);

#endif
