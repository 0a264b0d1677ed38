// SPDX-License-Identifier: MIT
/* The table of cases: what the command line asks for, with its arguments. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base.h"
#include "lib/cases.h"
#include "lib/truth.h"

const char *arg_str(const struct args *a, const char *name)
{
	for (size_t i = 0; i < ARGS_MAX && a->v[i].name; i++) {
		if (!strcmp(a->v[i].name, name))
			return a->v[i].val;
	}
	die("no argument called %s", name);
}

double arg_num(const struct args *a, const char *name)
{
	const char *s = arg_str(a, name);
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || !(v >= -1 && v <= 1e12))
		die("%s: '%s' is not a number that makes sense here", name, s);
	return v;
}

size_t arg_count(const struct args *a, const char *name)
{
	double v = arg_num(a, name);

	if (v < 0 || v != (double)(size_t)v)
		die("%s: must be a whole number, not '%s'", name, arg_str(a, name));
	return (size_t)v;
}

uint64_t arg_seconds(const struct args *a)
{
	double v = arg_num(a, "seconds");

	if (v < 0)
		die("seconds: must not be negative");
	return (uint64_t)(v * 1e9);
}

static void list_print(const struct workload_case *cases, size_t n_cases, FILE *out)
{
	for (size_t i = 0; i < n_cases; i++) {
		const struct arg *a = cases[i].defaults.v;
		char line[128] = "";
		size_t n = 0;

		for (size_t j = 0; j < ARGS_MAX && a[j].name; j++)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %s=%s", a[j].name,
					      a[j].val);
		fprintf(out, "%-12s%-42s %s\n", cases[i].name, line, cases[i].words);
	}
}

static void args_set(struct args *a, size_t i, const char *name, const char *val)
{
	if (name) {
		for (i = 0; i < ARGS_MAX && a->v[i].name; i++) {
			if (!strcmp(a->v[i].name, name))
				break;
		}
	}
	if (i >= ARGS_MAX || !a->v[i].name)
		die("what is '%s'? See --list", name ? name : val);
	if (!val)
		die("--%s needs a value", name);
	a->v[i].val = val;
}

static void args_parse(struct args *a, char **argv)
{
	size_t place = 0;

	for (; *argv; argv++) {
		if (strncmp(*argv, "--", 2)) {
			args_set(a, place++, NULL, *argv);
			continue;
		}
		args_set(a, 0, argv[0] + 2, argv[1]);
		argv++;
	}
}

static int usage(const struct workload_case *cases, size_t n, bool asked)
{
	FILE *out = asked ? stdout : stderr;

	fprintf(out, "usage: %s CASE [args, by place or --name value]\n",
		program_invocation_short_name);
	list_print(cases, n, out);
	return asked ? 0 : 2;
}

int cases_main(const struct workload_case *cases, size_t n, int argc, char **argv)
{
	struct truth first = {0};

	if (argc < 2 || !strcmp(argv[1], "--list") || !strcmp(argv[1], "--help"))
		return usage(cases, n, argc >= 2);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < n; i++) {
		struct args a = cases[i].defaults;

		if (strcmp(cases[i].name, argv[1]))
			continue;
		args_parse(&a, argv + 2);
		truth_begin(&first, NULL);
		run.threads = &first;
		run.n = 1;
		cases[i].run(&a);
		truth_end(&run.threads[0]);
		run_print(cases[i].name);
		return 0;
	}
	fprintf(stderr, "%s: no case called '%s'; see --list\n", program_invocation_short_name,
		argv[1]);
	return 2;
}
