// SPDX-License-Identifier: MIT
/*
 * Puts the variables by which thaw follows a program into an environment, and takes them out again,
 * leaving the rest as it was, in the same order. A variable that the program has set itself is
 * kept: ours is appended to it.
 */
#include <string.h>

#include "preload/preload.h"

#define WORDS 3

struct word {
	const char *name;
	const char *word;
	bool whole; /* the variable is ours alone */
};

/* AddressSanitizer insists on being the first library, unless told otherwise. */
static void words_of(const struct env_words *w, struct word *ret)
{
	ret[0] = (struct word){SHARED_ENV, w->session, true};
	ret[1] = (struct word){"LD_PRELOAD", w->library, false};
	ret[2] = (struct word){"ASAN_OPTIONS", "verify_asan_link_order=0", false};
}

/* The value, if `entry` is a variable of that name. */
static char *value_of(char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=' ? entry + n + 1 : NULL;
}

char *env_get(char *const *env, const char *name)
{
	for (; env && *env; env++) {
		char *value = value_of(*env, name);

		if (value)
			return value;
	}
	return NULL;
}

size_t env_count(char *const *env)
{
	size_t n = 0;

	while (env && n < ENV_ENTRIES_MAX && env[n])
		n++;
	return n;
}

size_t env_bytes(char *const *env, const struct env_words *w)
{
	struct word words[WORDS];
	size_t n = 0;

	words_of(w, words);
	for (size_t i = 0; i < WORDS; i++) {
		const char *old = words[i].whole ? NULL : env_get(env, words[i].name);

		n += strlen(words[i].name) + 1 + (old ? strlen(old) + 1 : 0) +
		     strlen(words[i].word) + 1;
	}
	return n;
}

static char *env_append(char *to, const char *s)
{
	size_t n = strlen(s);

	memcpy(to, s, n + 1);
	return to + n;
}

static char *compose(char *to, const struct word *w, const char *old)
{
	to = env_append(env_append(to, w->name), "=");
	if (old)
		to = env_append(env_append(to, old), ":");
	return env_append(to, w->word) + 1;
}

void env_with(char *const *env, const struct env_words *w, char **to, char *text)
{
	size_t n = env_count(env);
	struct word words[WORDS];

	words_of(w, words);
	for (size_t i = 0; i < n; i++)
		to[i] = env[i];
	to[n] = NULL;
	for (size_t i = 0; i < WORDS; i++) {
		char *old = env_get(env, words[i].name);
		size_t at = 0;

		while (at < n && (!old || value_of(to[at], words[i].name) != old))
			at++;
		to[at] = text;
		text = compose(text, &words[i], words[i].whole ? NULL : old);
		if (at == n)
			to[++n] = NULL;
	}
}

/* Whether nothing is left of the variable. */
static bool env_strip_own(char *value, const struct word *w)
{
	size_t len = strlen(value), n = strlen(w->word);

	if (w->whole || (len == n && !strcmp(value, w->word)))
		return true;
	if (len > n && value[len - n - 1] == ':' && !strcmp(value + len - n, w->word))
		value[len - n - 1] = '\0';
	return false;
}

void env_strip(char **env, const struct env_words *w)
{
	struct word words[WORDS];
	char **to = env;

	words_of(w, words);
	for (; *env; env++) {
		bool gone = false;

		for (size_t i = 0; i < WORDS && !gone; i++) {
			char *value = value_of(*env, words[i].name);

			gone = value && env_strip_own(value, &words[i]);
		}
		if (!gone)
			*to++ = *env;
	}
	*to = NULL;
}
