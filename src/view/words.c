// SPDX-License-Identifier: MIT
#include "view/words.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "view/frames.h"

const char *words_safe(char *out, size_t room, const char *s, size_t width)
{
	size_t n = 0;

	if (width > room - 1)
		width = room - 1;
	for (; *s && n < width; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c & 0xc0) == 0x80) /* one '?' a character, not one a byte */
			continue;
		out[n++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	while ((*s & 0xc0) == 0x80)
		s++;
	if (*s && n >= 3)
		out[n - 1] = out[n - 2] = '.';
	out[n] = '\0';
	return out;
}

const char *words_share(char *out, size_t room, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(out, room, "-");
	else if (part && share < 0.05)
		snprintf(out, room, "<0.1%%");
	else if (part < whole && share >= 99.95)
		snprintf(out, room, ">99.9%%");
	else
		snprintf(out, room, "%.*f%%", part == whole ? 0 : 1, share);
	return out;
}

const char *words_clock(char *out, size_t room, const struct model *m, uint64_t ts)
{
	uint64_t unix_ns = model_unix_ns(m, ts);
	time_t sec = (time_t)(unix_ns / NSEC_PER_SEC);
	struct tm tm;
	char since[16];

	if (!unix_ns || !localtime_r(&sec, &tm)) {
		snprintf(out, room, "+%s",
			 units_duration(since, sizeof(since), ts - m->timeline.begin));
		return out;
	}
	snprintf(out, room, "%02d:%02d:%02d.%03u", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (unsigned)(unix_ns / NSEC_PER_MSEC % 1000));
	return out;
}

const char *words_waker(char *out, size_t room, const struct waker_sum *w, size_t width)
{
	char name[64], tid[16];

	if (w->interrupt) {
		snprintf(out, room, "an interrupt");
	} else if (!w->thread) {
		snprintf(out, room, "tid %" PRIu32, w->tid);
	} else {
		int n = snprintf(tid, sizeof(tid), " (%" PRIu32 ")", w->tid);

		words_safe(name, sizeof(name), w->thread->name, width - (size_t)n);
		snprintf(out, room, "%s%s", name, tid);
	}
	return out;
}

const char *words_path(char *out, size_t room, struct names *names, uint32_t kstack,
		       uint32_t ustack, size_t width)
{
	const char *picked[PATH_FRAMES];
	size_t n = frames_telling(names, kstack, ustack, picked), first = n;
	size_t used = 0;
	char one[64];

	/* From the leaf on: as many as fit. */
	for (size_t i = n; i-- > 0; first = i) {
		size_t len = strlen(words_safe(one, sizeof(one), picked[i], 40)) + 3;

		if (used + len > width - (i ? 5 : 0) + 3)
			break;
		used += len;
	}
	out[0] = '\0';
	if (first && n)
		snprintf(out, room, ".. > ");
	for (size_t i = first; i < n; i++) {
		size_t at = strlen(out);

		words_safe(one, sizeof(one), picked[i], 40);
		snprintf(out + at, room - at, "%s%s", one, i + 1 < n ? " > " : "");
	}
	return out;
}

const char *words_percent(char *out, size_t room, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && share < 0.05)
		snprintf(out, room, "less than 0.1%%");
	else if (part < whole && share >= 99.5)
		snprintf(out, room, "more than 99%%");
	else
		snprintf(out, room, "%.*f%%", share < 9.95 && part < whole ? 1 : 0, share);
	return out;
}

const char *words_thread(char *out, size_t room, const struct thread *t, size_t width)
{
	char name[64], tid[16];
	size_t n = (size_t)snprintf(tid, sizeof(tid), " (%" PRIu32 ")", t->tid);

	words_safe(name, sizeof(name), t->name, width > n + 3 ? width - n : 3);
	snprintf(out, room, "%s%s", name, tid);
	return out;
}

const char *words_lock(char *out, size_t room, const struct lock_sum *l, size_t width)
{
	const char *words = lock_kind_words(l->kind);
	bool plain = l->named && lock_kind_class(l->kind) == LOCK_CLASS_HELD;
	bool told = !strncmp(l->name, words, strlen(words)); /* "kernel mutex in pipe_write" */
	char name[128];
	int n = plain  ? 0
		: told ? snprintf(out, room, "a ")
		       : snprintf(out, room, "the %s ", words);
	size_t left = width > (size_t)n + 8 ? width - (size_t)n : 8;

	snprintf(out + n, room - (size_t)n, "%s", words_safe(name, sizeof(name), l->name, left));
	return out;
}

const char *words_doing(char *out, size_t room, enum interval_kind kind, enum reason reason)
{
	const char *why = reason_words(reason);

	out[0] = '\0';
	if (kind == INTERVAL_RUNNING)
		snprintf(out, room, "running");
	else if (kind == INTERVAL_RUNNABLE && reason != REASON_THROTTLED)
		snprintf(out, room, "waiting %s", reason_words(REASON_RUN_QUEUE));
	else if (kind != INTERVAL_LOST)
		snprintf(out, room, "%s%s",
			 !strncmp(why, "because ", 8)			       ? "held up "
			 : !strncmp(why, "for ", 4) || !strncmp(why, "on ", 3) ? "waiting "
									       : "",
			 why);
	return out;
}

const char *words_function(char *out, size_t room, const struct names *n, uint32_t function,
			   size_t width)
{
	if (function >= n->functions.n)
		return NULL;
	return words_safe(out, room, names_function(n, function)->name, width);
}

void words_wrap(FILE *out, const char *text, size_t at, size_t indent, size_t width)
{
	size_t col = at;
	bool first = true;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (!first && col + 1 + n > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			col = indent;
			first = true;
		}
		if (!first)
			putc(' ', out);
		fwrite(text, 1, n, out);
		col += n + !first;
		first = false;
		text += n + (text[n] == ' ');
	}
	putc('\n', out);
}
