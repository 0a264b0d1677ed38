// SPDX-License-Identifier: MIT
/*
 * A short stack is the user's part and the kernel function nearest to it that is not plumbing: "who
 * asked" matters more than "how the kernel does it". A thread without user frames (a kernel thread,
 * or a stack that was not taken) is told by its kernel frames alone.
 */
#include "view/frames.h"

#include <string.h>

static bool matches(const char *name, const char *pattern)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	return !strcmp(name, pattern);
}

static bool any(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (matches(name, *patterns))
			return true;
	return false;
}

static const char *const plain[] = {
#define PLAIN(name) name,
#define IDLE(name)
#include "view/frames.def"
	NULL,
};

static const char *const idle[] = {
#define PLAIN(name)
#define IDLE(name) name,
#include "view/frames.def"
	NULL,
};

bool frames_plain(const char *name)
{
	return any(name, plain);
}

/* Kernel frames to show, leaf first: all telling ones of a kernel thread, else the outermost. */
static size_t pick_kernel(struct names *names, const struct named_frame *f, size_t n, bool only_one,
			  const char **out, size_t room)
{
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (!fn->kernel || any(fn->name, plain) || (only_one && any(fn->name, idle)))
			continue;
		if (only_one)
			got = 0;
		if (got < room)
			out[got++] = fn->name;
	}
	return got;
}

size_t frames_telling(struct names *names, uint32_t kstack, uint32_t ustack,
		      const char *ret[PATH_FRAMES])
{
	const char *leaf_first[PATH_FRAMES];
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f), got = 0;
	bool user = false;

	for (size_t i = 0; i < n; i++)
		user |= !names_function(names, f[i].function)->kernel;
	got = pick_kernel(names, f, n, user, leaf_first, PATH_FRAMES);
	for (size_t i = 0; i < n && got < PATH_FRAMES; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (!fn->kernel && !any(fn->name, plain))
			leaf_first[got++] = fn->name;
	}
	if (!got && n)
		leaf_first[got++] = names_function(names, f[0].function)->name;
	for (size_t i = 0; i < got; i++)
		ret[i] = leaf_first[got - 1 - i];
	return got;
}
