/* SPDX-License-Identifier: MIT */
/*
 * A program's table of cases and their arguments: `PROGRAM CASE [args]`. Each case has a row of
 * arguments with their defaults, given by place or as --name value; --list shows the table.
 */
#ifndef WORKLOAD_CASES_H
#define WORKLOAD_CASES_H

#include <stddef.h>
#include <stdint.h>

#define ARGS_MAX 5

struct arg {
	const char *name, *val;
};

struct args {
	struct arg v[ARGS_MAX];
};

struct workload_case {
	const char *name;
	void (*run)(const struct args *a);
	struct args defaults;
	const char *words;
};

const char *arg_str(const struct args *a, const char *name);
double arg_num(const struct args *a, const char *name);
size_t arg_count(const struct args *a, const char *name);
uint64_t arg_seconds(const struct args *a);

/* Runs the case that the command line asks for and prints its truth; the program's exit status. */
int cases_main(const struct workload_case *cases, size_t n, int argc, char **argv);

#endif
