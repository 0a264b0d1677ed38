// SPDX-License-Identifier: MIT
#include "guard/config.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"

/* What is not mentioned in a configuration is not in the kernel. */
static void config_take(const char *line, const char *name, enum guard_setting *to)
{
	size_t n = strlen(name);

	if (!strncmp(line, name, n) && line[n] == '=')
		*to = line[n + 1] == 'n' ? SETTING_NO : SETTING_YES;
}

bool guard_config_read(const char *path, struct guard_facts *f)
{
	char line[512];
	gzFile in = gzopen(path, "rbe");
	bool any = false;

	if (!in)
		return false;
	while (gzgets(in, line, sizeof(line))) {
		if (!any && !strncmp(line, "CONFIG_", 7)) {
			any = true;
			f->hardened_usercopy = f->uprobes = f->realtime = f->bpf_syscall =
				SETTING_NO;
		}
		config_take(line, "CONFIG_HARDENED_USERCOPY", &f->hardened_usercopy);
		config_take(line, "CONFIG_UPROBES", &f->uprobes);
		config_take(line, "CONFIG_PREEMPT_RT", &f->realtime);
		config_take(line, "CONFIG_BPF_SYSCALL", &f->bpf_syscall);
	}
	gzclose(in);
	return any;
}
