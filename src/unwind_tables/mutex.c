// SPDX-License-Identifier: MIT
#include "unwind_tables/mutex.h"

void mutex_init_inheriting(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(m, &attr))
		pthread_mutex_init(m, NULL);
	pthread_mutexattr_destroy(&attr);
}
