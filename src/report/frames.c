// SPDX-License-Identifier: MIT
/*
 * A short stack is the user's part and the kernel function nearest to it that is not plumbing: "who
 * asked" matters more than "how the kernel does it". Of functions that every program has and that
 * call each other, only the outermost is shown: it is what the program called. If that is the leaf,
 * the kernel's function would only say the same again. A thread without user frames (a kernel
 * thread, or a stack that was not taken) is shown by its kernel frames alone.
 */
#include "report/frames.h"

#include <string.h>

static bool frames_matches(const char *name, const char *pattern)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	return !strcmp(name, pattern);
}

static bool frames_any(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (frames_matches(name, *patterns))
			return true;
	return false;
}

static const char *const plain[] = {
#define PLAIN(name) name,
#define IDLE(name)
#include "report/frames.def"
	NULL,
};

static const char *const idle[] = {
#define PLAIN(name)
#define IDLE(name) name,
#include "report/frames.def"
	NULL,
};

bool frames_plain(const char *name)
{
	return frames_any(name, plain);
}

/* Kernel frames to show, leaf first: all telling ones of a kernel thread, else the outermost. */
static size_t pick_kernel(struct names *names, const struct named_frame *f, size_t n, bool only_one,
			  const char **out, size_t room)
{
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (!fn->kernel || frames_any(fn->name, plain) ||
		    (only_one && frames_any(fn->name, idle)))
			continue;
		if (only_one)
			got = 0;
		if (got < room)
			out[got++] = fn->name;
	}
	return got;
}

/* User frames to show, leaf first. */
static size_t pick_user(struct names *names, const struct named_frame *f, size_t n,
			const char **out, size_t room, bool *ret_library)
{
	bool library = false; /* the last one that was put out is of a library */
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);
		bool everywhere = names_everywhere(fn);

		/*
		 * What a system library or a compiler puts in between is no step of the program.
		 */
		if (fn->kernel || frames_any(fn->name, plain) ||
		    (got && (names_of_standard(fn) || (!fn->named && names_of_system(fn)))))
			continue;
		if (everywhere && library)
			got--;
		if (got == room)
			break;
		out[got++] = fn->name;
		library = everywhere;
		if (got == 1)
			*ret_library = everywhere;
	}
	return got;
}

size_t frames_telling(struct names *names, uint32_t kstack, uint32_t ustack,
		      const char *ret[PATH_FRAMES])
{
	const char *leaf_first[PATH_FRAMES], *user[PATH_FRAMES];
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f), got = 0, users;
	bool any = false, library = false;

	for (size_t i = 0; i < n; i++)
		any |= !names_function(names, f[i].function)->kernel;
	users = pick_user(names, f, n, user, PATH_FRAMES, &library);
	if (!library)
		got = pick_kernel(names, f, n, any, leaf_first, PATH_FRAMES);
	for (size_t i = 0; i < users && got < PATH_FRAMES; i++)
		leaf_first[got++] = user[i];
	if (!got && n)
		leaf_first[got++] = names_function(names, f[0].function)->name;
	for (size_t i = 0; i < got; i++)
		ret[i] = leaf_first[got - 1 - i];
	return got;
}
