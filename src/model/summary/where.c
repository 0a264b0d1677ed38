// SPDX-License-Identifier: MIT
/*
 * The function of a stack that tells the program's author where the thread was. Without a symbol,
 * the module's name still tells more than a function that every program has.
 */
#include <string.h>

#include "model/wait/classify.h"
#include "model/summary/parts.h"

static bool is_entry(const char *name)
{
	return !strcmp(name, "kthread") || !strncmp(name, "ret_from_fork", 13);
}

/* In a file of the program's own, or in a library that not every program has. */
static bool is_module(const struct function *fn)
{
	return !fn->kernel && fn->module && *fn->module && *fn->module != '[' &&
	       !names_everywhere(fn);
}

uint32_t where_function(struct names *names, uint32_t kstack, uint32_t ustack)
{
	uint32_t unnamed = UINT32_MAX, user = UINT32_MAX, kernel = UINT32_MAX;
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f);

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (!fn->named) {
			if (unnamed == UINT32_MAX && is_module(fn))
				unnamed = f[i].function;
			continue;
		}
		if (fn->kernel && kernel == UINT32_MAX && !classify_plumbing(fn->name) &&
		    !is_entry(fn->name))
			kernel = f[i].function;
		if (fn->kernel)
			continue;
		if (!names_everywhere(fn))
			return f[i].function;
		if (user == UINT32_MAX)
			user = f[i].function;
	}
	if (unnamed != UINT32_MAX)
		return unnamed;
	return user != UINT32_MAX ? user : kernel;
}

uint32_t where_caller(struct names *names, uint32_t kstack, uint32_t ustack, uint32_t function)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (found && f[i].function != function && fn->named && !fn->kernel &&
		    !names_everywhere(fn))
			return f[i].function;
		found |= f[i].function == function;
	}
	return UINT32_MAX;
}
