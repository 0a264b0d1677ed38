// SPDX-License-Identifier: MIT
#include "report/words.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "report/frames.h"

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

const char *words_file(char *out, size_t room, const struct waited_file *f, size_t width)
{
	char type[40], source[60];
	size_t n;

	words_safe(out, room, f->path, width);
	words_safe(type, sizeof(type), f->type, 20);
	words_safe(source, sizeof(source), f->source, 40);
	n = strlen(out);
	if (!*type)
		return out;
	if (!*source || !strcmp(source, "none") || !strcmp(type, source))
		snprintf(out + n, room - n, " (%s)", type);
	else
		snprintf(out + n, room - n, " (%s, %s)", type, source);
	return out;
}

static const char *put_moment(char *out, size_t room, const struct model *m, uint64_t ts,
			      const char *open, const char *close)
{
	uint64_t unix_ns = model_unix_ns(m, ts);
	uint64_t since = ts > m->timeline.begin ? ts - m->timeline.begin : 0;
	time_t sec = (time_t)(unix_ns / NSEC_PER_SEC);
	struct tm tm;
	int n = 0;

	if (unix_ns && localtime_r(&sec, &tm))
		n = snprintf(out, room, "%02d:%02d:%02d.%03u %s", tm.tm_hour, tm.tm_min, tm.tm_sec,
			     (unsigned)(unix_ns / NSEC_PER_MSEC % 1000), open);
	snprintf(out + n, room - (size_t)n, "+%llu.%03us%s", since / NSEC_PER_SEC,
		 (unsigned)(since / NSEC_PER_MSEC % 1000), n ? close : "");
	return out;
}

const char *words_moment(char *out, size_t room, const struct model *m, uint64_t ts)
{
	return put_moment(out, room, m, ts, "(", ")");
}

const char *words_moment_short(char *out, size_t room, const struct model *m, uint64_t ts)
{
	return put_moment(out, room, m, ts, "", "");
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

		/* If both do not fit, keep the name and drop the tid. */
		words_safe(name, sizeof(name), w->thread->name, width);
		if (strlen(name) + (size_t)n > width)
			tid[0] = '\0';
		snprintf(out, room, "%s%s", name, tid);
	}
	return out;
}

/* Where the arguments of a C++ function begin; the name's end if it has none. */
static const char *arguments_of(const char *name)
{
	int depth = 0;

	for (const char *c = name; *c; c++) {
		if (!strncmp(c, "operator", 8)) {
			/* operator() and operator< are names. */
			c += 7;
			c += !strncmp(c + 1, "()", 2) ? 2 : strspn(c + 1, "<>=!+-*/&|^%~[]");
		} else if (!strncmp(c, "(anonymous namespace)", 21)) {
			c += 20;
		} else if (*c == '<') {
			depth++;
		} else if (*c == '>') {
			depth--;
		} else if (*c == '(' && depth <= 0) {
			return c;
		}
	}
	return name + strlen(name);
}

/* Of C++, the name alone: "askProvider()". */
static const char *short_name(char *out, size_t room, const char *name, size_t width)
{
	size_t n = (size_t)(arguments_of(name) - name);
	char bare[256];

	if (!name[n] || n + 3 > sizeof(bare))
		return words_safe(out, room, name, width);
	snprintf(bare, sizeof(bare), "%.*s()", (int)n, name);
	return words_safe(out, room, bare, width);
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
		size_t len = strlen(short_name(one, sizeof(one), picked[i], 40)) + 3;

		if (used + len > width - (i ? 5 : 0) + 3)
			break;
		used += len;
	}
	out[0] = '\0';
	if (first && n)
		snprintf(out, room, ".. > ");
	for (size_t i = first; i < n; i++) {
		size_t at = strlen(out);

		short_name(one, sizeof(one), picked[i], 40);
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

const char *words_holding(char *out, size_t room, const struct doing *d)
{
	size_t n;

	words_doing(out, room, d->kind, d->reason);
	n = strlen(out);
	if (d->kind == INTERVAL_WAITING && d->reason == REASON_CONDVAR)
		snprintf(out + n, room - n, " of another lock");
	return out;
}

void words_did(struct buf *b, const struct doings *d, const char *of)
{
	char text[128], share[16];

	for (size_t i = 0; i < doings_told(d); i++) {
		words_holding(text, sizeof(text), &d->v[i]);
		buf_printf(b, "%s%s%s %s", i ? ", " : "",
			   words_percent(share, sizeof(share), d->v[i].ns, d->total), i ? "" : of,
			   *text ? text : "not known");
	}
}

const char *words_function(char *out, size_t room, const struct names *n, uint32_t function,
			   size_t width)
{
	if (function >= n->functions.n)
		return NULL;
	return short_name(out, room, names_function(n, function)->name, width);
}

const char *words_site(char *out, size_t room, struct names *names, uint32_t function,
		       uint32_t kstack, uint32_t ustack)
{
	const struct named_frame *f;
	size_t n = kstack || ustack ? names_probed_stack(names, kstack, ustack, &f) : 0;
	char file[64];

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);
		const char *slash = fn->file ? strrchr(fn->file, '/') : NULL;

		if (f[i].guess || f[i].function != function)
			continue;
		if (fn->file && f[i].line)
			snprintf(out, room, "%s:%" PRIu32,
				 words_safe(file, sizeof(file), slash ? slash + 1 : fn->file, 30),
				 f[i].line);
		break;
	}
	return out;
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

void words_loss(struct buf *b, uint32_t cause, uint64_t n)
{
	const char *advice = loss_advice(cause);

	buf_printf(b, "%" PRIu64 " record%s lost: %s%s%s", n, n == 1 ? " was" : "s were",
		   loss_words(cause), *advice ? "; " : "", advice);
}

uint32_t words_main_loss(const struct losses *l)
{
	static const enum loss_class of[LOSS_CAUSES] = {
#define LOSS(id, UPPER, name, class, words, advice) [id] = LOSS_CLASS_##class,
#include "wire/loss.def"
	};
	uint32_t most = LOSS_CAUSES;

	for (uint32_t i = 1; i < LOSS_CAUSES; i++)
		if (of[i] != LOSS_CLASS_STACK && l->by_cause[i] &&
		    (most == LOSS_CAUSES || l->by_cause[i] > l->by_cause[most]))
			most = i;
	return most;
}

const struct thread *words_main_holder(const struct lock_sum *l)
{
	return l->holders.n && l->known >= l->total / 2 ? l->holders.v[0].thread : NULL;
}
