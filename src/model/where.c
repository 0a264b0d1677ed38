// SPDX-License-Identifier: MIT
/* Of a stack, the function that tells its program's author where it was. */
#include <string.h>

#include "model/classify.h"
#include "model/parts.h"

/* Libraries that are in every program: what they are called from tells more. */
static bool is_everywhere(const char *module)
{
	static const char *const starts[] = {
		"libc.so",  "libc-",  "libpthread", "ld-",	"libm.so",  "libm-",	"libstdc++",
		"libgcc_s", "[vdso]", "[unknown]",  "librt.so", "libdl.so", "libc.musl"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(module, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static bool is_entry(const char *name)
{
	return !strcmp(name, "kthread") || !strncmp(name, "ret_from_fork", 13);
}

uint32_t where_function(struct names *names, uint32_t kstack, uint32_t ustack)
{
	uint32_t user = UINT32_MAX, kernel = UINT32_MAX;
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f);

	for (size_t i = 0; i < n; i++) {
		const struct function *fn = names_function(names, f[i].function);

		if (!fn->named)
			continue;
		if (fn->kernel && kernel == UINT32_MAX && !classify_plumbing(fn->name) &&
		    !is_entry(fn->name))
			kernel = f[i].function;
		if (fn->kernel)
			continue;
		if (!is_everywhere(fn->module))
			return f[i].function;
		if (user == UINT32_MAX)
			user = f[i].function;
	}
	return user != UINT32_MAX ? user : kernel;
}
