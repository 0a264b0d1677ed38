// SPDX-License-Identifier: MIT
#include "arch/arch.h"

#include <stddef.h>
#include <string.h>

#include "arch/x86_64/kernel.h"
#include "arch/x86_64/libc.h"

static const char *const x86_64_calls[] = {
#define CALL(nr, name) [nr] = #name,
#include "arch/x86_64/calls.def"
};

/* The first is for captures that do not name their machine. */
static const struct arch known[] = {
	{"x86_64", x86_64_calls, sizeof(x86_64_calls) / sizeof(*x86_64_calls), X86_64_LIBC,
	 X86_64_KERNEL_BEGIN, X86_64_KERNEL_END},
};

const struct arch *arch_find(const char *machine)
{
	if (!machine || !*machine)
		return &known[0];
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, machine))
			return &known[i];
	return NULL;
}

const char *arch_call(const struct arch *a, unsigned nr)
{
	return nr < a->n_calls ? a->calls[nr] : NULL;
}
