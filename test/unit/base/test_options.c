// SPDX-License-Identifier: MIT
/* The command line: every type of option, and what a person is told about a mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/options.h"
#include "base/units.h"

struct opts {
	bool json, all;
	uint64_t pid, wait, room;
	const char *output;
	struct option_list tids;
};

static const struct option_row rows[] = {
	{'j', "json", OPTION_FLAG, offsetof(struct opts, json), NULL, "machine-readable", 0, 0, 0},
	{'a', "all", OPTION_FLAG, offsetof(struct opts, all), NULL, "everything", 0, 0, 0},
	{'p', "pid", OPTION_U64, offsetof(struct opts, pid), "PID", "the process", 1, 99999, 0},
	{'o', "output", OPTION_STR, offsetof(struct opts, output), "FILE", "where to", 0, 0, 0},
	{'t', "tid", OPTION_STRV, offsetof(struct opts, tids), "TID", "a thread", 0, 0, 0},
	{0, "min-wait", OPTION_DURATION, offsetof(struct opts, wait), "D",
	 "shorter ones are left out", 0, NSEC_PER_SEC, NSEC_PER_USEC},
	{0, "ring-size", OPTION_SIZE, offsetof(struct opts, room), "SIZE", "of a CPU", 4096,
	 1 << 20, 0},
	{0},
};

#define ARGS(...)                                                                                  \
	(char *[])                                                                                 \
	{                                                                                          \
		"thaw", __VA_ARGS__, NULL                                                          \
	}

static int parse(char **argv, unsigned flags, struct opts *o, int *first)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	*o = (struct opts){0};
	err_clear();
	return options_parse(rows, argc, argv, flags, o, first);
}

static void test_every_type(void **state)
{
	struct opts o;
	int first;

	assert_int_equal(parse(ARGS("-ja", "--pid", "12", "-oout", "-t1", "--tid=2",
				    "--min-wait=50", "--ring-size", "64K", "rest"),
			       0, &o, &first),
			 0);
	assert_true(o.json && o.all);
	assert_int_equal(o.pid, 12);
	assert_string_equal(o.output, "out");
	assert_int_equal(o.tids.n, 2);
	assert_string_equal(o.tids.v[1], "2");
	assert_int_equal(o.wait, 50000); /* a bare number counts the row's unit */
	assert_int_equal(o.room, 65536);
	assert_int_equal(first, 10);
}

static void test_operands(void **state)
{
	char **argv = ARGS("file", "--json", "other");
	struct opts o;
	int first;

	/* `thaw report FILE --json` */
	assert_int_equal(parse(argv, OPTIONS_PERMUTE, &o, &first), 0);
	assert_true(o.json);
	assert_int_equal(first, 2);
	assert_string_equal(argv[2], "file");
	assert_string_equal(argv[3], "other");
	/* `thaw record ls --json`: the option is the command's */
	assert_int_equal(parse(ARGS("ls", "--json"), 0, &o, &first), 0);
	assert_false(o.json);
	assert_int_equal(first, 1);
	/* `thaw record -a -- --json` */
	assert_int_equal(parse(ARGS("-a", "--", "--json"), 0, &o, &first), 0);
	assert_true(o.all && !o.json);
	assert_int_equal(first, 3);
	assert_int_equal(parse(ARGS("-a", "--", "--json"), OPTIONS_PERMUTE, &o, &first), 0);
	assert_false(o.json);
	assert_int_equal(first, 3);
	assert_int_equal(parse((char *[]){"thaw", NULL}, 0, &o, &first), 0);
	assert_int_equal(first, 1);
}

static void refused(char **argv, const char *words)
{
	struct opts o;
	int first = -7;

	assert_int_equal(parse(argv, OPTIONS_PERMUTE, &o, &first), -EINVAL);
	assert_int_equal(first, -7);
	if (!strstr(err_msg(), words))
		fail_msg("'%s' does not say '%s'", err_msg(), words);
}

static void test_mistakes(void **state)
{
	refused(ARGS("--jsom"), "no option --jsom; did you mean --json?");
	refused(ARGS("--ouput=x"), "no option --ouput; did you mean --output?");
	refused(ARGS("--hlep"), "did you mean --help?");
	refused(ARGS("--whatever"), "no option --whatever; see --help");
	refused(ARGS("-x"), "no option -x");
	refused(ARGS("--json", "-ax"), "no option -x"); /* not "-a", and not "--json" */
	refused(ARGS("--json", "-xa"), "no option -x");
	refused(ARGS("--json=yes"), "--json takes no value");
	refused(ARGS("--output"), "--output needs a value");
	refused(ARGS("-jo"), "-o needs a value");
	refused(ARGS("--pid", "abc"), "--pid: 'abc' is not a number");
	refused(ARGS("-p", "0"), "--pid: 0 is out of range, 1 to 99999");
	refused(ARGS("--min-wait", "2s"), "--min-wait: 2s is out of range, 0ns to 1.00s");
	refused(ARGS("--min-wait", "soon"), "--min-wait: 'soon' is not a duration");
	refused(ARGS("--ring-size", "1"), "1 is out of range, 4.0 KiB to 1.0 MiB");
	refused(ARGS("--ring-size", "big"), "--ring-size: 'big' is not a size");
}

static void test_list_is_bounded(void **state)
{
	char *argv[OPTION_LIST_MAX + 3] = {"thaw"};
	struct opts o;
	int first;

	for (int i = 1; i <= OPTION_LIST_MAX; i++)
		argv[i] = "-t1";
	assert_int_equal(parse(argv, 0, &o, &first), 0);
	argv[OPTION_LIST_MAX + 1] = "-t1";
	refused(argv, "--tid: given more than 16 times");
}

static void test_help(void **state)
{
	char text[2048] = "";
	struct opts o;
	int first;
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_int_equal(parse(ARGS("-h"), 0, &o, &first), 1);
	assert_int_equal(parse(ARGS("-a", "--help"), 0, &o, &first), 1);
	options_help(rows, f);
	fclose(f);
	for (const struct option_row *r = rows; r->name; r++) {
		assert_non_null(strstr(text, r->name));
		assert_non_null(strstr(text, r->help));
	}
	assert_non_null(strstr(text, "-h, --help"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

/* What is too long for its line goes on below itself. */
static void test_long_help(void **state)
{
	static const struct option_row rows[] = {
		{0, "a-name-that-leaves-no-room", OPTION_STR, 0, "VALUE",
		 "one two three four five six seven eight nine ten eleven twelve", 0, 0, 0},
		{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
	};
	static const char want[] =
		"      --a-name-that-leaves-no-room VALUE\n"
		"                          one two three four five six seven eight nine ten\n"
		"                          eleven twelve\n";
	char text[512] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	options_help(rows, f);
	fclose(f);
	assert_memory_equal(text, want, sizeof(want) - 1);
}

static void test_closest(void **state)
{
	static const char *const verbs[] = {"record", "report", "locks", "a", NULL};

	assert_string_equal(options_closest("recrod", verbs), "record");
	assert_string_equal(options_closest("lock", verbs), "locks");
	assert_null(options_closest("zzz", verbs));
	assert_null(options_closest("b", verbs)); /* everything is close to a short name */
	assert_null(options_closest(
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", verbs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type), cmocka_unit_test(test_operands),
		cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_list_is_bounded),
		cmocka_unit_test(test_help),	   cmocka_unit_test(test_long_help),
		cmocka_unit_test(test_closest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
