// SPDX-License-Identifier: MIT
/* The CPUs that are online, from the kernel's "0-3,8" notation. */
#include "engine/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"

#define ONLINE "/sys/devices/system/cpu/online"

int cpu_list_online(struct cpu_list *ret)
{
	FILE *f = fopen(ONLINE, "re");
	int a, b;
	char sep;

	if (!f)
		return err_set(-errno, "%s: %s", ONLINE, strerror(errno));
	while (fscanf(f, "%d", &a) == 1) {
		b = a;
		sep = (char)fgetc(f);
		if (sep == '-') {
			if (fscanf(f, "%d", &b) != 1)
				b = a;
			sep = (char)fgetc(f);
		}
		for (; a <= b && ret->n < 65536; a++)
			vec_push(ret, a);
		if (sep != ',')
			break;
	}
	fclose(f);
	return ret->n ? 0 : err_set(-EPROTO, "%s: no CPU found", ONLINE);
}

void cpu_list_done(struct cpu_list *l)
{
	vec_done(l);
}
