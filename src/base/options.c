// SPDX-License-Identifier: MIT
#include "base/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"

enum { HELP_ID = 1000, FIRST_ID = 1001, ROWS_MAX = 64 };
/* Columns: where help begins, and where it ends. */
enum { HELP_AT = 26, HELP_WIDE = 80 };

static const char *options_limit(const struct option_row *r, uint64_t v, char *out, size_t room)
{
	if (r->type == OPTION_DURATION)
		return units_duration(out, room, v);
	if (r->type == OPTION_SIZE)
		return units_size(out, room, v);
	snprintf(out, room, "%llu", (unsigned long long)v);
	return out;
}

static int out_of_range(const struct option_row *r, const char *arg)
{
	char min[32], max[32];

	return err_set(-EINVAL, "--%s: %s is out of range, %s to %s", r->name, arg,
		       options_limit(r, r->min, min, sizeof(min)),
		       options_limit(r, r->max, max, sizeof(max)));
}

static int options_set(const struct option_row *r, const char *arg, void *into)
{
	void *at = (char *)into + r->offset;
	uint64_t v = 0;
	int rc = 0;

	switch (r->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_STR:
		*(const char **)at = arg;
		return 0;
	case OPTION_STRV: {
		struct option_list *l = at;

		if (l->n == OPTION_LIST_MAX)
			return err_set(-EINVAL, "--%s: given more than %d times", r->name,
				       OPTION_LIST_MAX);
		l->v[l->n++] = arg;
		return 0;
	}
	case OPTION_U64:
		rc = units_parse_u64(arg, &v);
		break;
	case OPTION_DURATION:
		rc = units_parse_duration(arg, r->unit ? r->unit : NSEC_PER_SEC, &v);
		break;
	case OPTION_SIZE:
		rc = units_parse_size(arg, &v);
		break;
	}
	if (rc)
		return err_add(rc, "--%s", r->name);
	if (r->max && (v < r->min || v > r->max))
		return out_of_range(r, arg);
	*(uint64_t *)at = v;
	return 0;
}

static unsigned distance(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned row[64];

	if (strlen(a) > 60 || n > 60)
		return 99;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; a[i - 1]; i++) {
		unsigned diag = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned up = row[j], best = diag + (a[i - 1] != b[j - 1]);

			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diag = up;
		}
	}
	return row[n];
}

const char *options_closest(const char *word, const char *const *names)
{
	const char *best = NULL;
	unsigned best_d = 3;

	for (; *names; names++) {
		unsigned d = distance(word, *names);

		if (d < best_d && d < strlen(*names)) {
			best_d = d;
			best = *names;
		}
	}
	return best;
}

/* What getopt stumbled over is in optopt: a letter, the id of a long option, or 0 for no option. */
static int options_unknown(const struct option_row *rows, const char *arg)
{
	const char *names[ROWS_MAX + 1] = {"help"}, *near;
	char word[64];
	size_t n = 1;

	if (optopt == HELP_ID || optopt >= FIRST_ID)
		return err_set(-EINVAL, "option --%s takes no value; see --help",
			       optopt == HELP_ID ? "help" : rows[optopt - FIRST_ID].name);
	if (optopt)
		return err_set(-EINVAL, "there is no option -%c; see --help", optopt);
	for (; rows->name && n < ROWS_MAX; rows++)
		names[n++] = rows->name;
	arg += strspn(arg, "-");
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg, "="), arg);
	near = options_closest(word, names);
	if (near)
		return err_set(-EINVAL, "there is no option --%s; did you mean --%s?", word, near);
	return err_set(-EINVAL, "there is no option --%s; see --help", word);
}

static int lacks_value(const struct option_row *rows)
{
	if (optopt >= FIRST_ID)
		return err_set(-EINVAL, "option --%s needs a value; see --help",
			       rows[optopt - FIRST_ID].name);
	return err_set(-EINVAL, "option -%c needs a value; see --help", optopt);
}

int options_parse(const struct option_row *rows, int argc, char **argv, unsigned flags, void *into,
		  int *ret_first)
{
	struct option longs[ROWS_MAX + 2] = {{"help", no_argument, NULL, HELP_ID}};
	char shorts[2 * ROWS_MAX + 4];
	size_t s = 0;
	int n = 1, c;

	if (!(flags & OPTIONS_PERMUTE))
		shorts[s++] = '+';
	shorts[s++] = ':';
	shorts[s++] = 'h';
	for (int i = 0; rows[i].name && i < ROWS_MAX; i++) {
		longs[n++] =
			(struct option){rows[i].name, rows[i].arg ? required_argument : no_argument,
					NULL, FIRST_ID + i};
		if (!rows[i].letter)
			continue;
		shorts[s++] = rows[i].letter;
		if (rows[i].arg)
			shorts[s++] = ':';
	}
	shorts[s] = '\0';
	optind = 0; /* glibc: start over */
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *r = NULL;
		int rc;

		if (c == 'h' || c == HELP_ID)
			return 1;
		if (c == ':')
			return lacks_value(rows);
		if (c == '?')
			return options_unknown(rows, argv[optind - 1]);
		for (int i = 0; rows[i].name; i++)
			if (c == FIRST_ID + i || (c < 256 && c == rows[i].letter))
				r = &rows[i];
		rc = r ? options_set(r, optarg, into) : -EINVAL;
		if (rc)
			return rc;
	}
	*ret_first = optind;
	return 0;
}

/* Prints text, wrapped, after the HELP_AT columns already written. */
static void put_help(const char *text, FILE *out)
{
	size_t at = HELP_AT;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > HELP_AT && at + 1 + n > HELP_WIDE) {
			fprintf(out, "\n%*s", HELP_AT, "");
			at = HELP_AT;
		} else if (at > HELP_AT) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, n, out);
		at += n;
		text += n + strspn(text + n, " ");
	}
	fputc('\n', out);
}

void options_help(const struct option_row *rows, FILE *out)
{
	for (; rows->name; rows++) {
		char left[64];
		int n = snprintf(left, sizeof(left), "%s%c%s--%s%s%s", rows->letter ? "-" : " ",
				 rows->letter ? rows->letter : ' ', rows->letter ? ", " : "  ",
				 rows->name, rows->arg ? " " : "", rows->arg ? rows->arg : "");

		fprintf(out, "  %-*s", HELP_AT - 2, left);
		if (n > HELP_AT - 3)
			fprintf(out, "\n%*s", HELP_AT, "");
		put_help(rows->help, out);
	}
	fprintf(out, "  %-24s%s\n", "-h, --help", "show this text");
}
