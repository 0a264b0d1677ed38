// SPDX-License-Identifier: MIT
#include "engine/files_limit.h"

#include <dirent.h>
#include <sys/resource.h>

#include "base/err.h"

static size_t count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

int files_limit_raise(size_t more)
{
	rlim_t need = count_open() + more;
	struct rlimit lim, wider;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= need)
		return 0;
	wider = (struct rlimit){need, lim.rlim_max > need ? lim.rlim_max : need};
	/* Beyond the hard limit only with CAP_SYS_RESOURCE. */
	if (!setrlimit(RLIMIT_NOFILE, &wider))
		return 0;
	return err_set(-EMFILE,
		       "%llu files must be open at once, and the limit is %llu. Raise it: ulimit "
		       "-Hn %llu as root, LimitNOFILE= of a service, --ulimit nofile= of a "
		       "container; or record by another engine: --engine perf",
		       (unsigned long long)need, (unsigned long long)lim.rlim_max,
		       (unsigned long long)need);
}
