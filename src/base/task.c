// SPDX-License-Identifier: MIT
#include "base/task.h"

#include <stdio.h>

/* Works for a thread, too: /proc has a folder for each, though it does not list them. */
bool task_sleeps(pid_t tid)
{
	char path[64], line[256], state = 'R';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (f)
		fclose(f);
	return state != 'R';
}
