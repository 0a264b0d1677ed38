// SPDX-License-Identifier: MIT
#include "cmd/moment.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/units.h"

enum { TEXT = 64 };

static int not_a_moment(const char *word)
{
	return err_set(
		-EINVAL,
		"'%s' is not a time in a recording; give an offset from its start, such as 3.2s or "
		"500ms, or a clock time, such as 04:45:39.449 or 2026-11-16T04:45:39",
		word);
}

static bool in_range(int v, int least, int most)
{
	return v >= least && v <= most;
}

/* ".449" as nanoseconds; nothing else may follow. */
static bool parse_fraction(const char *s, struct cmd_moment *m)
{
	uint64_t unit = NSEC_PER_SEC / 10;

	m->whole = !*s;
	if (*s && (*s != '.' || !isdigit((unsigned char)s[1])))
		return false;
	for (s += *s == '.'; isdigit((unsigned char)*s); s++, unit /= 10)
		m->ns += (uint64_t)(*s - '0') * unit;
	return !*s;
}

/* The number of digits is fixed, so that "4:4" is a mistype and no time. */
static bool parse_clock(const char *s, struct cmd_moment *m)
{
	int n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &m->year, &m->mon, &m->day, &n) == 3 && n == 10) {
		if (s[n] != 'T' && s[n] != ' ')
			return false;
		m->dated = true;
		m->year -= 1900;
		m->mon -= 1;
		s += n + 1;
	}
	n = 0;
	if (!isdigit((unsigned char)*s) ||
	    sscanf(s, "%2d:%2d:%2d%n", &m->hour, &m->min, &m->sec, &n) != 3 || n < 7 || n > 8 ||
	    s[n - 3] != ':')
		return false;
	m->clock = true;
	if (m->dated && (!in_range(m->mon, 0, 11) || !in_range(m->day, 1, 31)))
		return false;
	return in_range(m->hour, 0, 23) && in_range(m->min, 0, 59) && in_range(m->sec, 0, 60) &&
	       parse_fraction(s + n, m);
}

int moment_parse(const char *word, uint64_t unit_ns, struct cmd_moment *ret)
{
	struct cmd_moment m = {.word = word};

	if (strchr(word, ':') ? !parse_clock(word, &m)
			      : units_parse_duration(word, unit_ns, &m.ns) != 0)
		return not_a_moment(word);
	*ret = m;
	return 0;
}

/* By the clock of that day; the day is the recording's first, or so many days later. */
static uint64_t unix_ns_of(const struct cmd_moment *m, uint64_t begin, int days)
{
	time_t sec = (time_t)(begin / NSEC_PER_SEC);
	struct tm tm = {0};

	localtime_r(&sec, &tm);
	if (m->dated) {
		tm.tm_year = m->year;
		tm.tm_mon = m->mon;
		tm.tm_mday = m->day;
	}
	tm.tm_mday += days;
	tm.tm_hour = m->hour;
	tm.tm_min = m->min;
	tm.tm_sec = m->sec;
	tm.tm_isdst = -1;
	sec = mktime(&tm);
	return sec > 0 ? (uint64_t)sec * NSEC_PER_SEC + m->ns : 0;
}

static const char *clock_text(char *out, size_t room, uint64_t unix_ns)
{
	time_t sec = (time_t)(unix_ns / NSEC_PER_SEC);
	char day[32] = "";
	struct tm tm = {0};

	if (localtime_r(&sec, &tm))
		strftime(day, sizeof(day), "%FT%T", &tm);
	snprintf(out, room, "%s.%03u", day, (unsigned)(unix_ns / NSEC_PER_MSEC % 1000));
	return out;
}

/* A moment without a fraction also fits a second that the recording only has a part of. */
static bool moment_fits(const struct cmd_moment *m, const struct moment_span *span, uint64_t at)
{
	uint64_t slack = m->whole ? NSEC_PER_SEC : NSEC_PER_MSEC;

	return at && at + slack > span->begin && at < span->end + slack;
}

int moment_resolve(const struct cmd_moment *m, const struct moment_span *span, uint64_t *ret)
{
	int days = (int)((span->end - span->begin) / (86400 * NSEC_PER_SEC)) + 1;
	char begin[TEXT], end[TEXT];

	if (!m->word || !m->clock) {
		*ret = m->ns;
		return 0;
	}
	if (!span->begin)
		return err_set(-ERANGE,
			       "%s: this recording has no wall-clock times; give an offset from "
			       "its start, such as 3.2s",
			       m->word);
	for (int day = 0; day <= (m->dated ? 0 : days); day++) {
		uint64_t at = unix_ns_of(m, span->begin, day);

		if (!moment_fits(m, span, at))
			continue;
		*ret = at > span->begin ? at - span->begin : 0;
		return 0;
	}
	return err_set(-ERANGE, "%s is not in the recording, which is from %s to %s", m->word,
		       clock_text(begin, sizeof(begin), span->begin),
		       clock_text(end, sizeof(end), span->end));
}
